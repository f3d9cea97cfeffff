"""Finished results on disk until the server has acknowledged them: a crash or an outage loses no training run.

One file per result, written aside, synced and renamed, so that a file is whole or absent. A folder belongs to one
store: job numbers mean nothing elsewhere. What cannot be read or is refused is set aside, so that it stops nothing.
"""

import logging
import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from designspace.job import Result

SUFFIX = ".json"
REFUSED_SUFFIX = ".refused"

_log = logging.getLogger(__name__)


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
    results = []
    for path in folder.glob(f"*{SUFFIX}"):
        try:
            results.append(Result.model_validate_json(path.read_bytes()))
        except ValidationError as error:
            _set_aside(path, str(error))
    return tuple(sorted(results, key=lambda result: (result.job_id, result.attempt)))


def refuse(folder: Path, result: Result, reason: str) -> None:
    """Keeps a result that the server will never take, for a human to look at."""
    _set_aside(_path(folder, result), reason)


def remove(folder: Path, results: Iterable[Result]) -> None:
    """Forgets results that the server has."""
    for result in results:
        _path(folder, result).unlink(missing_ok=True)


def _path(folder: Path, result: Result) -> Path:
    return folder / f"{result.job_id}-{result.attempt}{SUFFIX}"


def _set_aside(path: Path, reason: str) -> None:
    aside = path.with_suffix(REFUSED_SUFFIX)
    path.rename(aside)
    _log.warning("%s is no result the server takes: %s", aside, reason)


def _sync(folder: Path) -> None:
    """Makes a rename in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
