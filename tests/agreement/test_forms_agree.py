"""Every form equals the definition on random valid mixers: values, gradients, non-finite entries, causality."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from designspace.entry import Entry
from designspace.mixer import MixerSpec
from designspace.readout import monomials
from designspace.units import discover
from tests.strategies import random_mixer
from workers import coefficients as definition
from workers.form import Form
from workers.forms import quadratic, recurrent
from workers.initial import normal, random_parameters, raw_std
from workers.realise import random_signals, raw_shapes, realise
from workers.signals import Signals

FORMS = tuple(discover("workers.forms", "form", Form).values())
LENGTHS = (1, 2, 17, 64)
FLOAT64, FLOAT32 = 1e-9, 1e-4  # times max(1, condition), and times |v|
BATCH = 2
WELL_CONDITIONED = 100.0  # beyond it the row sum nearly vanishes, which is a finding (theory.md section 2, P6.3)
MAX_LIFTED = 500
GROUPS = 10  # random mixers are tested in groups, so that a failure names few seeds
ROW_MAX = {"execution": {"stabiliser": "row_max"}}  # `none` may overflow: that is what it says
OF_PARAMETERS = ("table", "base", "taps", "bonus", "skip", "sink")  # signals without a position
SMALL = {"num_heads": 2, "state_dim": 8, "head_dim": 3, "kv_groups": None, "latent_dim": None, "shared_key_dim": 0}


def catalogue_mixers() -> dict[str, MixerSpec]:
    """Every distinct mixer of the catalogue, with small heads."""
    found: dict[str, MixerSpec] = {}
    for name, entry in discover("designspace.catalogue", "entry", Entry).items():
        mixers = {repr(m): m for block in entry.candidate.blocks for m in mixers_of(block.mixer)}
        found |= {f"{name}-{at}": small(mixer) for at, (_, mixer) in enumerate(sorted(mixers.items()))}
    return found


def mixers_of(mixer: Any) -> list[MixerSpec]:
    """The mixers of one block: none, one, or the branches that run in parallel."""
    if mixer is None or isinstance(mixer, MixerSpec):
        return [] if mixer is None else [mixer]
    return list(mixer.parallel)


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


CATALOGUE = catalogue_mixers()


def seeds(count: int, group: int) -> Iterator[int]:
    """The seeds of one group among `count` random mixers."""
    return iter(range(group, count, GROUPS))


def forms_of(spec: MixerSpec) -> list[Form]:
    """The forms that the mixer has, without a recurrence whose lifted state makes a test slow."""
    is_large = (spec.lifted_dim or 0) > MAX_LIFTED
    return [f for f in FORMS if f.invalid_reason(spec) is None and not (f is recurrent.form and is_large)]


def is_defined(signals: Signals) -> bool:
    """False where a norm with eps = 0 met a zero vector. (The log of a decay 0 is -inf and defined.)"""
    return not any(bool(x.isnan().any()) for x in vars(signals).values() if x is not None)


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
    return largest ** max(monomials(spec.readout), default=1)


def difference(found: Tensor, expected: Tensor) -> float:
    """Largest difference over the finite entries; infinite where the others do not coincide."""
    if not torch.equal(found.isfinite(), expected.isfinite()):
        return float("inf")
    return float(torch.where(expected.isfinite(), found - expected, 0.0).abs().max())


def disagreement(spec: MixerSpec, signals: Signals, tolerance: float) -> str | None:
    """What differs between the definition and a form by more than the tolerance."""
    alpha = definition.coefficients(spec, signals)
    expected = torch.einsum("bhts,bshd->bthd", alpha, signals.v)
    allowed = tolerance * condition(alpha) * growth(spec, signals) * max(1.0, float(signals.v.abs().max()))
    found = {"quadratic alpha": difference(quadratic.coefficients(spec, signals), alpha)}
    found |= {form.name: difference(form.apply(spec, signals), expected) for form in forms_of(spec)}
    wrong = {name: error for name, error in found.items() if not error <= allowed}
    return f"{wrong} > {allowed} for {spec.model_dump(exclude_defaults=True)}" if wrong else None


@pytest.mark.parametrize("seq_len", LENGTHS)
@pytest.mark.parametrize("group", range(GROUPS))
def test_forms_equal_the_definition_in_float64(seq_len: int, group: int) -> None:
    for seed in seeds(200, group):
        spec = random_mixer(seed, fixed=ROW_MAX)
        signals = random_signals(spec, seed=seed, batch=BATCH, seq_len=seq_len)
        if is_defined(signals):
            assert disagreement(spec, signals, FLOAT64) is None, seed
            continue
        expected = bool(definition.outputs(spec, signals).isfinite().all())
        for form in forms_of(spec):
            assert bool(form.apply(spec, signals).isfinite().all()) == expected, seed


@pytest.mark.parametrize("seq_len", LENGTHS)
@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_forms_agree_in_float32_on_the_catalogue(name: str, seq_len: int) -> None:
    spec = CATALOGUE[name]
    signals = random_signals(spec, seed=seq_len, batch=BATCH, seq_len=seq_len)
    assert_float32_agrees(spec, signals)


@pytest.mark.parametrize("group", range(GROUPS))
def test_forms_agree_in_float32_on_random_mixers(group: int) -> None:
    compared = 0
    for seed in seeds(240, group):
        spec = random_mixer(seed, fixed=ROW_MAX)
        signals = random_signals(spec, seed=seed, batch=BATCH, seq_len=LENGTHS[seed % 4])
        sound = is_certified(spec) and is_defined(signals)
        if sound and condition(definition.coefficients(spec, signals)) <= WELL_CONDITIONED:
            assert_float32_agrees(spec, signals)
            compared += 1
    assert compared >= 10


def assert_float32_agrees(spec: MixerSpec, signals: Signals) -> None:
    """Each form in float32 against the definition in float64, over the rows that are finite there."""
    alpha = definition.coefficients(spec, signals)
    expected = torch.einsum("bhts,bshd->bthd", alpha, signals.v)
    allowed = FLOAT32 * condition(alpha) * max(1.0, float(signals.v.abs().max()))
    single = in_float32(signals)
    for form in forms_of(spec):
        error = difference(form.apply(spec, single).double(), expected)
        assert error <= allowed, (form.name, error, allowed, spec.model_dump(exclude_defaults=True))


def in_float32(signals: Signals) -> Signals:
    """The same signals in float32."""
    return Signals(**{name: value.float() for name, value in vars(signals).items() if value is not None})


@pytest.mark.parametrize("group", range(GROUPS))
def test_gradients_equal_those_of_the_definition(group: int) -> None:
    compared = 0
    for seed in seeds(50, group):
        spec = random_mixer(seed, fixed=ROW_MAX)
        expected = gradients(spec, seed, definition.outputs)
        if expected is None:
            continue
        for form in forms_of(spec):
            found = gradients(spec, seed, form.apply)
            assert found is not None, seed
            compared += 1
            for name, gradient in expected.items():
                error = difference(found[name], gradient)
                assert error <= FLOAT64 * max(1.0, largest(gradient)), (seed, form.name, name, error)
    assert compared >= 3


def gradients(spec: MixerSpec, seed: int, compute: Callable[..., Tensor]) -> dict[str, Tensor] | None:
    """Gradient of a random projection of the output to every pre-activation and parameter; None if it is not finite.

    Not to the signals themselves: some of those are tied (one decay per rotating pair).
    """
    std = raw_std(spec)
    leaves = {
        name: std[name] * normal((BATCH, 9 * shape.steps, shape.heads, shape.width), seed=seed, name=name).double()
        for name, shape in raw_shapes(spec).items()
    }
    names = tuple(leaves)
    leaves |= {name: value.double() for name, value in random_parameters(spec, seed=seed).items()}
    leaves = {name: value.detach().requires_grad_() for name, value in leaves.items()}
    signals = realise(spec, {n: leaves[n] for n in names}, {n: x for n, x in leaves.items() if n not in names})
    output = compute(spec, signals)
    if not output.isfinite().all():
        return None
    projection = normal(tuple(output.shape), seed=seed, name="projection").double()
    found = torch.autograd.grad((output * projection).sum(), list(leaves.values()), allow_unused=True)
    return {n: torch.zeros_like(x) if g is None else g for (n, x), g in zip(leaves.items(), found, strict=True)}


def largest(x: Tensor) -> float:
    """Largest finite absolute value."""
    return float(torch.where(x.isfinite(), x, 0.0).abs().max()) if x.numel() else 0.0


@pytest.mark.parametrize("group", range(GROUPS))
def test_later_tokens_never_change_an_output(group: int) -> None:
    compared = 0
    for seed in seeds(60, group):
        spec = random_mixer(seed, fixed=ROW_MAX)
        signals, other = (
            random_signals(spec, seed=s, batch=BATCH, seq_len=17, dtype=torch.float32) for s in (seed, seed + 1000)
        )
        if spec.support.mask == "none" or not (is_defined(signals) and is_defined(other)):
            continue
        changed = continued_by(signals, other, start=8)
        computed = [definition.outputs, *(form.apply for form in forms_of(spec))]
        for compute in computed:
            before, after = compute(spec, signals)[:, :8], compute(spec, changed)[:, :8]
            assert torch.equal(before.nan_to_num(), after.nan_to_num()), seed
        compared += 1
    assert compared >= 3


def continued_by(signals: Signals, other: Signals, *, start: int) -> Signals:
    """`signals` up to token `start`, `other` from there; parameters stay."""
    result: dict[str, Tensor] = {}
    for field in fields(signals):
        value, later = getattr(signals, field.name), getattr(other, field.name)
        if value is None or field.name in OF_PARAMETERS:
            continue
        steps = start * value.shape[1] // signals.q.shape[1]
        result[field.name] = torch.cat([value[:, :steps], later[:, steps:]], dim=1)
    return replace(signals, **result)
