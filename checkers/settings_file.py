"""Settings files: the nearest `sextant.toml` or `pyproject.toml` with `[tool.sextant]`, as the settings of each spec.

A value comes from the command line, else from the settings file, else from the files it names in `extend`, else it is
the default; every value knows where it came from. Nothing is merged from files that nobody names.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import ConfigDict

from checkers import tomlfile
from checkers.finding import Severity
from checkers.settings import ALL, Settings, kebab, unknown
from checkers.thresholds import DEFAULTS, Thresholds, listed
from designspace.document import Document
from designspace.errors import SpecError
from designspace.events import KeyPath, join_path, split_path
from designspace.spec import Spec
from designspace.validation import validate

OWN_FILE = "sextant.toml"
PROJECT_FILE = "pyproject.toml"
PROJECT_TABLE = ("tool", "sextant")
NO_FILE_PREFIXES = ("catalogue:", "<")  # specs that stand in no folder: the current one is theirs
GLOB_PART = re.compile(r"(\*\*/)+|\*{2,}|.", re.DOTALL)

FailOn = Literal["error", "warning", "info", "never"]


class FileSettings(Spec):
    """The keys of a settings file; None where a key is not given."""

    model_config = ConfigDict(alias_generator=kebab)

    extend: str | None = None
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    per_file_ignores: dict[str, tuple[str, ...]] | None = None
    severity: dict[str, Severity] | None = None
    fail_on: FailOn | None = None
    thresholds: Thresholds = DEFAULTS


class Setting(NamedTuple):
    """A value and where it came from: a file with its line, the command line, or the default (both None).

    `folder` is what the globs of a file are relative to.
    """

    value: Any
    file: str | None = None
    line: int | None = None
    folder: Path | None = None

    @property
    def origin(self) -> str:
        """Where the value came from, for people."""
        return f"{self.file}:{self.line}" if self.line else self.file or "default"


COMMAND_LINE = "command line"
Layer = Mapping[KeyPath, Setting]


class Overrides(NamedTuple):
    """What the command line sets; None leaves it to the file."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    fail_on: FailOn | None = None


@dataclass(frozen=True)
class Resolved:
    """The settings of a spec: `settings` for `check`, the severity that fails, and every value with its origin."""

    settings: Settings
    fail_on: FailOn
    file: str | None
    layer: Layer


Resolver = Callable[[str], Resolved]


def resolver(
    overrides: Overrides | None = None, *, config: str | os.PathLike[str] | None = None, isolated: bool = False
) -> Resolver:
    """A function from a spec (as the user named it) to its settings; each settings file is read once.

    Args:
        overrides: what the command line sets.
        config: the settings file of every spec; by default the nearest one upwards of each.
        isolated: read no settings file.

    Raises:
        SpecError: a settings file is named and none is to be read.
    """
    if isolated and config is not None:
        raise SpecError("--isolated reads no settings file, and --config names one; give one of the two.")
    given = _command_line(overrides or Overrides())

    @cache
    def nearest_file(folder: Path) -> Path | None:
        """The first settings file from `folder` upwards; a project file counts only with the table of Sextant."""
        if _is_file(folder / OWN_FILE):
            return folder / OWN_FILE
        if _is_file(folder / PROJECT_FILE) and _document(folder / PROJECT_FILE) is not None:
            return folder / PROJECT_FILE
        return None if folder.parent == folder else nearest_file(folder.parent)

    @cache
    def layer_of(file: Path | None) -> Layer:
        return _over(given, {} if file is None else _read(file, ()))

    @cache
    def resolved(file: Path | None, silenced: tuple[str, ...]) -> Resolved:
        return _resolved(None if file is None else _shown(file), layer_of(file), silenced)

    def of_spec(spec: str) -> Resolved:
        if config is not None:
            file: Path | None = Path(config)
        else:
            file = None if isolated else nearest_file(_folder(spec))
        layer = layer_of(file)
        silenced = tuple(selector for glob in _globs_of(layer, spec) for selector in layer[glob].value)
        return resolved(file, silenced)

    return of_spec


class Row(NamedTuple):
    """One setting as people read it."""

    key: str
    value: Any
    unit: str
    allowed: str
    origin: str


