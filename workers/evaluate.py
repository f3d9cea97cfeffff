"""Runs a job to a result whatever happens: one evaluator, under Ray, in a plain worker and in this process."""

import math
import time
import traceback
from collections.abc import Generator

from designspace.job import Job, Progress, Result, Status
from workers.limits import LateError, alarm, is_out_of_memory
from workers.model import build as build_model
from workers.protocol import named
from workers.provenance import provenance
from workers.train import Builder, default_device, train

MAX_ERROR_CHARACTERS = 2000
GRACE_SECONDS = 5.0  # beyond the limit, to reach the next point of the curve


def evaluate(job: Job, *, build: Builder = build_model) -> Result:
    """The result of `job`; a failure is a result too."""
    run = evaluation(job, build=build)
    while True:
        try:
            next(run)
        except StopIteration as stop:
            result: Result = stop.value
            return result


def evaluation(job: Job, *, build: Builder = build_model) -> Generator[Progress, None, Result]:
    """Yields the learning curve of `job` and returns its result; raises nothing but what ends the process.

    `except Exception` stands here, as it does where a search judges a candidate: a candidate is somebody's idea of a
    mixer, it may fail in any way its model can, and a worker must survive it, since the store counts the failures of a
    candidate and another job waits. KeyboardInterrupt and SystemExit pass, and so does the closing of the generator.
    """
    try:
        return (yield from _within_limit(job, train(job, build=build)))
    except Exception as error:
        return _failed(job, error)


def _within_limit(job: Job, run: Generator[Progress, None, Result]) -> Generator[Progress, None, Result]:
    """The run, ended beyond the protocol's limit of time: at a point of its curve, or else GRACE_SECONDS later."""
    limit = named(job.protocol).limit_seconds or math.inf
    curve: list[Progress] = []
    started = time.monotonic()
    while True:
        seconds = time.monotonic() - started
        try:
            with alarm(limit + GRACE_SECONDS - seconds):
                curve.append(next(run))
        except StopIteration as stop:
            result: Result = stop.value
            return result
        except LateError:
            return _late(job, limit, curve, seconds=time.monotonic() - started)
        yield curve[-1]
        point = curve[-1]
        if point.seconds > limit and point.step < point.steps:
            run.close()
            return _late(job, limit, curve, seconds=point.seconds)


def _late(job: Job, limit: float, curve: list[Progress], *, seconds: float) -> Result:
    done = f"{curve[-1].step} of {curve[-1].steps} steps" if curve else "The first steps"
    error = f"{done} took {seconds:.0f} s, more than {limit:g} s."
    step = curve[-1].step if curve else None
    return _unfinished(job, "timeout", error, curve=tuple(curve), error_step=step, seconds=seconds)


def _failed(job: Job, error: Exception) -> Result:
    return _unfinished(job, "oom" if is_out_of_memory(error) else "failed", _describe(error))


def _unfinished(job: Job, status: Status, error: str, **fields: object) -> Result:
    facts = {"job_id": job.id, "attempt": job.attempt, "status": status, "error": error[:MAX_ERROR_CHARACTERS]}
    return Result.model_validate(facts | {"provenance": provenance(job, default_device())} | fields)


def _describe(error: Exception) -> str:
    """Kind, message and place of the error."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
