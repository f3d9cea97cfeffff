"""Finished results on disk until the server has acknowledged them: a crash or an outage loses no training run.

One file per result, written aside, synced and renamed, so that a file is whole or absent. A folder belongs to one
store: job numbers mean nothing elsewhere.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from designspace.job import Result

SUFFIX = ".json"


def write(folder: Path, result: Result) -> None:
    """Puts the result on disk; when this returns it survives a crash of the machine."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{result.job_id}-{result.attempt}.{os.getpid()}"
    with aside.open("w", encoding="utf-8") as file:
        file.write(result.model_dump_json())
        file.flush()
        os.fsync(file.fileno())
    aside.rename(_path(folder, result))
    _sync(folder)


def read(folder: Path) -> tuple[Result, ...]:
    """The results that wait, oldest job first."""
    results = (Result.model_validate_json(path.read_bytes()) for path in folder.glob(f"*{SUFFIX}"))
    return tuple(sorted(results, key=lambda result: (result.job_id, result.attempt)))


def remove(folder: Path, results: Iterable[Result]) -> None:
    """Forgets results that the server has."""
    for result in results:
        _path(folder, result).unlink(missing_ok=True)


def _path(folder: Path, result: Result) -> Path:
    return folder / f"{result.job_id}-{result.attempt}{SUFFIX}"


def _sync(folder: Path) -> None:
    """Makes a rename in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
