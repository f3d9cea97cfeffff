"""Exponential gates under `stabiliser: running_max`: the same outputs, no overflow, one more number a head."""

from typing import Any

import pytest
import torch

from designspace.cost import mixer_cost
from designspace.mixer import MixerSpec
from designspace.streams import parameter_shapes
from designspace.target import Target
from workers import coefficients as definition
from workers.forms import recurrent
from workers.realise import random_signals, raw_shapes, realise
from workers.signals import Signals

HEADS: dict[str, Any] = {"num_heads": 2, "state_dim": 4, "head_dim": 3}
GATED: dict[str, Any] = {"scaling": {"gate": "exp", "base": 1.0}, "normalization": {"kind": "max_abs_sum_1"}}
SIGMOID = {"granularity": "scalar", "map": "sigmoid"}
KINDS: dict[str, dict[str, Any]] = {
    "mlstm": GATED | {"decay": SIGMOID},
    "key gate": {"scaling": {"gate": "exp_key"}, "features": {"map": "elu+1"}, "normalization": {"kind": "sum"}},
    "read before": GATED | {"decay": SIGMOID, "support": {"read": "before", "diagonal": "bonus"}},
    "strict": GATED | {"support": {"mask": "strict"}},
    "chunks": GATED | {"decay": SIGMOID, "support": {"chunk": 4}},
    "diagonal decay and rotation": GATED
    | {"decay": {"granularity": "diagonal", "map": "exp_exp"}, "rotation": {"source": "constant"}},
    "erase": GATED | {"erase": {"direction": "key"}, "features": {"norm": "l2"}},
    "micro-steps": GATED | {"erase": {"direction": "key", "rank": 2}, "features": {"norm": "l2"}, "decay": SIGMOID},
    "additive erase": GATED | {"erase": {"direction": "key", "compose": "additive"}, "decay": SIGMOID},
    "three degrees": GATED | {"readout": {"kind": "polynomial", "coefficients": [1.0, 0.5, 0.25]}, "decay": SIGMOID},
    "three degrees read before": GATED
    | {
        "readout": {"kind": "polynomial", "coefficients": [1.0, 0.5, 0.25]},
        "support": {"read": "before", "diagonal": "bonus"},
    },
    "shear": GATED | {"readout": {"kind": "polynomial", "coefficients": [0.0, 0.0, 1.0]}, "shear": {"source": "input"}},
    "trapezoidal rule": GATED | {"lift": {"kind": "delay1"}, "decay": SIGMOID},
    "filter": GATED | {"lift": {"kind": "shift", "width": 3}},
    "nothing divides": {"scaling": {"gate": "exp"}, "decay": SIGMOID},
    "a learned eta": {"scaling": {"gate": "exp"}, "decay": SIGMOID, "normalization": {"kind": "learned"}},
    "a sink": {"scaling": {"gate": "exp"}, "features": {"map": "relu"}, "normalization": {"kind": "sum_with_sink"}},
}


