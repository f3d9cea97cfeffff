"""A baseline: the findings that a team knows and has decided to live with, so that only new ones fail.

An entry names a finding by its fingerprint (rule, path in the spec, values of the fields that the rule reads), so line
numbers and comments do not matter, and a change of what the rule reads makes the finding new.
"""

import errno
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from checkers.alike import apart, together
from checkers.check import summary
from checkers.finding import Finding, Record, Report
from designspace.errors import SpecError
from designspace.events import quoted

FOLDERLESS = ("catalogue:", "<")  # sources that are no file
MAX_BYTES = 1 << 26  # of a baseline file

Text = Annotated[str, Field(min_length=1)]


class Entry(Record):
    """Known findings of one spec that share a fingerprint.

    `source` is relative to the folder of the baseline; `spec_digest` is the fingerprint that the candidate had.
    """

    source: str
    code: Text
    name: str
    path: str
    fingerprint: Text
    count: Annotated[int, Field(ge=1)] = 1
    spec_digest: str


Key = tuple[str, str]  # source, fingerprint


class Baseline(Record):
    """The file, schema `sextant.baseline/1`; entries are sorted, so that two runs write the same bytes."""

    schema_: Literal["sextant.baseline/1"] = Field(default="sextant.baseline/1", alias="schema")
    findings: tuple[Entry, ...] = ()

    def by_key(self) -> dict[Key, Entry]:
        """The entries by source and fingerprint."""
        return {(entry.source, entry.fingerprint): entry for entry in self.findings}


class Applied(NamedTuple):
    """Reports with the known findings silenced, how many those are, and the entries that no longer hold.

    A stale entry counts the findings that are gone.
    """

    reports: list[Report]
    hidden: int
    stale: tuple[Entry, ...]


def load(path: Path) -> Baseline:
    """The baseline in the file.

    Raises:
        SpecError: it cannot be read, or is no baseline.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise SpecError(f"the file is larger than {MAX_BYTES >> 20} MiB; name a baseline.", file=str(path))
        found = Baseline.model_validate(json.loads(content.decode("utf-8"), object_pairs_hook=_without_repeats))
    except FileNotFoundError:
        remedy = f"`--baseline write {path}` makes it."
        raise SpecError(f"no such baseline; {remedy}", file=str(path)) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError(f"cannot be read ({reason}); check the path and its permissions.", file=str(path)) from None
    except UnicodeDecodeError:
        raise SpecError("the file is no UTF-8 text; name a baseline.", file=str(path)) from None
    except json.JSONDecodeError as error:
        message = f"not a JSON file ({error.msg}); name a baseline, or remove it and write a new one."
        raise SpecError(message, file=str(path), line=error.lineno) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        message = f"no baseline of schema `sextant.baseline/1`: `{where}`: {first['msg']}; name another file."
        raise SpecError(message, file=str(path)) from None
    except (RecursionError, ValueError):  # what `json` cannot take although it is JSON
        message = "it nests too deep, or a number is too long, for a baseline; name another file."
        raise SpecError(message, file=str(path)) from None
    except _RepeatedKeyError as error:
        message = f"the key {quoted(error)} stands twice in one object; remove one, or write the baseline anew."
        raise SpecError(message, file=str(path)) from None
    keys = Counter((entry.source, entry.fingerprint) for entry in found.findings)
    (source, fingerprint), count = next(iter(keys.most_common(1)), (("", ""), 0))
    if count > 1:
        message = (
            f"{quoted(source)} has {count} entries of the fingerprint `{fingerprint}`; keep one, with their `count`."
        )
        raise SpecError(message, file=str(path))
    return found


class _RepeatedKeyError(Exception):
    """An object of the file has a key twice."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _RepeatedKeyError(next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1))
    return found


