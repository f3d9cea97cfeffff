"""The evaluator turns whatever happens into a result, and lets through what must end the process."""

import pytest
import torch

from designspace.candidate import single
from designspace.job import Job
from designspace.mixer import MixerSpec
from workers.evaluate import evaluate, evaluation
from workers.protocol import PROTOCOLS, TINY


def job(**fields) -> Job:
    spec = single(MixerSpec()).model_dump(mode="json")
    defaults = {"id": 4, "attempt": 2, "fingerprint": "a" * 12, "spec": spec, "task": "parity", "seed": 0, "steps": 4}
    return Job(**(defaults | fields))


def raising(error: BaseException):
    def build(candidate, *, seed):  # noqa: ARG001
        raise error

    return build


def test_a_real_candidate_is_trained_to_a_result():
    result = evaluate(job())
    assert (result.job_id, result.attempt, result.status) == (4, 2, "done")
    assert 0 <= result.metrics["accuracy"] <= 1


def test_same_job_gives_the_same_metrics_bit_for_bit():
    assert evaluate(job()).metrics == evaluate(job()).metrics


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("48 and 128"), "failed"),
        (MemoryError(), "oom"),
        (torch.OutOfMemoryError("CUDA out of memory."), "oom"),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory"), "oom"),
        (RuntimeError("shapes do not match"), "failed"),
    ],
)
def test_an_error_becomes_a_result_with_its_text(error, status):
    result = evaluate(job(), build=raising(error))
    assert (result.job_id, result.attempt, result.status) == (4, 2, status)
    assert type(error).__name__ in result.error
    assert str(error) in result.error
    assert "test_evaluate.py" in result.error
    assert result.provenance["fingerprint"] == "a" * 12


@pytest.mark.parametrize(
    ("fields", "words"), [({"task": "chess"}, "chess"), ({"spec": {"blocks": []}}, "blocks"), ({"protocol": "x"}, "x")]
)
def test_a_job_that_makes_no_sense_fails_and_says_why(fields, words):
    result = evaluate(job(**fields))
    assert result.status == "failed"
    assert words in result.error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_what_must_end_the_process_passes(error):
    with pytest.raises(type(error)):
        evaluate(job(), build=raising(error))


def test_a_run_beyond_its_limit_of_time_is_a_timeout(monkeypatch):
    hurried = TINY.model_copy(update={"limit_seconds": 1e-9})
    monkeypatch.setattr("workers.protocol.PROTOCOLS", {**PROTOCOLS, "tiny": hurried})
    result = evaluate(job())
    assert (result.status, result.error_step) == ("timeout", 1)
    assert len(result.curve) == 1
    assert "1 of 4 steps took" in result.error


def test_closing_the_evaluation_closes_the_run():
    run = evaluation(job(steps=8))
    assert next(run).step == 1
    run.close()
    with pytest.raises(StopIteration):
        next(run)
