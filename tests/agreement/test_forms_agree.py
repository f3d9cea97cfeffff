"""Every form equals the definition on random valid mixers: values, gradients, non-finite entries, causality."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from designspace.entry import Entry
from designspace.mixer import MixerSpec
from designspace.readout import degree
from designspace.units import discover
from tests.strategies import random_mixer
from workers import coefficients as definition
from workers.form import Form
from workers.forms import quadratic, recurrent
from workers.initial import normal, random_parameters, raw_std
from workers.realise import random_signals, raw_shapes, realise
from workers.signals import Signals

FORMS = (quadratic.form, recurrent.form)
LENGTHS = (1, 2, 17, 64)
FLOAT64, FLOAT32 = 1e-9, 1e-4  # times max(1, condition), and times |v|
BATCH = 2
GROUPS = 10  # random mixers are tested in groups, so that a failure names few seeds
ROW_MAX = {"execution": {"stabiliser": "row_max"}}  # `none` may overflow: that is what it says
OF_PARAMETERS = ("table", "base", "taps", "bonus", "skip", "sink")  # signals without a position
SMALL = {"num_heads": 2, "state_dim": 4, "head_dim": 3, "kv_groups": None}


def catalogue_mixers() -> dict[str, MixerSpec]:
    """Every distinct mixer of the catalogue, with small heads."""
    found = {}
    for name, entry in discover("designspace.catalogue", "entry", Entry).items():
        mixers = {mixer for block in entry.candidate.blocks for mixer in mixers_of(block.mixer)}
        found |= {f"{name}-{at}": small(mixer) for at, mixer in enumerate(sorted(mixers, key=repr))}
    return found


def mixers_of(mixer: Any) -> list[MixerSpec]:
    """The mixers of one block: none, one, or the branches that run in parallel."""
    if mixer is None or isinstance(mixer, MixerSpec):
        return [] if mixer is None else [mixer]
    return list(mixer.branches)


def small(mixer: MixerSpec) -> MixerSpec:
    """The same function with few and narrow heads."""
    data = mixer.model_dump()
    data["heads"] |= SMALL
    if mixer.heads.layout == "channel":
        data["heads"] |= {"head_dim": 1}
    if mixer.heads.state_dim == 1:
        data["heads"] |= {"state_dim": 1}
    if isinstance(mixer.shear.slopes, tuple):
        data["shear"] |= {"slopes": mixer.shear.slopes[: SMALL["num_heads"]]}
    return MixerSpec.model_validate(data)


def seeds(count: int, group: int) -> Iterator[int]:
    """The seeds of one group among `count` random mixers."""
    return iter(range(group, count, GROUPS))


def signals_are_finite(signals: Signals) -> bool:
    """False where eps = 0 met a zero vector: then there is nothing to compare but the fact."""
    return all(bool(x.isfinite().all()) for x in vars(signals).values() if x is not None)


def condition(alpha: Tensor) -> float:
    """Largest row sum of |phi| / |eta|, at least 1."""
    return max(1.0, float(torch.where(alpha.isfinite(), alpha, 0.0).abs().sum(-1).max()))


def is_certified(spec: MixerSpec) -> bool:
    """No product of steps grows: theory.md section 2, P6.2."""
    bound = 1.0 if spec.erase.direction == "free" else spec.key_norm_bound
    contracts = bound is not None and spec.erase.gain[1] * bound <= 2.0 and not spec.erase.per_channel
    return spec.decay.hull[1] <= 1.0 and spec.lift.kind != "momentum" and (spec.erase.is_identity or contracts)


def growth(spec: MixerSpec, signals: Signals) -> float:
    """Largest norm of a product of steps, at least 1, to the degree of the readout.

    The stated condition, max row sum |phi| / |eta|, does not see a state that grows and shrinks again in between.
    """
    if is_certified(spec) or spec.support.mask == "none" or spec.lift.kind == "shift":
        return 1.0
    largest, products = 1.0, definition.transition(spec, signals, 0)[None]
    for step in range(1, signals.k.shape[1]):
        matrix = definition.transition(spec, signals, step)
        products = torch.cat([matrix @ products, matrix[None]])
        largest = max(largest, float(torch.linalg.matrix_norm(products, 2).max()))
    return largest ** (degree(spec.readout) or 1)


def difference(found: Tensor, expected: Tensor) -> float:
    """Largest difference over the finite entries; infinite where the others do not coincide."""
    if not torch.equal(found.isfinite(), expected.isfinite()):
        return float("inf")
    return float(torch.where(expected.isfinite(), found - expected, 0.0).abs().max())


def disagreement(spec: MixerSpec, signals: Signals, tolerance: float) -> str | None:
    """What differs between the definition and a form by more than the tolerance."""
    alpha = definition.coefficients(spec, signals)
    expected = definition.outputs(spec, signals)
    allowed = tolerance * condition(alpha) * growth(spec, signals) * max(1.0, float(signals.v.abs().max()))
    found = {"quadratic alpha": difference(quadratic.coefficients(spec, signals), alpha)}
    found |= {
        form.name: difference(form.apply(spec, signals), expected)
        for form in FORMS
        if form.invalid_reason(spec) is None
    }
    wrong = {name: error for name, error in found.items() if not error <= allowed}
    return f"{wrong} > {allowed} for {spec.model_dump(exclude_defaults=True)}" if wrong else None


@pytest.mark.parametrize("seq_len", LENGTHS)
@pytest.mark.parametrize("group", range(GROUPS))
def test_forms_equal_the_definition_in_float64(seq_len: int, group: int) -> None:
    for seed in seeds(100 if seq_len == max(LENGTHS) else 200, group):
        spec = random_mixer(seed, fixed=ROW_MAX)
        signals = random_signals(spec, seed=seed, batch=BATCH, seq_len=seq_len)
        if signals_are_finite(signals):
            assert disagreement(spec, signals, FLOAT64) is None, seed
        else:
            results = [form.apply(spec, signals) for form in FORMS if form.invalid_reason(spec) is None]
            assert not any(y.isfinite().all() for y in (definition.outputs(spec, signals), *results)), seed
