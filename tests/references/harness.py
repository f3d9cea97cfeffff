"""What every formula of tests/references/formulas is compared through: a small mixer, raw numbers, our outputs.

A formula file is named as its catalogue entry; its docstring says in the first line how the entry is verified and from
which paper and equation. It defines

    def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor

which returns y [batch, seq_len, num_heads, head_dim] in float64 before the output stage, computed from the same
pre-activations (`designspace.streams.raw_shapes`) and parameters (`parameter_shapes`) in another form than
`workers.coefficients`: a recurrence over a state, a closed form, a library call. It reads sizes from `mixer` and
nothing else: every constant of the paper (scale, maps, eps) stands in the formula itself. Two optional names:

    SMALL = {"num_heads": 8, "support": {"window": 5}}   test sizes that show what the paper's sizes would hide
    TOLERANCE = 1e-8   with the reason: the formula or the mixer is badly conditioned on random numbers
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from designspace import catalogue
from designspace.mixer import MixerSpec
from designspace.streams import raw_shapes
from designspace.units import names
from workers.coefficients import outputs
from workers.initial import normal, random_parameters
from workers.realise import realise

Raw = Mapping[str, Tensor]
Formula = Callable[[MixerSpec, Raw, Raw], Tensor]
PACKAGE = "tests.references.formulas"
BATCH, SEQ_LEN = 2, 19
TOLERANCE = 1e-10  # of float64 against float64, relative to the largest output
SHIFTED = ("decay_rate", "angle")  # and every bias: else left at their first values
SHIFT_STD = 0.3


@dataclass(frozen=True)
class Reference:
    """One formula file.

    Attributes:
        verified: how, in a phrase: the first line of the docstring.
        source: paper and equation: the rest of it.
        small: arguments of `small` beyond the defaults.
    """

    name: str
    verified: str
    source: str
    formula: Formula
    small: dict[str, Any]
    tolerance: float


def reference(name: str) -> Reference:
    """The reference formula of a catalogue entry.

    Raises:
        ValueError: the docstring does not say how it is verified and from which source.
    """
    module = importlib.import_module(f"{PACKAGE}.{name}")
    verified, _, source = (module.__doc__ or "").strip().partition("\n")
    if not source:
        raise ValueError(f"{PACKAGE}.{name}: the docstring must say how it is verified, then name paper and equation.")
    return Reference(
        name=name,
        verified=verified.strip().removesuffix("."),
        source=" ".join(source.split()),
        formula=module.formula,
        small=getattr(module, "SMALL", {}),
        tolerance=getattr(module, "TOLERANCE", TOLERANCE),
    )


def formulas() -> tuple[str, ...]:
    """Names of the formula files, sorted."""
    return names(PACKAGE)


def formula_error(found: Reference, *, seed: int, seq_len: int) -> float:
    """Difference of the definition and the formula on random numbers, relative to the largest output."""
    mixer = small(found.name, **found.small)
    raw, parameters = draw(mixer, seed=seed, seq_len=seq_len)
    return error(ours(mixer, raw, parameters), found.formula(mixer, raw, parameters))


def small(
    name: str, *, num_heads: int = 4, state_dim: int = 8, head_dim: int = 3, **fields: dict[str, Any]
) -> MixerSpec:
    """The mixer of a catalogue entry at test sizes; sharing of streams stays where there was any (two groups).

    Args:
        fields: further keys to replace, field by field.
    """
    data = catalogue.get(name).mixer.model_dump(mode="json")
    heads = data["heads"]
    channel = heads["layout"] == "channel"
    shared = heads["kv_groups"] is not None and heads["kv_groups"] < heads["num_heads"]
    data["heads"] = heads | {
        "num_heads": num_heads,
        "state_dim": min(state_dim, heads["state_dim"]),
        "head_dim": 1 if channel else head_dim,
        "kv_groups": num_heads // 2 if shared else None,
    }
    for field, values in fields.items():
        data[field] = data[field] | values
    return MixerSpec.model_validate(data)


def draw(mixer: MixerSpec, *, seed: int, seq_len: int = SEQ_LEN) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Normal pre-activations [batch, seq_len * steps, streams, width] and random parameters, float64.

    No parameter stays where it starts, so that a formula cannot leave one out.
    """
    generator = torch.Generator().manual_seed(seed)
    raw = {
        name: torch.randn(
            BATCH, seq_len * shape.steps, shape.heads, shape.width, generator=generator, dtype=torch.float64
        )
        for name, shape in raw_shapes(mixer).items()
    }
    return raw, _moved(random_parameters(mixer, seed=seed), seed)


def _moved(parameters: Raw, seed: int) -> dict[str, Tensor]:
    """Parameters, with those that `random_parameters` leaves at their first values moved away from them."""
    found = {name: value.double() for name, value in parameters.items()}
    for name, value in found.items():
        if name in SHIFTED or name.endswith("_bias"):
            found[name] = value + SHIFT_STD * normal(tuple(value.shape), seed=seed, name=f"moved {name}")
    return found


def ours(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """y [batch, seq_len, num_heads, head_dim] by the definition, through the one path that models use."""
    return outputs(mixer, realise(mixer, raw, parameters))


def error(found: Tensor, expected: Tensor) -> float:
    """Largest difference relative to the largest entry.

    Raises:
        ValueError: the shapes differ, or `expected` is 0 everywhere: then nothing is compared.
    """
    if found.shape != expected.shape:
        raise ValueError(f"`found` has shape {tuple(found.shape)}, `expected` {tuple(expected.shape)}; compare equals.")
    if not expected.any():
        raise ValueError("`expected` is 0 everywhere; draw other numbers.")
    return float((found - expected).abs().max() / expected.abs().max())
