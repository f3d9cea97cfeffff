"""Changing single fields of a frozen mixer, and the numbers of a canonical form."""

from functools import lru_cache
from typing import Any

from designspace.mixer import MixerSpec
from designspace.spec import replaced

NOISE = 2.0e-15  # relative; a few units in the last place of a float64
CACHE = 4096  # numbers: a rewriting looks at the same few again and again
SIGNIFICANT_DIGITS = 12  # of every number in a canonical form (architecture.md, spec file)


def changed(mixer: MixerSpec, part: str, **fields: Any) -> MixerSpec:
    """The mixer with `fields` of `part`; the same object where they have these values already."""
    before = getattr(mixer, part)
    for name, value in fields.items():
        if getattr(before, name) != value:
            return replaced(mixer, {part: replaced(before, fields)})
    return mixer


@lru_cache(CACHE)
def rounded(number: float) -> float:
    """The number to 12 significant digits; -0.0 becomes 0.0."""
    return float(f"{number:.{SIGNIFICANT_DIGITS}g}") + 0.0


def snapped(number: float) -> float:
    """The number of 12 digits that this is but for floating-point noise (0.1 + 0.2), or the number itself."""
    near = rounded(number)
    return near if abs(number - near) <= NOISE * abs(near) else number


def is_one(number: float) -> bool:
    """1 to 12 significant digits."""
    return rounded(number) == 1.0
