"""Signals that are chosen to be extreme: what inputs and training may reach within the declared ranges.

Pre-activations and parameters are driven far out, where gates saturate: random ones at several sizes, and queries that
are aligned with every key, opposite to it, orthogonal to a common mean, loud, or silent. None of them is how training
starts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from workers.initial import initial_parameters, normal
from workers.realise import raw_shapes, realise
from workers.signals import Signals

TOKENS = 4
SIZES = (0.0, 0.3, 1.0, 3.0, 30.0, 1e5)  # of the pre-activations
USUAL = SIZES[2]  # where the scores are as at the start
FARTHEST = SIZES[-1]
FAR = 40.0  # how far parameters of decays and gates move, in standard deviations
PATTERNS = ("random", "aligned", "opposite", "balanced", "loud query", "silent query")
LOOSENED = "loosened"  # aligned queries, and gains that training moves let loose as well
BATCH = 6  # sequences of random pre-activations
STEERED = ("decay", "gate", "angle", "second", "bonus", "table")  # beginnings of the names of parameters driven far out
GROWN = ("q_static", "k_static")  # parameters that grow with the size
LOOSE = ("q_gain", "k_gain", "base")  # gains that only training moves
FIXED = ("v", "log_eta")  # exp(n_i) is positive at any size, and underflows at large ones
BALANCED = 1e-4  # of the size: what the entries of a balanced vector add up to


@dataclass(frozen=True)
class Extreme:
    """Signals of one pattern at one size of the pre-activations."""

    pattern: str
    size: float
    signals: Signals


def extremes(spec: MixerSpec, *, seed: int, sizes: tuple[float, ...] = SIZES) -> Iterator[Extreme]:
    """Signals of every pattern at every size."""
    start = initial_parameters(spec, seed=seed)
    far = {name: normal(tuple(value.shape), seed=seed, name=f"far {name}") for name, value in start.items()}
    unit = {
        name: normal((BATCH, TOKENS * shape.steps, shape.heads, shape.width), seed=seed, name=name)
        for name, shape in raw_shapes(spec).items()
    }
    for pattern in PATTERNS:
        raws = unit if pattern == "random" else {name: value[:1] for name, value in unit.items()}
        for size in sizes:
            parameters = {name: _moved(pattern, name, value, far[name], size) for name, value in start.items()}
            yield Extreme(pattern, size, realise(spec, _raw(pattern, size, raws), parameters))
            if pattern == "aligned":
                loose = {name: value * (1.0 + size if name in LOOSE else 1.0) for name, value in parameters.items()}
                yield Extreme(LOOSENED, size, realise(spec, _raw(pattern, size, raws), loose))


def _moved(pattern: str, name: str, start: Tensor, far: Tensor, size: float) -> Tensor:
    """Parameters at random far places; all far up with aligned queries, all far down with opposite ones."""
    if name in GROWN:
        return start * size
    if not name.startswith(STEERED):
        return start
    match pattern:
        case "aligned":
            return start + FAR * far.abs()
        case "opposite":
            return start - FAR * far.abs()
        case _:
            return start + FAR * far


def _raw(pattern: str, size: float, unit: dict[str, Tensor]) -> dict[str, Tensor]:
    """Pre-activations of one pattern; queries and keys of `aligned` and `opposite` have entries of one size."""
    raw = {name: value if name in FIXED else size * value for name, value in unit.items()}
    if pattern == "random" or "q" not in raw or "k" not in raw:
        return raw
    if pattern == "silent query":
        return raw | {"q": 0.0 * unit["q"], "k": unit["k"]}
    if pattern == "balanced":
        return raw | {name: size * _balanced(unit[name]) for name in ("q", "k")}
    sign = unit["k"][:, :1, :1].sign()
    if pattern == "loud query":
        return raw | {"k": unit["k"]}
    side = 1.0 if pattern == "aligned" else -1.0
    straight = {"q": side * size * sign.expand_as(unit["q"]), "k": size * sign.expand_as(unit["k"])}
    return raw | straight | {name: raw[name].abs() for name in ("q_factor", "k_factor") if name in raw}


def _balanced(x: Tensor) -> Tensor:
    """Entries of alternating sign that add up to next to nothing."""
    sign = torch.ones(x.shape[-1], dtype=x.dtype)
    sign[1::2] = -1.0
    return (sign - sign.mean() + BALANCED).expand_as(x)


def by_draw(values: Sequence[float], draws: int, pick: Callable[[Sequence[float]], float]) -> list[float]:
    """The largest (or smallest) number of each draw; every draw has made as many numbers, one after the other."""
    each = len(values) // draws
    return [pick(values[draw * each : (draw + 1) * each]) for draw in range(draws)]
