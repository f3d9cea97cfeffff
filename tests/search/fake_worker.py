"""A worker process that makes results up, from the job alone, so that a repeated attempt gives the same number.

python fake_worker.py URL FOLDER SECONDS
"""

import os
import sys
import time
from collections.abc import Generator
from pathlib import Path

from fabricate import accuracy

from designspace.job import Job, Progress, Result
from workers.client import Client
from workers.worker import name_suffix, run_worker


def evaluation(job: Job) -> Generator[Progress, None, Result]:
    """One point of a curve, a pause, and a result."""
    time.sleep(float(sys.argv[3]))
    yield Progress(step=1, steps=1, loss=0.5, tokens=100, seconds=0.1)
    metrics = {"accuracy": accuracy(job), "chance": 0.1, "tokens": 100.0}
    return Result(job_id=job.id, attempt=job.attempt, status="done", metrics=metrics, seconds=0.1)


with Client(sys.argv[1], worker=f"fake{name_suffix(os.getpid())}", patience_seconds=5) as client:
    run_worker(client, evaluation=evaluation, spool_folder=Path(sys.argv[2]))