def rows(resolved: Resolved) -> Iterator[Row]:
    """Every setting, those at their default too."""
    layer, settings = resolved.layer, resolved.settings
    defaults = {"select": [ALL], "extend-select": [], "ignore": [], "fail-on": resolved.fail_on}
    for key, value in defaults.items():
        found = layer.get((key,), Setting(value))
        yield Row(key, found.value, "", "", found.origin)
    for path, found in layer.items():
        if path[0] in ("per-file-ignores", "severity"):
            yield Row(f"{path[0]}.{_toml_key(str(path[1]))}", found.value, "", "", found.origin)
    for one in listed(settings.thresholds):
        origin = layer.get(("thresholds", one.rule, one.key), Setting(None)).origin
        yield Row(f"thresholds.{one.rule}.{one.key}", one.value, one.unit, one.allowed, origin)


def matches(glob: str, path: str) -> bool:
    """The glob names the path, relative and with forward slashes; a glob without one names files in any folder.

    `*` and `?` stand for what is no slash, `**` for any folders. All ways to match are followed side by side, so that
    the time is that of the two lengths multiplied, whatever the glob.
    """
    parts = [found[0] for found in GLOB_PART.finditer(glob)]
    reached = _entered(parts, 0)
    for character in path if "/" in glob else path.rsplit("/", 1)[-1]:
        reached = {after for index in reached if index < len(parts) for after in _after(parts, index, character)}
    return len(parts) in reached


def _entered(parts: Sequence[str], index: int) -> set[int]:
    """The parts that may take the next character where part `index` begins: stars may stand for nothing."""
    found = {index}
    while index < len(parts) and parts[index].startswith("*"):
        index += 1
        found.add(index)
    return found


def _after(parts: Sequence[str], index: int, character: str) -> set[int]:
    """The parts that may take the next character after part `index` took this one; empty where it does not."""
    part, is_slash = parts[index], character == "/"
    if part.endswith("*/"):
        return {index} | (_entered(parts, index + 1) if is_slash else set())
    if part.startswith("*"):
        return set() if is_slash and part == "*" else _entered(parts, index)
    takes = not is_slash if part == "?" else character == part
    return _entered(parts, index + 1) if takes else set()


def _command_line(overrides: Overrides) -> Layer:
    given = {(kebab(key),): value for key, value in overrides._asdict().items() if value is not None}
    return {path: Setting(value, COMMAND_LINE) for path, value in given.items()}


def _over(upper: Layer, lower: Layer) -> Layer:
    """`upper` laid over `lower` key by key; a `select` starts anew, an `extend-select` adds."""
    kept = dict(lower)
    added: list[str] = []
    if ("select",) in upper:
        kept.pop(("extend-select",), None)
    elif ("extend-select",) in upper and ("extend-select",) in kept:
        added = kept[("extend-select",)].value
    merged = kept | dict(upper)
    if added:
        own = upper[("extend-select",)]
        merged[("extend-select",)] = own._replace(value=[*added, *own.value])
    return merged


def _folder(spec: str) -> Path:
    return Path.cwd() if _stands_nowhere(spec) else Path(spec).absolute().parent


def _stands_nowhere(spec: str) -> bool:
    return spec == "-" or spec.startswith(NO_FILE_PREFIXES)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder that may not be entered
        return False


def _document(path: Path) -> Document | None:
    if path.name != PROJECT_FILE:
        return tomlfile.read(path, shown=_shown(path))
    return tomlfile.read(path, table=PROJECT_TABLE, shown=_shown(path))


def _shown(path: Path) -> str:
    """The path as people call it: relative where it lies in the current folder."""
    full = Path(os.path.normpath(path.absolute()))
    return full.relative_to(Path.cwd()).as_posix() if full.is_relative_to(Path.cwd()) else str(full)


