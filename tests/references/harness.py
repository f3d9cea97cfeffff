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

Where a layer of the entry holds several mixers, `mixer` is their `Parallel`, names start with the number of the branch
(`0.q`, `1.decay_bias`) and `parameters["weights"]` are those of the branches.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from designspace import catalogue
from designspace.composition import Parallel
from designspace.mixer import MixerSpec
from designspace.units import names
from tests.references import compositions
from tests.references.draws import Raw as Raw
from tests.references.draws import draw
from workers.coefficients import outputs
from workers.realise import realise

Formula = Callable[[Any, Raw, Raw], Tensor]
PACKAGE = "tests.references.formulas"
SEQ_LEN = 19
TOLERANCE = 1e-10  # of float64 against float64, relative to the largest output


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


@dataclass(frozen=True)
class Inputs:
    """What a formula and the code under test are both given."""

    mixer: MixerSpec | Parallel
    raw: dict[str, Tensor]
    parameters: dict[str, Tensor]


def inputs(found: Reference, *, seed: int, seq_len: int = SEQ_LEN) -> Inputs:
    """Random numbers for the mixers of an entry at test sizes."""
    composed = composition(found)
    if composed is None:
        mixer = small(catalogue.get(found.name).mixer, **found.small)
        return Inputs(mixer, *draw(mixer, seed=seed, seq_len=seq_len))
    return Inputs(composed, *compositions.draw(composed, seed=seed, seq_len=seq_len))


def composition(found: Reference) -> Parallel | None:
    """The branches of an entry whose layer holds several mixers, at test sizes; else None."""
    parallel = catalogue.get(found.name).candidate.blocks[0].mixer
    if not isinstance(parallel, Parallel):
        return None
    sizes = {key: value for key, value in found.small.items() if key != "row_length"}
    branches = tuple(small(branch, **sizes) for branch in parallel.parallel)
    row_length = found.small.get("row_length", parallel.row_length)
    return Parallel.model_validate(parallel.model_copy(update={"parallel": branches, "row_length": row_length}))


def ours(given: Inputs) -> Tensor:
    """y [batch, seq_len, num_heads, head_dim] before the output stage: of the definition, through the one path that
    models use; for several mixers of the module that merges them.
    """
    if isinstance(given.mixer, Parallel):
        return compositions.merged(given.mixer, given.raw, given.parameters)
    return outputs(given.mixer, realise(given.mixer, given.raw, given.parameters))


def formula_error(found: Reference, *, seed: int, seq_len: int) -> float:
    """Difference of our y and that of the formula on random numbers, relative to the largest output."""
    given = inputs(found, seed=seed, seq_len=seq_len)
    return error(ours(given), found.formula(given.mixer, given.raw, given.parameters))


def small(
    mixer: MixerSpec, *, num_heads: int = 4, state_dim: int = 8, head_dim: int = 3, **fields: dict[str, Any]
) -> MixerSpec:
    """The mixer at test sizes; sharing of streams stays where there was any (two groups).

    Args:
        fields: further keys to replace, field by field.
    """
    data = mixer.model_dump(mode="json")
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
