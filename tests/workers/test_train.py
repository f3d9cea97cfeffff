"""Training: what the result holds, that it repeats, how it diverges, what it leaves alone."""

import itertools
import random

import numpy as np
import pytest
import torch

from designspace.candidate import single
from designspace.errors import SpecError
from designspace.job import Job, Progress, Result
from designspace.mixer import MixerSpec
from workers.protocol import TINY
from workers.task import load
from workers.train import Run, batches, is_evaluated, optimize, prepare, train

CPU = torch.device("cpu")


class PreviousToken(torch.nn.Module):
    """Answers from the current and the previous token: enough for memorization, for nothing else."""

    def __init__(self, vocab_size: int, model_dim: int) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(vocab_size, model_dim)
        self.head = torch.nn.Linear(2 * model_dim, vocab_size)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(torch.cat([x, torch.nn.functional.pad(x, (0, 0, 1, 0))[:, :-1]], dim=-1))


def build(candidate, *, seed):
    torch.manual_seed(seed)
    return PreviousToken(candidate.model.vocab_size, candidate.model.model_dim)


def job(**fields) -> Job:
    spec = single(MixerSpec()).model_dump(mode="json")
    defaults = {
        "id": 1,
        "attempt": 1,
        "fingerprint": "0" * 12,
        "spec": spec,
        "task": "memorization",
        "seed": 0,
        "steps": 24,
    }
    return Job(**(defaults | fields))


def drain(job: Job, build=build) -> tuple[list[Progress], Result]:
    curve, run = [], train(job, build=build, device=CPU)
    while True:
        try:
            curve.append(next(run))
        except StopIteration as stop:
            return curve, stop.value


def test_result_holds_the_promised_metrics_and_the_curve():
    curve, result = drain(job(id=7, attempt=3, steps=8))
    assert (result.job_id, result.attempt, result.status, result.error) == (7, 3, "done", None)
    promised = {
        "accuracy",
        "accuracy_macro",
        "loss",
        "validation_accuracy",
        "parameters",
        "state_bytes",
        "tokens",
        "steps",
        "chance",
    }
    assert promised <= set(result.metrics)
    assert result.curve == tuple(curve)
    assert [point.step for point in curve] == list(range(1, 9))
    assert result.metrics["steps"] == 8
    assert result.metrics["tokens"] == 8 * TINY.batch_size * 32 == curve[-1].tokens
    vocab_size = load("memorization").tiny.vocab_size
    assert result.metrics["parameters"] == vocab_size * 64 + 128 * vocab_size + vocab_size
    assert result.metrics["chance"] == 1 / ((vocab_size - 1) // 2)
    assert {"torch", "python", "platform", "cpu", "commit", "seed", "fingerprint"} <= set(result.provenance)


def test_a_model_that_can_learn_does():
    _, result = drain(job(steps=300))
    assert result.metrics["accuracy"] > 0.99
    assert result.metrics["accuracy_macro"] > 0.98


def test_a_solved_run_stops_early():
    _, result = drain(job(steps=800))
    assert result.metrics["steps"] < 800
    assert result.curve[-1].validation_accuracy >= TINY.stop_accuracy


def test_same_job_gives_the_same_numbers_bit_for_bit():
    first, again, other = drain(job())[1], drain(job())[1], drain(job(seed=1))[1]
    assert first.metrics == again.metrics
    assert [(p.step, p.loss, p.validation_accuracy) for p in first.curve] == [
        (p.step, p.loss, p.validation_accuracy) for p in again.curve
    ]
    assert first.metrics["loss"] != other.metrics["loss"]


def test_global_random_state_and_threads_are_untouched():
    torch.manual_seed(5)
    np.random.seed(5)
    random.seed(5)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate(), torch.get_num_threads()
    drain(job(steps=4))
    after = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate(), torch.get_num_threads()
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]


def test_consumer_between_two_points_keeps_its_random_numbers():
    """A generator that held a seeded state across `yield` would repeat the consumer's numbers."""
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    run = train(job(), build=build, device=CPU)
    drawn = []
    for _ in range(2):
        next(run)
        drawn.append(torch.rand(1))
    run.close()
    assert torch.equal(torch.cat(drawn), expected)


def test_closing_the_generator_ends_the_run():
    run = train(job(steps=800), build=build, device=CPU)
    assert next(run).step == 100
    run.close()
    with pytest.raises(StopIteration):
        next(run)


class Explodes(PreviousToken):
    """Says NaN from the fifth training step on."""

    calls = 0

    def forward(self, tokens):
        self.calls += self.training
        return super().forward(tokens) * (float("nan") if self.calls >= 5 else 1.0)


class ExplodesInTest(PreviousToken):
    """Says infinity on any but the training set."""

    def forward(self, tokens):
        return super().forward(tokens) * (1.0 if self.training else float("inf"))


