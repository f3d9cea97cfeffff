"""`--fix` and `--diff` of `sextant lint`: spec files as their fixes leave them, written in one step or shown."""

import difflib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

if TYPE_CHECKING:
    from checkers.finding import Finding, Report
    from checkers.fixes import Fixed
    from designspace.errors import SpecError
    from designspace.specfile import Loaded

WRITABLE = 0o222  # by anyone
BYTE_ORDER_MARK = "\ufeff"
CATALOGUE = "catalogue:"

Judge = Callable[["Loaded"], "Report"]


class Request(NamedTuple):
    """What the user asks for; `diff` shows the change and writes nothing, `retargeted` judges for another target."""

    fix: bool = False
    unsafe: bool = False
    diff: bool = False
    retargeted: bool = False


def with_fixes(found: "Sequence[Loaded]", judge: Judge, request: Request) -> "tuple[list[Loaded], list[SpecError]]":
    """The specs as `--fix` leaves them (as they were for `--diff`), and the errors of files whose fixes contradict.

    Says on standard error what it fixed, and what it could not fix and why.

    Raises:
        SpecError: `--unsafe-fixes` stands alone, or the command line gives another target.
    """
    from designspace.errors import SpecError

    if not request.fix and not request.diff:
        if request.unsafe:
            raise SpecError("--unsafe-fixes says which fixes; give --fix or --diff too.")
        return list(found), []
    if request.retargeted:  # what is right for another target need not be right for the file's own
        message = "a file is fixed for its own target; set `target` in it in place of --seq-len, --dtype and --need."
        raise SpecError(message)
    after: list[Loaded] = []
    errors: list[SpecError] = []
    for loaded in found:
        try:
            after.append(_one(loaded, judge, request))
        except SpecError as error:
            errors.append(error)
            after.append(loaded)
    return after, errors


def _one(loaded: "Loaded", judge: Judge, request: Request) -> "Loaded":
    from checkers.fixes import fixed

    name = loaded.document.file
    refusal = _refusal(name)
    content = "" if refusal else _content(name)
    refusal = refusal or _refusal_of_config(content, name)
    if refusal:
        if any(_fixable(judge(loaded), request)):
            typer.echo(f"{name}: not fixed: {refusal}", err=True)
        return loaded
    mark = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK) else ""
    old = content.removeprefix(mark)
    result = fixed(old, name, judge, unsafe=request.unsafe)
    if not request.diff and result.text != old:
        replace_file(Path(name), content.encode(), (mark + result.text).encode())
    _say(name, result, request)
    if not request.diff:
        return result.loaded
    typer.echo(unified(old, result.text, name), nl=False)
    return loaded


def _refusal(name: str) -> str | None:
    """Why a spec of this name is not edited; None for a file."""
    if name.startswith(CATALOGUE):
        return f"a catalogue entry is not edited; `sextant new --from {name} -o my.yaml` writes a spec of your own."
    if name == "<stdin>":
        return "standard input is not edited; give the name of a file."
    return None


def _refusal_of_config(content: str, name: str) -> str | None:
    from designspace.document import parse
    from designspace.specfile import is_config

    if content and is_config(parse(content.removeprefix(BYTE_ORDER_MARK), name, special_numbers=True)):
        return f"a config.json is not edited; `sextant import {name} -o my.yaml` writes a spec that can be."
    return None


def _content(name: str) -> str:
    """The characters of a file that was read before, its line breaks as they are."""
    from designspace.errors import SpecError

    try:
        return Path(name).read_bytes().decode()
    except OSError as error:
        raise SpecError(f"cannot be read ({error.strerror}); check the path.", file=name) from None


def _fixable(report: "Report", request: Request) -> "Iterable[Finding]":
    """The findings that the request asks to fix."""
    allowed = ("safe", "unsafe") if request.unsafe else ("safe",)
    return (one for one in report.active if one.fix and one.fix.edits and one.fix.applicability in allowed)


def _say(name: str, result: "Fixed", request: Request) -> None:
    """What was fixed and what was not, on standard error."""
    from checkers.alike import apart

    if result.applied:
        counts = Counter(f"{one.code} {one.name}" for one in result.applied)
        listed = ", ".join(f"{code}{f' x {count}' if count > 1 else ''}" for code, count in counts.items())
        verb = "would fix" if request.diff else "fixed"
        typer.echo(f"{name}: {verb} {_counted(len(result.applied), 'finding')} ({listed})", err=True)
    for left in result.left:
        typer.echo(f"{name}: {left.finding.code} at {left.finding.path} not fixed: {left.reason}", err=True)
    more = sum(one.fix is not None and one.fix.applicability == "unsafe" for one in apart(result.report.active))
    if more and not request.unsafe:
        typer.echo(f"{name}: {_counted(more, 'finding')} more with --unsafe-fixes, which change the function", err=True)


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def unified(old: str, new: str, name: str) -> str:
    """The change as a unified diff, empty where there is none."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), fromfile=name, tofile=name
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def replace_file(path: Path, old: bytes, new: bytes) -> None:
    """Put `new` in the place of `old` in one step: at any moment the file holds one of the two in full.

    Raises:
        SpecError: the file holds something else by now, or cannot be written.
    """
    from designspace.errors import SpecError

    real = path.resolve()  # a link stays a link
    temporary = None
    try:
        state = real.stat()
        if not state.st_mode & WRITABLE or not os.access(real, os.W_OK):
            raise SpecError("the file is read-only; make it writable, or use --diff.", file=str(path))
        with tempfile.NamedTemporaryFile(dir=real.parent, prefix=f".{real.name}.", delete=False) as stream:
            temporary = Path(stream.name)
            stream.write(new)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(state.st_mode)
        if os.geteuid() == 0:  # others keep what they own; a file of a folder they can write becomes theirs
            os.chown(temporary, state.st_uid, state.st_gid)
        if real.read_bytes() != old:
            raise SpecError("the file was changed while it was checked; run the command again.", file=str(path))
        temporary.replace(real)
    except OSError as error:
        raise SpecError(f"cannot be written ({error.strerror}); check its permissions.", file=str(path)) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