def save(path: Path, baseline: Baseline) -> None:
    """Write the baseline; readers see the old file or the new one, never a part.

    Raises:
        SpecError: it cannot be written.
    """
    text = json.dumps(baseline.model_dump(), indent=2, ensure_ascii=False) + "\n"
    content = text.encode("utf-8", "backslashreplace")  # a file name that is no text stands there as JSON escapes it
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as stream:
            stream.write(content)
        try:
            os.chmod(stream.name, path.stat().st_mode if path.exists() else 0o666 & ~_umask())
            os.replace(stream.name, path)
        except OSError:
            os.unlink(stream.name)
            raise
    except OSError as error:
        message = f"cannot be written ({error.strerror or error}); check the folder and its permissions."
        raise SpecError(message, file=str(path)) from None


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds off every other process that changes a baseline in the same folder; ends with the process at the latest."""
    import fcntl  # POSIX, as is locking a folder, which needs no lock file to clean up

    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        message = f"cannot be written ({error.strerror or error}); check the folder."
        raise SpecError(message, file=str(path)) from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def applied(reports: Sequence[Report], baseline: Baseline, path: Path) -> Applied:
    """The reports with the findings of `baseline`, a file at `path`, silenced."""
    entries = baseline.by_key()
    silenced = [_silenced(report, entries, path) for report in reports]
    hidden = sum(len(apart(old.active)) - len(apart(new.active)) for old, new in zip(reports, silenced, strict=True))
    return Applied(silenced, hidden, tuple(_stale(reports, baseline, path)))


def written(reports: Sequence[Report], old: Baseline, path: Path) -> Baseline:
    """`old` with every active finding of the reports; entries of specs and rules that did not run are kept."""
    ran = _ran(reports, path)
    kept = [entry for entry in old.findings if entry.code not in ran.get(entry.source, ())]
    fresh = {
        (entry.source, entry.fingerprint): entry for report in reports for entry in _entries(report, path)
    }  # a spec that is named twice counts once
    return _sorted((*kept, *fresh.values()))


def pruned(baseline: Baseline, stale: Iterable[Entry]) -> Baseline:
    """`baseline` without what is stale."""
    gone = {(entry.source, entry.fingerprint): entry.count for entry in stale}
    left = [(entry, entry.count - gone.get((entry.source, entry.fingerprint), 0)) for entry in baseline.findings]
    return _sorted(entry.model_copy(update={"count": count}) for entry, count in left if count > 0)


def source_of(report: Report, path: Path) -> str:
    """The name of the report's spec in a baseline at `path`."""
    source = report.candidate.source or report.candidate.name
    if source.startswith(FOLDERLESS):
        return source
    return Path(os.path.relpath(source, path.parent)).as_posix()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sorted(entries: Iterable[Entry]) -> Baseline:
    return Baseline(findings=tuple(sorted(entries, key=lambda one: (one.source, one.path, one.code, one.fingerprint))))


def _ran(reports: Sequence[Report], path: Path) -> dict[str, set[str]]:
    """The rules that judged each source."""
    return {source_of(report, path): {verdict.code for verdict in report.verdicts} for report in reports}


def _entries(report: Report, path: Path) -> Iterator[Entry]:
    active = apart(report.active)
    counts = Counter(finding.fingerprint for finding in active)
    first = {finding.fingerprint: finding for finding in reversed(active)}
    for fingerprint, count in counts.items():
        finding = first[fingerprint]
        yield Entry(
            source=source_of(report, path),
            code=finding.code,
            name=finding.name,
            path=finding.path,
            fingerprint=fingerprint,
            count=count,
            spec_digest=report.candidate.fingerprint,
        )


def _silenced(report: Report, entries: dict[Key, Entry], path: Path) -> Report:
    source, left = source_of(report, path), Counter[str]()
    findings: list[Finding] = []
    for finding in apart(report.findings):
        entry = entries.get((source, finding.fingerprint))
        if finding.suppressed is None and entry is not None and left[finding.fingerprint] < entry.count:
            left[finding.fingerprint] += 1
            finding = finding.model_copy(update={"suppressed": f"baseline {path}"})
        findings.append(finding)
    if not left:
        return report
    ordered = together(findings)
    return report.model_copy(update={"findings": ordered, "summary": summary(ordered, report.verdicts)})


def _stale(reports: Sequence[Report], baseline: Baseline, path: Path) -> Iterator[Entry]:
    """Entries of which some findings are gone: not found by a rule that ran, or of a file that is gone."""
    ran = _ran(reports, path)
    found = {source_of(report, path): Counter(one.fingerprint for one in apart(report.active)) for report in reports}
    for entry in baseline.findings:
        if entry.source in ran:
            seen = found[entry.source][entry.fingerprint] if entry.code in ran[entry.source] else entry.count
        else:
            is_file = not entry.source.startswith(FOLDERLESS)
            seen = 0 if is_file and _is_gone(path.parent / entry.source) else entry.count
        if seen < entry.count:
            yield entry.model_copy(update={"count": entry.count - seen})


def _is_gone(file: Path) -> bool:
    try:
        return not file.exists()
    except OSError as error:  # a folder that may not be entered tells nothing; a name that is too long no file has
        return error.errno == errno.ENAMETOOLONG