class InfiniteGradient(PreviousToken):
    """A finite loss whose gradient with respect to `scale` is not: sqrt at 0."""

    def __init__(self, vocab_size, model_dim):
        super().__init__(vocab_size, model_dim)
        self.scale = torch.nn.Parameter(torch.zeros(()))

    def forward(self, tokens):
        return super().forward(tokens) * (1 + self.scale.sqrt())


def always(model: type[PreviousToken]):
    """A builder of small models of that kind."""

    def build(candidate, *, seed):
        torch.manual_seed(seed)
        return model(candidate.model.vocab_size, 8)

    return build


def test_non_finite_loss_is_recorded_with_its_step_and_cause():
    _, result = drain(job(), build=always(Explodes))
    assert (result.status, result.error_step) == ("diverged", 5)
    assert result.error == "diverged at step 5 of 24: the training loss is nan."
    assert [point.step for point in result.curve] == [3]
    assert "accuracy" not in result.metrics
    assert result.metrics["tokens"] == 5 * TINY.batch_size * 32


def test_non_finite_gradient_is_recorded_with_the_parameter_at_fault():
    _, result = drain(job(), build=always(InfiniteGradient))
    assert (result.status, result.error_step) == ("diverged", 1)
    assert "`scale`" in result.error
    assert "embed" not in result.error


def test_non_finite_validation_is_recorded_too():
    _, result = drain(job(), build=always(ExplodesInTest))
    assert (result.status, result.error_step) == ("diverged", 3)
    assert "the validation loss is" in result.error


def ready(**fields) -> Run:
    return prepare(job(**fields), build=build, device=CPU)


def test_learning_rate_of_the_optimizer_follows_the_schedule():
    run, rates = ready(steps=100), []
    for step, rows in enumerate(batches(run), start=1):
        optimize(run, step, rows[:2])
        rates.append(run.optimizer.param_groups[0]["lr"])
    assert rates[0] == pytest.approx(TINY.learning_rate / 10)
    assert max(rates) == rates[9] == pytest.approx(TINY.learning_rate)
    assert rates[-1] == pytest.approx(TINY.learning_rate * TINY.final_fraction)
    assert all(later < earlier for earlier, later in itertools.pairwise(rates[9:]))


def test_gradients_are_clipped_to_the_protocols_norm():
    run = ready()
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.mul_(50)
    optimize(run, 1, next(batches(run)))
    norm = torch.stack([p.grad.norm() for p in run.model.parameters()]).norm()
    assert norm.item() == pytest.approx(TINY.max_gradient_norm, rel=1e-3)


def test_every_training_sequence_is_used_once_per_pass():
    run = ready(steps=10)
    rows = torch.cat(list(batches(run)))
    assert sorted(rows.tolist()) == list(range(10 * TINY.batch_size))
    published = prepare(job(protocol="mad", steps=5), build=build, device=CPU)
    drawn = [rows.tolist() for rows in batches(published)]
    assert [len(rows) for rows in drawn] == [128] * 5
    assert sorted(drawn[0] + drawn[1]) == sorted(drawn[2] + drawn[3]) == list(range(256))
    assert drawn[0] != drawn[2]
    assert published.tokens(3) == 3 * 128 * 32


def test_validation_is_apart_from_test_and_training():
    run = ready()
    sets = {split: {row.numpy().tobytes() for row in inputs} for split, (inputs, _) in run.data.items()}
    assert not sets["validation"] & sets["test"]
    assert not sets["train"] & (sets["validation"] | sets["test"])


def test_test_set_is_read_after_training_only(monkeypatch):
    """With a test target that no one can know the curve is as before, and only the final accuracy falls."""
    _, honest = drain(job(steps=80))
    task = load("memorization")
    original = type(task).sample

    def sample(self, parameters, split, **kwargs):
        batch = original(self, parameters, split, **kwargs)
        if split == "test":
            batch.targets[batch.scored] = 0
        return batch

    monkeypatch.setattr(type(task), "sample", sample)
    _, spoiled = drain(job(steps=80))
    assert [p.loss for p in spoiled.curve] == [p.loss for p in honest.curve]
    assert spoiled.metrics["accuracy"] < honest.metrics["accuracy"]


@pytest.mark.parametrize(("steps", "evaluations"), [(24, 8), (10, 3), (5, 8), (1, 1), (450, 8)])
def test_curve_has_evenly_spaced_points_and_ends_at_the_last_step(steps, evaluations):
    points = [step for step in range(1, steps + 1) if is_evaluated(step, steps, evaluations)]
    assert len(points) == min(steps, evaluations)
    assert points[-1] == steps
    gaps = np.diff([0, *points])
    assert gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize("fields", [{"task": "chess"}, {"protocol": "huge"}])
def test_unknown_task_or_protocol_is_refused(fields):
    with pytest.raises(SpecError, match="must be one of"):
        next(train(job(**fields), build=build, device=CPU))