def mixer(fields: dict[str, Any], stabiliser: str = "running_max") -> MixerSpec:
    return MixerSpec.model_validate({"heads": HEADS, **fields, "execution": {"stabiliser": stabiliser}})


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_are_those_of_the_definition(kind: str) -> None:
    spec = mixer(KINDS[kind])
    signals = random_signals(spec, seed=3, batch=2, seq_len=11)
    expected = definition.outputs(spec, signals)
    torch.testing.assert_close(recurrent.apply(spec, signals), expected, rtol=1e-10, atol=1e-10, equal_nan=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_has_one_number_more_for_each_head(kind: str) -> None:
    kept = [
        recurrent.kept_state(
            mixer(KINDS[kind], one), random_signals(mixer(KINDS[kind], one), seed=0, batch=1, seq_len=5)
        )
        for one in ("running_max", "none")
    ]
    assert [part.shape for part in kept[0][:-1]] == [part.shape for part in kept[1]]
    assert kept[0][-1].shape == (1, 2)


def loud(spec: MixerSpec, logit: float) -> Signals:
    """float32 signals whose gate logits lie about `logit`, falling with the position."""
    generator = torch.Generator().manual_seed(0)
    raw = {
        name: torch.randn((1, 8 * shape.steps, shape.heads, shape.width), generator=generator)
        for name, shape in raw_shapes(spec).items()
    }
    name = "gate" if "gate" in raw else "key_logit"
    raw[name] = raw[name] + logit - torch.arange(8.0)[None, :, None, None]
    return realise(spec, raw, {key: torch.zeros(shape) for key, shape in parameter_shapes(spec).items()})


@pytest.mark.parametrize("kind", ["mlstm", "key gate", "a sink", "diagonal decay and rotation"])
def test_only_the_maximum_keeps_gates_of_e_to_the_100_finite_in_float32(kind: str) -> None:
    spec = mixer(KINDS[kind])
    signals = loud(spec, 100.0)
    assert signals.gate is not None
    assert signals.gate.isinf().any()
    found = recurrent.apply(spec, signals)
    assert found.isfinite().all()
    assert not recurrent.apply(mixer(KINDS[kind], "none"), signals).isfinite().all()
    quiet = loud(mixer(KINDS[kind]), 20.0)  # where the maximum is large, a common factor of all gates divides out
    torch.testing.assert_close(found, recurrent.apply(spec, quiet), rtol=1e-3, atol=1e-4)


def test_a_late_loud_gate_outweighs_what_was_kept() -> None:
    """Keys 0 and 1 with gates e^0 and e^80, both read by the last query: the second is all that is left."""
    one = torch.ones(1, 2, 1, 1)
    signals = Signals(
        q=one, k=one, v=torch.tensor([1.0, 3.0]).reshape(1, 2, 1, 1), log_gate=torch.tensor([[[0.0], [80.0]]])
    )
    spec = mixer(
        {
            "scaling": {"gate": "exp", "base": 1.0},
            "features": {"map": "ones"},
            "normalization": {"kind": "sum"},
            "heads": {"num_heads": 1, "state_dim": 1, "head_dim": 1},
        }
    )
    assert recurrent.apply(spec, signals).flatten().tolist() == [1.0, 3.0]


def test_a_forgotten_loud_gate_does_not_silence_later_ones() -> None:
    """The maximum fades with the decay (xLSTM, eq. 15): 60 steps at e^-5 after a gate of e^200."""
    steps = 61
    one = torch.ones(1, steps, 1, 1)
    gate = torch.zeros(1, steps, 1)
    gate[:, 0] = 200.0
    values = torch.arange(steps, dtype=torch.float32).reshape(1, steps, 1, 1)
    signals = Signals(q=one, k=one, v=values, log_gate=gate, log_decay=-5.0 * one)
    spec = mixer(
        {
            "decay": SIGMOID,
            "scaling": {"gate": "exp", "base": 1.0},
            "features": {"map": "ones"},
            "normalization": {"kind": "sum"},
            "heads": {"num_heads": 1, "state_dim": 1, "head_dim": 1},
        }
    )
    weights = torch.exp(-5.0 * torch.arange(steps, dtype=torch.float64)).flip(0)
    expected = (weights * values.flatten()).sum() / weights.sum()
    assert float(recurrent.apply(spec, signals)[0, -1, 0, 0]) == pytest.approx(float(expected), rel=1e-5)


def test_gradients_are_those_without_the_maximum() -> None:
    signals = random_signals(mixer(KINDS["mlstm"]), seed=1, batch=1, seq_len=6)
    found = []
    for stabiliser in ("running_max", "none"):
        key = signals.k.clone().requires_grad_()
        spec = mixer(KINDS["mlstm"], stabiliser)
        fields = {name: getattr(signals, name) for name in ("q", "v", "gate", "log_decay", "log_gate")}
        loss = recurrent.apply(spec, Signals(k=key, **fields)).square().sum()
        found.append(torch.autograd.grad(loss, key)[0])
    torch.testing.assert_close(found[0], found[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("stabiliser", "numbers"), [("running_max", 4 * 4 + 1), ("row_max", 4 * 4), ("none", 4 * 4)])
def test_cost_counts_the_maximum(stabiliser: str, numbers: int) -> None:
    """State of 4 keys by 3 values and the row sum, two heads, 4 bytes a number."""
    found = mixer_cost(mixer(KINDS["mlstm"], stabiliser), model_dim=8, target=Target())
    assert found.state_bytes == 2 * numbers * 4
