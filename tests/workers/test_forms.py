"""The definition and the forms against second formulas: published recurrences, torch functions, closed sums."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.units import discover
from tests.strategies import random_mixer
from workers import coefficients as definition
from workers import terms
from workers.form import Form
from workers.forms import quadratic, recurrent
from workers.phi import phi
from workers.signals import Signals
from workers.transition import phases

SEQ_LEN, HEADS, KEY, VALUE = 9, 2, 4, 3
SIZES = {"num_heads": HEADS, "state_dim": KEY, "head_dim": VALUE}
TOLERANCE = 1e-12  # float64


def mixer(**fields: Any) -> MixerSpec:
    """A small mixer with base 1 unless `scaling` is given."""
    return MixerSpec.model_validate({"heads": SIZES, "scaling": {"base": 1.0}} | fields)


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def signals(**more: Tensor) -> Signals:
    """Random q, k, v with the given signals."""
    q, k = draw(2, SEQ_LEN, HEADS, KEY, seed=1), draw(2, SEQ_LEN, HEADS, KEY, seed=2)
    return Signals(**{"q": q, "k": k, "v": draw(2, SEQ_LEN, HEADS, VALUE, seed=3)} | more)


def open_gate(seed: int) -> Tensor:
    """A gate in (0, 1) per token and head."""
    return draw(2, SEQ_LEN, HEADS, seed=seed).sigmoid()


def assert_all_forms_give(expected: Tensor, spec: MixerSpec, given: Signals) -> None:
    """The definition and every form that the spec has."""
    torch.testing.assert_close(definition.outputs(spec, given), expected, rtol=0, atol=TOLERANCE * 10)
    for form in (quadratic.form, recurrent.form):
        if form.invalid_reason(spec) is None:
            torch.testing.assert_close(form.apply(spec, given), expected, rtol=0, atol=TOLERANCE * 10)


def outer(key: Tensor, value: Tensor) -> Tensor:
    """k v^T per batch and head."""
    return key[..., :, None] * value[..., None, :]


def read(query: Tensor, state: Tensor) -> Tensor:
    """q^T S per batch and head."""
    return torch.einsum("bhn,bhnd->bhd", query, state)


def test_both_forms_are_found() -> None:
    assert set(discover("workers.forms", "form", Form)) >= {"quadratic", "recurrent"}


def test_exponential_readout_with_row_sum_is_softmax_attention() -> None:
    given = signals()
    spec = mixer(readout={"kind": "exponential"}, normalization={"kind": "sum"}, scaling={"base": "n^-1/2"})
    q, k, v = (x.transpose(1, 2) for x in (given.q, given.k, given.v))
    assert_all_forms_give(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2), spec, given)


def test_momentum_is_the_heavy_ball_update() -> None:
    given = signals(
        gain=open_gate(4)[..., None], momentum=open_gate(5), rate=open_gate(6), log_decay=open_gate(7).log()[..., None]
    )
    spec = mixer(
        erase={"direction": "key"},
        lift={"kind": "momentum"},
        decay={"granularity": "scalar"},
        scaling={"base": 1.0, "gate": "tied_to_erase"},
    )
    state = velocity = torch.zeros(2, HEADS, KEY, VALUE, dtype=torch.float64)
    expected = []
    for t in range(SEQ_LEN):
        k, v = given.k[:, t], given.v[:, t]
        velocity = open_gate(5)[:, t, :, None, None] * velocity + open_gate(6)[:, t, :, None, None] * outer(
            k, read(k, state) - v
        )
        state = open_gate(7)[:, t, :, None, None] * state - open_gate(4)[:, t, :, None, None] * velocity
        expected.append(read(given.q[:, t], state))
    assert_all_forms_give(torch.stack(expected, dim=1), spec, given)


def test_delay_is_the_trapezoidal_recurrence() -> None:
    decay, gate, tap = open_gate(4), open_gate(5), open_gate(6)
    given = signals(log_decay=decay.log()[..., None], gate=gate, tap=tap)
    spec = mixer(decay={"granularity": "scalar"}, lift={"kind": "delay1"}, scaling={"base": 1.0, "gate": "sigmoid"})
    state = torch.zeros(2, HEADS, KEY, VALUE, dtype=torch.float64)
    previous, expected = torch.zeros_like(state), []
    for t in range(SEQ_LEN):
        write = outer(given.k[:, t], given.v[:, t])
        a, g, late = (x[:, t, :, None, None] for x in (decay, gate, tap))
        state = a * state + late * a * previous + g * write
        previous = write
        expected.append(read(given.q[:, t], state))
    assert_all_forms_give(torch.stack(expected, dim=1), spec, given)


def test_fenwick_reads_one_state_per_block_of_the_past() -> None:
    decay, levels = open_gate(4), draw(2, SEQ_LEN, HEADS, 5, seed=5).exp()
    given = signals(log_decay=decay.log()[..., None], levels=levels)
    spec = mixer(decay={"granularity": "scalar"}, lift={"kind": "fenwick"})
    expected = []
    for i in range(SEQ_LEN):
        blocks, end = [(0, i, i + 1)], i
        while end:
            size = end & -end
            blocks.append((size.bit_length(), end - size, end))
            end -= size
        total = torch.zeros(2, HEADS, VALUE, dtype=torch.float64)
        for level, start, stop in blocks:
            for j in range(start, stop):
                stored = decay[:, j + 1 : i + 1].prod(1)[..., None, None] * outer(given.k[:, j], given.v[:, j])
                total = total + levels[:, i, :, level, None] * read(given.q[:, i], stored)
        expected.append(total)
    assert_all_forms_give(torch.stack(expected, dim=1), spec, given)


def test_shift_of_ones_is_a_causal_convolution() -> None:
    ones, taps = torch.ones(2, SEQ_LEN, HEADS, 1, dtype=torch.float64), draw(HEADS, 1, 5, seed=4)
    value = draw(2, SEQ_LEN, HEADS, 1, seed=3)
    spec = mixer(
        lift={"kind": "shift", "width": 5},
        features={"map": "ones"},
        heads={"layout": "channel", "num_heads": HEADS, "state_dim": 1, "head_dim": 1},
    )
    padded = F.pad(value[..., 0].transpose(1, 2), (4, 0))
    expected = F.conv1d(padded, taps.flip(-1), groups=HEADS).transpose(1, 2)[..., None]
    assert_all_forms_give(expected, spec, Signals(q=ones, k=ones, v=value, taps=taps))


def test_decay_with_rotation_is_a_complex_geometric_filter() -> None:
    radius, angle = 0.9, 0.7
    unit = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(1, SEQ_LEN, 1, 2)
    given = Signals(
        q=unit,
        k=unit,
        v=draw(1, SEQ_LEN, 1, 1),
        log_decay=torch.full((1, SEQ_LEN, 1, 1), math.log(radius), dtype=torch.float64),
        angle=torch.full((1, SEQ_LEN, 1, 1), angle, dtype=torch.float64),
    )
    spec = mixer(
        decay={"granularity": "scalar", "source": "learned"},
        rotation={"source": "learned"},
        heads={"num_heads": 1, "state_dim": 2, "head_dim": 1},
    )
    state, expected = 0j, []
    for value in given.v[0, :, 0, 0].tolist():
        state = radius * complex(math.cos(angle), math.sin(angle)) * state + value
        expected.append(state.real)
    assert_all_forms_give(torch.tensor(expected, dtype=torch.float64)[None, :, None, None], spec, given)


@pytest.mark.parametrize("kind", ["exponential", "polynomial"])
def test_constant_shear_is_alibi(kind: str) -> None:
    slope = torch.tensor([0.5, 0.25], dtype=torch.float64)
    given = signals(shear=-slope.expand(1, SEQ_LEN, HEADS))
    extra = {"coefficients": [1.0, 0.5, 0.25]} if kind == "polynomial" else {}
    spec = mixer(readout={"kind": kind, **extra}, shear={"source": "constant", "slopes": slope.tolist()})
    lag = torch.arange(SEQ_LEN)[:, None] - torch.arange(SEQ_LEN)
    score = torch.einsum("bthn,bshn->bhts", given.q, given.k) - slope[:, None, None] * lag
    alpha = score.exp() if kind == "exponential" else 1.0 + 0.5 * score + 0.25 * score**2
    expected = torch.einsum("bhts,bshd->bthd", alpha.tril(), given.v)
    torch.testing.assert_close(quadratic.apply(spec, given), expected)
    torch.testing.assert_close(definition.outputs(spec, given), expected)
    if kind == "polynomial":
        torch.testing.assert_close(recurrent.apply(spec, given), expected)


def test_table_adds_one_number_per_lag() -> None:
    table = draw(HEADS, 3, seed=5)
    spec = mixer(readout={"kind": "sigmoid"}, shear={"source": "table", "width": 3})
    given = signals(table=table)
    by_lag = [torch.diag(torch.ones(SEQ_LEN - lag, dtype=torch.float64), -lag) for lag in range(3)]
    bias = torch.einsum("hl,lij->hij", table, torch.stack(by_lag))
    alpha = torch.sigmoid(torch.einsum("bthn,bshn->bhts", given.q, given.k) + bias).tril()
    assert_all_forms_give(torch.einsum("bhts,bshd->bthd", alpha, given.v), spec, given)


@pytest.mark.parametrize("kind", ["visible", "target"])
def test_sigmoid_offset_is_minus_log_of_the_length(kind: str) -> None:
    given = signals()
    spec = mixer(readout={"kind": "sigmoid", "offset": "-log_length"}, normalization={"length_kind": kind})
    length = torch.arange(1, SEQ_LEN + 1) if kind == "visible" else torch.full((SEQ_LEN,), 100)
    score = torch.einsum("bthn,bshn->bhts", given.q, given.k)
    expected = torch.sigmoid(score - length.double().log()[:, None]).tril()
    torch.testing.assert_close(definition.coefficients(spec, given, target_len=100), expected)
    torch.testing.assert_close(quadratic.coefficients(spec, given, target_len=100), expected)


def test_additive_exponential_scores_have_a_recurrence() -> None:
    q, k = torch.ones(2, SEQ_LEN, HEADS, 1, dtype=torch.float64), torch.ones(2, SEQ_LEN, HEADS, 1, dtype=torch.float64)
    gate = 1000.0 * open_gate(4)
    given = signals(q=q, k=k, gate=gate, shear=-100.0 * open_gate(5))
    spec = mixer(
        readout={"kind": "exponential"},
        features={"map": "ones"},
        shear={"source": "input"},
        scaling={"base": 1.0, "gate": "exp"},
        normalization={"kind": "sum"},
        heads=SIZES | {"state_dim": 1},
    )
    assert recurrent.invalid_reason(spec) is None
    reach = (-100.0 * open_gate(5)).cumsum(1)
    score = (gate - reach)[:, None] + reach[:, :, None]
    alpha = score.permute(0, 3, 1, 2).masked_fill(torch.ones(SEQ_LEN, SEQ_LEN).triu(1).bool(), -math.inf).softmax(-1)
    assert_all_forms_give(torch.einsum("bhts,bshd->bthd", alpha, given.v), spec, given)


@pytest.mark.parametrize("stabiliser", ["row_max", "none"])
def test_only_a_stabiliser_keeps_large_scores_finite_in_float32(stabiliser: str) -> None:
    given = signals(q=100.0 * draw(2, SEQ_LEN, HEADS, KEY), k=draw(2, SEQ_LEN, HEADS, KEY, seed=1))
    spec = mixer(readout={"kind": "exponential"}, normalization={"kind": "sum"}, execution={"stabiliser": stabiliser})
    single = Signals(q=given.q.float(), k=given.k.float(), v=given.v.float())
    assert bool(quadratic.apply(spec, single).isfinite().all()) == (stabiliser == "row_max")
    assert bool(definition.outputs(spec, given).isfinite().all())


def test_masked_scores_give_no_gradient_even_where_they_overflow() -> None:
    q = (1000.0 * torch.ones(1, 4, 1, 1)).requires_grad_()
    k = torch.tensor([1.0, 2.0, 3.0, 4.0]).reshape(1, 4, 1, 1).requires_grad_()
    spec = mixer(
        readout={"kind": "exponential"},
        normalization={"kind": "sum"},
        support={"window": 2},
        heads={"num_heads": 1, "state_dim": 1, "head_dim": 1},
    )
    y = quadratic.apply(spec, Signals(q=q, k=k, v=torch.ones(1, 4, 1, 1)))
    gradients = torch.autograd.grad(y[:, 1].sum(), (q, k))
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert gradients[1][:, 2:].abs().max() == 0


def test_an_empty_first_row_is_not_hidden() -> None:
    spec = mixer(support={"mask": "strict"}, normalization={"kind": "sum"})
    for y in (f(spec, signals()) for f in (definition.outputs, quadratic.apply, recurrent.apply)):
        assert not y[:, 0].isfinite().any()
        assert y[:, 1:].isfinite().all()


def test_a_missing_signal_is_named() -> None:
    spec = mixer(decay={"granularity": "scalar"})
    for compute in (definition.outputs, quadratic.apply, recurrent.apply):
        with pytest.raises(ValueError, match="log_decay"):
            compute(spec, signals())


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"readout": {"kind": "exponential"}}, "readout.kind"),
        ({"readout": {"kind": "identity", "softcap": 3.0}}, "readout.kind"),
        ({"support": {"window": 4}}, "support.window"),
        ({"support": {"mask": "none"}}, "support.mask"),
        ({"lift": {"kind": "fenwick"}}, "lift.kind"),
        ({"readout": {"kind": "relu"}, "shear": {"source": "table", "width": 2}}, "readout.kind"),
        (
            {
                "readout": {"kind": "polynomial", "coefficients": [0, 1, 1]},
                "shear": {"source": "table", "width": 2},
            },
            "shear.source",
        ),
        (
            {
                "readout": {"kind": "polynomial", "coefficients": [0, 0, 0, 0, 1]},
                "heads": SIZES | {"state_dim": 64},
            },
            "rows",
        ),
    ],
)
def test_the_recurrent_form_says_why_not(fields: dict[str, Any], named: str) -> None:
    spec = mixer(**fields)
    assert named in (recurrent.invalid_reason(spec) or "")
    with pytest.raises(ValueError, match="no recurrent form"):
        recurrent.apply(spec, signals())


@pytest.mark.parametrize("seed", range(40))
def test_the_mask_counts_the_visible_keys(seed: int) -> None:
    spec = random_mixer(seed)
    counted = terms.support_mask(spec, SEQ_LEN).sum(-1) // spec.erase.rank
    assert counted.tolist() == [spec.support.visible(position, SEQ_LEN) for position in range(SEQ_LEN)]


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "identity"},
        {"kind": "identity", "softcap": 2.0},
        {"kind": "polynomial", "coefficients": [1.0, -0.5, 0.0, 2.0]},
        {"kind": "exponential"},
        {"kind": "exponential", "softcap": 3.0},
        {"kind": "sigmoid", "offset": -1.5},
        {"kind": "relu", "power": 2},
        {"kind": "softplus"},
    ],
)
def test_phi_equals_the_scalar_readout(fields: dict[str, Any]) -> None:
    readout = mixer(readout=fields).readout
    grid = torch.linspace(-30.0, 30.0, 121, dtype=torch.float64)
    offset = torch.tensor(fields.get("offset", 0.0), dtype=torch.float64)
    expected = torch.tensor([readouts.value(readout, z) for z in grid.tolist()], dtype=torch.float64)
    torch.testing.assert_close(phi(readout, grid, offset), expected, rtol=1e-12, atol=1e-15)


def test_phases_keep_their_digits_over_long_sequences() -> None:
    angle = torch.full((1, 20_000, 1, 1), 1.0, dtype=torch.float32)
    exact = torch.arange(1, 20_001, dtype=torch.float64)
    assert (torch.cos(phases(angle)[0, :, 0, 0]).double() - torch.cos(exact)).abs().max() < 1e-6