def _read(path: Path, chain: tuple[Path, ...]) -> Layer:
    """The values of a settings file, over those of the files that it extends.

    Raises:
        SpecError: a file cannot be read, has an unknown key, rule or value, or extends itself.
    """
    document = _document(path)
    if document is None:
        raise SpecError("it has no table `[tool.sextant]`; add one, or name another file.", file=_shown(path))
    _refuse_underscores(document)
    found = validate(document, FileSettings)
    _refuse_unknown_rules(document, found)
    own = dict(_layer(document, path.absolute().parent))
    if found.extend is None:
        return own
    chain = (*chain, path.resolve())
    parent = path.parent / Path(found.extend).expanduser()
    if parent.resolve() in chain:
        raise document.error(f"`extend` leads back to `{_shown(parent)}`; cut the circle.", ("extend",))
    if not _is_file(parent):
        raise document.error(f"`extend`: there is no file `{_shown(parent)}`; correct the path.", ("extend",))
    return _over(own, _read(parent, chain))


def _layer(document: Document, folder: Path) -> Iterator[tuple[KeyPath, Setting]]:
    """Every value of the file at its own path: tables are taken apart, so that files are merged value by value."""
    depth = {"severity": 2, "per-file-ignores": 2, "thresholds": 3}
    for path, value in _leaves(document.data, (), depth):
        if path != ("extend",):
            yield path, Setting(value, document.file, document.span(path).line, folder)


def _leaves(data: Mapping[str, Any], path: KeyPath, depth: Mapping[str, int]) -> Iterator[tuple[KeyPath, Any]]:
    for key, value in data.items():
        at = (*path, key)
        if isinstance(value, dict) and len(at) < depth.get(str(at[0]), 1):
            yield from _leaves(value, at, depth)
        else:
            yield at, value


def _refuse_underscores(document: Document) -> None:
    """Keys are written with dashes; pydantic would take the names of the fields too."""
    for path, _ in _leaves(document.data, (), {"thresholds": 3}):
        for length, part in enumerate(path, 1):
            if "_" in str(part):
                message = f"unknown key `{part}`; did you mean `{kebab(str(part))}`?"
                raise document.error(message, path[:length])


def _refuse_unknown_rules(document: Document, found: FileSettings) -> None:
    lists: dict[KeyPath, tuple[str, ...] | None] = {
        ("select",): found.select,
        ("extend-select",): found.extend_select,
        ("ignore",): found.ignore,
    }
    lists |= {("per-file-ignores", glob): named for glob, named in (found.per_file_ignores or {}).items()}
    places: list[tuple[KeyPath, str]] = [
        ((*path, index), selector) for path, named in lists.items() for index, selector in enumerate(named or ())
    ]
    places += [(("severity", selector), selector) for selector in found.severity or ()]
    for path, selector in places:
        if message := unknown(selector):
            raise document.error(message, path)


def _globs_of(layer: Layer, spec: str) -> Iterator[KeyPath]:
    """The `per-file-ignores` of the layer that name the spec."""
    for path, setting in layer.items():
        if path[0] == "per-file-ignores" and matches(str(path[1]), _relative(spec, setting.folder)):
            yield path


def _relative(spec: str, folder: Path | None) -> str:
    if folder is None or _stands_nowhere(spec):
        return spec
    return Path(os.path.relpath(Path(spec).absolute(), folder)).as_posix()


def _resolved(file: str | None, layer: Layer, silenced: tuple[str, ...]) -> Resolved:
    data = _nested(layer)
    try:
        settings = Settings(
            select=tuple(data.get("select", (ALL,))),
            extend_select=tuple(data.get("extend-select", ())),
            ignore=(*data.get("ignore", ()), *silenced),
            severity=data.get("severity", {}),
            thresholds=Thresholds.model_validate(data.get("thresholds", {})),
        )
    except SpecError as error:
        raise _placed(error, layer) from None
    fail_on: FailOn = data.get("fail-on", get_args(FailOn)[0])
    return Resolved(settings, fail_on, file, layer)


def _nested(layer: Layer) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for path, setting in layer.items():
        table = data
        for part in path[:-1]:
            table = table.setdefault(str(part), {})
        table[str(path[-1])] = setting.value
    return data


def _placed(error: SpecError, layer: Layer) -> SpecError:
    """The error at the line of the value that caused it: the named key, or another of its table."""
    path = split_path(error.path or "")
    like = [key for key in layer if key[: len(path)] == path] or [key for key in layer if key[:2] == path[:2]]
    if not like or layer[like[0]].line is None:
        return error
    at = layer[like[0]]
    return SpecError(error.message, file=at.file, line=at.line, path=join_path(like[0]))


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'
