"""Predicted quantities of mixers that random specs once showed to be predicted or measured wrong."""

from typing import Any

import pytest

from checkers.confirmation import Prediction
from designspace.candidate import single
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.target import Target
from tests.agreement.quantities import Comparison, compared

LENGTH = 64
HEADS = {"num_heads": 4, "state_dim": 16, "head_dim": 8}
LINEAR = {"kind": "identity"}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "relu of two channels is 0 in a quarter of the tokens, and a norm leaves that": (
        "score_std",
        {"features": {"map": "relu", "norm": "layernorm"}, "heads": HEADS | {"state_dim": 2}},
    ),
    "a pair of a softmax of both signs is always opposite": (
        "score_std",
        {"features": {"map": "softmax_pm", "norm": "layernorm"}, "heads": HEADS | {"state_dim": 1}},
    ),
    "eps decides the length of keys near 0": (
        "score_std",
        {
            "features": {"map": "one_minus_decay", "norm": "l2"},
            "decay": {"granularity": "diagonal", "map": "sigmoid", "initial": [1.0, 1.0]},
        },
    ),
    "a delay takes its share of a gate by index": (
        "score_std",
        {"scaling": {"gate": "index"}, "lift": {"kind": "delay1"}},
    ),
    "heads of one stream have constant decays of their own": (
        "state_bytes",
        {
            "readout": LINEAR,
            "decay": {"granularity": "scalar", "source": "constant", "map": "fixed", "initial": [0.1, 0.9]},
            "heads": HEADS | {"kv_groups": 1},
        },
    ),
    "the first token of a chunk does not show its decay": (
        "state_bytes",
        {
            "readout": LINEAR,
            "decay": {"granularity": "scalar", "source": "constant", "map": "fixed", "initial": [0.1, 0.9]},
            "heads": HEADS | {"kv_groups": 1},
            "support": {"chunk": 4},
        },
    ),
    "a complement ends at 1 whatever its range": (
        "longest_half_life",
        {
            "readout": LINEAR,
            "decay": {"granularity": "scalar", "map": "complement", "range": [0.5, 1.25], "initial": [0.5, 1.25]},
            "scaling": {"gate": "sigmoid"},
        },
    ),
    "the cosine of two channels is not normal": (
        "output_gain",
        {
            "readout": {"kind": "polynomial", "coefficients": [0.0, 0.0, 0.0, 1.0]},
            "features": {"norm": "rms"},
            "heads": HEADS | {"state_dim": 2},
            "normalization": {"kind": "none"},
        },
    ),
    "a gate by index weighs values whose convolution is not full": (
        "output_gain",
        {
            "readout": LINEAR,
            "scaling": {"gate": "index"},
            "normalization": {"kind": "none"},
            "io": {"short_conv": {"width": 4, "on": ["v"]}},
        },
    ),
}

UNDECLARED: tuple[dict[str, Any], ...] = (
    {"decay": {"granularity": "scalar", "map": "sigmoid"}},
    {"decay": {"granularity": "scalar", "map": "exp_softplus"}},
    {"decay": {"granularity": "diagonal", "map": "exp_softplus_tau"}},
    {"decay": {"granularity": "scalar", "map": "rglru"}},
    {"decay": {"granularity": "scalar", "map": "complement"}, "scaling": {"gate": "sigmoid", "initial": [0.1, 0.5]}},
    {"decay": {"granularity": "scalar", "map": "exp_softplus"}, "scaling": {"gate": "dt"}},
    {"decay": {"granularity": "diagonal", "map": "exp_softplus"}, "scaling": {"gate": "dt"}},
)


def outcomes(fields: dict[str, Any]) -> dict[str, Comparison]:
    mixer = MixerSpec.model_validate({"heads": HEADS} | fields)
    return {one.quantity: one for one in compared(single(mixer, target=Target(seq_len=LENGTH)))}


@pytest.mark.parametrize("why", CASES)
def test_prediction_agrees_with_its_probe(why: str) -> None:
    quantity, fields = CASES[why]
    found = outcomes(fields)[quantity]
    assert found.outcome == "agreed", found


@pytest.mark.parametrize("fields", UNDECLARED, ids=str)
def test_start_that_nobody_declares_is_that_of_the_compiled_mixer(fields: dict[str, Any]) -> None:
    found = outcomes({"readout": LINEAR, "normalization": {"kind": "none"}} | fields)
    assert [found[name].outcome for name in ("longest_half_life", "output_gain")] == ["agreed", "agreed"], found


def test_erase_that_expands_inside_phi_is_not_predicted() -> None:
    mixer = {
        "readout": {"kind": "sigmoid"},
        "erase": {"direction": "key", "gain": [1.0, 1.0]},
        "features": {"map": "relu", "k_std": 2.0},
        "normalization": {"kind": "none"},
    }
    assert outcomes(mixer)["output_gain"].outcome == "not predicted"


@pytest.mark.parametrize(
    ("value", "uncertainty", "low", "high", "outcome"),
    [
        (1.0, 0.07, 0.85, 1.15, "agreed"),
        (1.0, 0.08, 0.85, 1.15, "undecided"),
        (1.3, 0.07, 0.85, 1.15, "wrong"),
        (1.3, 0.0, 0.85, 1.15, "wrong"),
        (20.0, 3.0, 16.0, float("inf"), "agreed"),
        (20.0, 5.0, 16.0, float("inf"), "undecided"),
        (10.0, 5.0, 16.0, float("inf"), "wrong"),
    ],
)
def test_measurement_decides_only_where_it_is_certain(
    value: float, uncertainty: float, low: float, high: float, outcome: str
) -> None:
    measured = Measurement(
        probe="growth", quantity="output_gain", path="m", value=value, uncertainty=uncertainty, unit="", draws=6, seed=0
    )
    assert Comparison(measured, Prediction("output_gain", low, high)).outcome == outcome
