"""Finds the units (rules, catalogue entries, tasks, samplers, formats, forms) of a folder: one file is one unit."""

import importlib
import pkgutil
from functools import cache
from typing import TypeVar

Unit = TypeVar("Unit")


@cache
def names(package: str) -> tuple[str, ...]:
    """Names of the units in `package`, sorted; no unit is imported."""
    path = importlib.import_module(package).__path__
    return tuple(sorted(module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_")))


def load_unit(package: str, name: str, attribute: str, kind: type[Unit]) -> Unit:
    """The unit in `package/name.py`.

    Raises:
        TypeError: the file has no `attribute`, or one that is not a `kind`.
    """
    unit = getattr(importlib.import_module(f"{package}.{name}"), attribute, None)
    if not isinstance(unit, kind):
        raise TypeError(f"{package}/{name}.py must define `{attribute}` as a {kind.__name__}, got {unit!r}.")
    return unit


def discover(package: str, attribute: str, kind: type[Unit]) -> dict[str, Unit]:
    """Every unit of `package` by file name, in sorted order."""
    return {name: load_unit(package, name, attribute, kind) for name in names(package)}
