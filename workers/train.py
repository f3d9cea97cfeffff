"""Trains one candidate on one task with one seed: a generator of learning-curve points that returns the result."""

import math
import time
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from designspace.candidate import Candidate
from designspace.cost import cost
from designspace.job import Job, Progress, Result
from workers import protocol as protocols
from workers.measure import Scores, measure
from workers.optimization import learning_rate, parameter_groups
from workers.provenance import provenance
from workers.task import IGNORED, Split, Task, load

ORDER_STREAM = zlib.crc32(b"order")  # spawn key of the random stream that shuffles the training set
EVALUATION_BATCH = 128  # sequences per forward pass without gradients; bounds memory, changes no score

Examples = tuple[Tensor, Tensor]  # inputs and targets, int64 [size, positions]


class Builder(Protocol):
    """Makes the model of a candidate: int64 tokens [batch, seq_len] -> logits [batch, seq_len, vocab_size]."""

    def __call__(self, candidate: Candidate, *, seed: int) -> nn.Module: ...


@dataclass(frozen=True)
class Run:
    """A job made ready: data, the adapted candidate, its model and optimizer on the device."""

    job: Job
    protocol: protocols.Protocol
    task: Task[Any]
    steps: int
    device: torch.device
    data: dict[Split, Examples]
    candidate: Candidate
    model: nn.Module
    optimizer: torch.optim.Optimizer
    started: float

    @property
    def seconds(self) -> float:
        """Wall time since the start of the job, with its preparation."""
        return time.perf_counter() - self.started

    def tokens(self, step: int) -> int:
        """Tokens read in training up to `step`."""
        size, positions = self.data["train"][0].shape
        passes, batches_left = divmod(step, math.ceil(size / self.protocol.batch_size))
        return (passes * size + batches_left * self.protocol.batch_size) * positions


class DivergedError(ArithmeticError):
    """A loss or a gradient is not finite; the message says which."""


def train(job: Job, *, build: Builder, device: torch.device | None = None) -> Generator[Progress, None, Result]:
    """Yields the learning curve and returns what the test set says about the weights at the end.

    Test sequences are read once, after training; curve and early stopping see the validation set only. On one machine
    with the same versions and number of threads the same job gives the same numbers bit for bit. Closing the generator
    ends the run and leaves nothing behind. It touches neither global random state nor the number of threads.

    Args:
        job: what to train.
        build: makes the model.
        device: where; None takes the GPU if the process sees one.

    Raises:
        SpecError: there is no such task or protocol.
        ValueError: the job's spec is not valid, or has no sense in the protocol's sizes (pydantic's ValidationError).
    """
    run = prepare(job, build=build, device=device or default_device())
    curve: list[Progress] = []
    losses: list[float] = []
    step = 0
    try:
        for step, rows in enumerate(batches(run), start=1):
            losses.append(optimize(run, step, rows))
            if is_evaluated(step, run.steps, run.protocol.evaluations):
                scores = _scores(run, "validation")
                curve.append(_progress(run, step, loss=sum(losses) / len(losses), scores=scores))
                losses.clear()
                yield curve[-1]
                if _is_solved(run, scores):
                    break
        return _done(run, curve, test=_scores(run, "test"))
    except DivergedError as cause:
        return _diverged(run, step, cause, curve)


def default_device() -> torch.device:
    """The GPU if the process sees one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def prepare(job: Job, *, build: Builder, device: torch.device) -> Run:
    """The job's data, model and optimizer."""
    started = time.perf_counter()
    protocol, task = protocols.named(job.protocol), load(job.task)
    steps = job.steps or protocol.num_steps(task)
    data = _examples(job, protocol, task, steps=steps, device=device)
    scale = protocol.parameters(task)
    candidate = Candidate.model_validate(job.spec)
    candidate = protocol.adapt(candidate, vocab_size=scale.vocab_size, seq_len=scale.seq_len)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(job.seed)
        model = build(candidate, seed=job.seed).to(device)
    groups = parameter_groups(model, protocol.weight_decay)
    optimizer = torch.optim.AdamW(groups, lr=protocol.learning_rate, betas=protocol.betas)
    return Run(job, protocol, task, steps, device, data, candidate, model, optimizer, started)


def batches(run: Run) -> Iterator[Tensor]:
    """Row numbers of the training set for each step, shuffled anew in every pass."""
    rng = np.random.default_rng(np.random.SeedSequence(run.job.seed, spawn_key=(ORDER_STREAM,)))
    size, batch_size = len(run.data["train"][0]), run.protocol.batch_size
    step = 0
    while step < run.steps:
        order = torch.from_numpy(rng.permutation(size)).to(run.device)
        for rows in torch.split(order, batch_size)[: run.steps - step]:
            yield rows
            step += 1


