"""Fixes that several rules share, and the round numbers that a fix writes."""

import math

from checkers.finding import Fix, setting
from checkers.rule import Site
from designspace.spec import Range


def rounded_down(value: float, digits: int) -> float:
    """The largest number of so many significant digits that is not above `value`; 0 for 0."""
    if value == 0.0:
        return 0.0
    place = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, place)
    return rounded if rounded <= value else round(rounded - 10.0**-place, place)


def lasting_factor(seq_len: int, part: float) -> float:
    """A decay whose half-life is at least `part` of the length: 1 - ln 2 / (part L), and a round number above it."""
    forgotten = -math.expm1(-math.log(2.0) / (part * seq_len))
    return 1.0 - rounded_down(forgotten, 1) if forgotten < 1.0 else 0.5


def lasting_start(site: Site) -> Fix | None:
    """The unsafe fix that ends the initial range at a factor that lasts, and the declared one where that ends below."""
    decay = site.mixer.decay
    factor = lasting_factor(site.target.seq_len, site.thresholds.short_horizon.wanted_fraction)
    values = {site.at("decay.range[1]"): factor} if decay.range[1] < factor else {}
    if decay.initial is not None:
        values[site.at("decay.initial[1]")] = factor
    start = decay.initial or decay.range
    return setting("unsafe", values) if start[0] <= factor else None


def narrowed_decay(site: Site, *, low: float = 0.0, high: float = math.inf, start: float | None = None) -> Fix | None:
    """The unsafe fix that keeps the decay in [low, high]; None where the declared ranges lie outside.

    Args:
        start: upper end of the initial range where it has to come down, `high` if not given.
    """
    decay = site.mixer.decay
    start = high if start is None else start
    values: dict[str, float] = {}
    for name, declared in (("range", decay.range), ("initial", decay.initial)):
        if declared is None:
            continue
        top = start if name == "initial" and declared[1] > high else high
        new: Range = (max(declared[0], low), min(declared[1], top))
        if new[0] > new[1]:
            return None
        values |= {site.at(f"decay.{name}[{end}]"): new[end] for end in (0, 1) if new[end] != declared[end]}
    return setting("unsafe", values)
