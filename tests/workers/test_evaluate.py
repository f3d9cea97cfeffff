"""The evaluator turns whatever happens into a result, and lets through what must end the process."""

import os
import subprocess
import sys
import time

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


def test_a_run_stuck_before_the_first_point_of_its_curve_is_a_timeout(monkeypatch):
    hurried = TINY.model_copy(update={"limit_seconds": 0.05})
    monkeypatch.setattr("workers.protocol.PROTOCOLS", {**PROTOCOLS, "tiny": hurried})
    monkeypatch.setattr("workers.evaluate.GRACE_SECONDS", 0.05)

    def build(candidate, *, seed):  # noqa: ARG001
        time.sleep(30)

    started = time.monotonic()
    result = evaluate(job(), build=build)
    assert time.monotonic() - started < 10
    assert (result.status, result.error_step, result.curve) == ("timeout", None, ())
    assert "more than 0.05 s" in result.error


REPEAT = """
import sys, torch
torch.set_num_threads(1)
from designspace.job import Job
from workers.evaluate import evaluate
junk = [torch.randn(7 + 13 * index) for index in range(int(sys.argv[2]))]
result = evaluate(Job.model_validate_json(sys.argv[1]))
print(repr(sorted(result.metrics.items())), [point.loss for point in result.curve])
"""


def test_another_process_gives_the_same_numbers_bit_for_bit():
    """Also with another memory layout, environment and hash seed: a repeated attempt must not change a result."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", REPEAT, job().model_dump_json(), str(junk)],
            env=os.environ | {"PYTHONHASHSEED": str(junk), "PADDING": "x" * (1 + 5000 * junk)},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for junk in (0, 3)
    ]
    assert "accuracy" in runs[0]
    assert runs[0] == runs[1]