def optimize(run: Run, step: int, rows: Tensor) -> float:
    """One optimizer step; the loss before it.

    Raises:
        DivergedError: the loss or a gradient is not finite; the weights are left as they were.
    """
    for group in run.optimizer.param_groups:
        group["lr"] = learning_rate(step, run.steps, run.protocol)
    inputs, targets = (tensor[rows] for tensor in run.data["train"])
    with torch.autocast(run.device.type, torch.bfloat16, enabled=run.protocol.precision == "bfloat16"):
        logits = run.model(inputs)
    loss = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
    if not math.isfinite(loss.item()):
        raise DivergedError(f"the training loss is {loss.item()}")
    run.optimizer.zero_grad()
    torch.autograd.backward(loss)
    _clip(run)
    run.optimizer.step()
    return loss.item()


def is_evaluated(step: int, steps: int, evaluations: int) -> bool:
    """Whether a point of the curve stands at `step`: `evaluations` of them, evenly spaced, the last at the end."""
    return step * evaluations // steps > (step - 1) * evaluations // steps


def _examples(
    job: Job, protocol: protocols.Protocol, task: Task[Any], *, steps: int, device: torch.device
) -> dict[Split, Examples]:
    """The three splits on the device."""
    sizes: dict[Split, int] = {
        "train": protocol.train_size(task, steps),
        "validation": protocol.validation_size,
        "test": protocol.test_size,
    }
    parameters = protocol.parameters(task)
    data: dict[Split, Examples] = {}
    for split, size in sizes.items():
        batch = task.sample(parameters, split, size=size, seed=job.seed)
        data[split] = (torch.from_numpy(batch.inputs).to(device), torch.from_numpy(batch.targets).to(device))
    return data


def _clip(run: Run) -> None:
    """Shortens the gradient to the protocol's norm.

    Raises:
        DivergedError: the gradient is not finite.
    """
    limit = run.protocol.max_gradient_norm or math.inf
    norm = nn.utils.clip_grad_norm_(run.model.parameters(), limit)
    if not math.isfinite(norm.item()):
        raise DivergedError(f"the gradient of {_non_finite_gradients(run.model)} is not finite")


def _non_finite_gradients(model: nn.Module) -> str:
    """Names of the parameters at fault; all of them where only the norm of the whole overflows."""
    names = [f"`{name}`" for name, p in model.named_parameters() if p.grad is not None and not p.grad.isfinite().all()]
    return ", ".join(names) or "all parameters together"


def _scores(run: Run, split: Split) -> Scores:
    """Scores on a split.

    Raises:
        DivergedError: the loss is not finite.
    """
    inputs, targets = run.data[split]
    scores = measure(run.model, inputs, targets, batch_size=EVALUATION_BATCH)
    if not math.isfinite(scores.loss):
        raise DivergedError(f"the {split} loss is {scores.loss}")
    return scores


def _is_solved(run: Run, scores: Scores) -> bool:
    limit = run.protocol.stop_accuracy
    return limit is not None and scores.accuracy >= limit


def _progress(run: Run, step: int, *, loss: float, scores: Scores) -> Progress:
    return Progress(
        step=step,
        steps=run.steps,
        loss=loss,
        validation_accuracy=scores.accuracy,
        tokens=run.tokens(step),
        seconds=run.seconds,
    )


def _diverged(run: Run, step: int, cause: DivergedError, curve: list[Progress]) -> Result:
    return Result(
        job_id=run.job.id,
        attempt=run.job.attempt,
        status="diverged",
        metrics=_sizes(run) | {"tokens": run.tokens(step), "steps": step},
        curve=tuple(curve),
        error=f"diverged at step {step} of {run.steps}: {cause}.",
        error_step=step,
        seconds=run.seconds,
        provenance=provenance(run.job, run.device),
    )


def _done(run: Run, curve: list[Progress], *, test: Scores) -> Result:
    last = curve[-1]
    metrics = {
        "accuracy": test.accuracy,
        "accuracy_macro": test.accuracy_macro,
        "loss": test.loss,
        "validation_accuracy": last.validation_accuracy or 0.0,
        "tokens": last.tokens,
        "steps": last.step,
    }
    return Result(
        job_id=run.job.id,
        attempt=run.job.attempt,
        status="done",
        metrics=metrics | _sizes(run),
        curve=tuple(curve),
        seconds=run.seconds,
        provenance=provenance(run.job, run.device),
    )


def _sizes(run: Run) -> dict[str, float]:
    """Facts of the run that do not depend on how it went."""
    parameters = run.protocol.parameters(run.task)
    return {
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "state_bytes": cost(run.candidate).memory_bytes,
        "chance": run.task.chance(parameters),
        "ceiling": run.task.ceiling(parameters, len(run.data["train"][0])),
    }
