"""Probes measure what theory predicts."""

from typing import Any

import pytest

from designspace.candidate import single
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers.probe import probe

HEADS = {"num_heads": 2, "state_dim": 8, "head_dim": 8}
SOFTMAX: dict[str, Any] = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
DELTA: dict[str, Any] = {
    "erase": {"direction": "key"},
    "scaling": {"gate": "tied_to_erase"},
    "features": {"norm": "l2"},
}
ELU: dict[str, Any] = {"features": {"map": "elu+1"}, "normalization": {"kind": "sum"}}


def measured(fields: dict[str, Any], *, depth: int = 1) -> dict[tuple[str, str], Measurement]:
    mixer = MixerSpec.model_validate({"heads": HEADS, **fields})
    candidate = single(mixer, depth=depth)
    return {(one.path, one.quantity): one for one in probe(candidate, 0)}


PATH = "blocks[0].mixer"


@pytest.mark.parametrize("fields", [SOFTMAX, DELTA, ELU])
def test_causal_mixers_are_causal_and_linear_in_values(fields: dict[str, Any]) -> None:
    found = measured(fields)
    assert found[PATH, "later_tokens"].value == 0.0
    assert found["model", "later_tokens"].value == 0.0
    assert found[PATH, "deviation"].value < 1e-12


@pytest.mark.parametrize(
    "fields", [{"support": {"mask": "none"}}, {"features": {"map": "softmax_pm", "map_over": "sequence"}}]
)
def test_leaks_of_the_future_are_seen(fields: dict[str, Any]) -> None:
    found = measured(fields)
    assert found[PATH, "later_tokens"].value > 0.01
    assert found["model", "later_tokens"].value > 0.001


@pytest.mark.parametrize("fields", [SOFTMAX, ELU, {}])
def test_position_free_layer_does_not_see_the_order(fields: dict[str, Any]) -> None:
    found = measured(fields)
    assert found[PATH, "last_output"].value < 1e-12
    assert found["model", "last_output"].value < 1e-4


@pytest.mark.parametrize(
    "position",
    [
        {"rotation": {"source": "constant"}},
        {"shear": {"source": "constant"}},
        {"decay": {"granularity": "scalar", "map": "sigmoid"}},
        {"support": {"window": 4}},
        {"io": {"short_conv": {"width": 2, "on": ["k"]}}},
    ],
)
def test_decay_rotation_shear_window_or_convolution_break_the_symmetry(position: dict[str, Any]) -> None:
    assert measured({**SOFTMAX, **position})[PATH, "last_output"].value > 0.01


def test_causal_mask_and_depth_encode_position() -> None:
    found = measured(SOFTMAX, depth=2)
    assert found[PATH, "last_output"].value < 1e-12
    assert found["model", "last_output"].value > 0.001


@pytest.mark.parametrize(
    ("fields", "std", "slope"),
    [
        (SOFTMAX, 1.0, 0.0),
        ({**SOFTMAX, "scaling": {"base": 1.0}, "heads": {**HEADS, "state_dim": 64}}, 8.0, 0.5),
        ({**SOFTMAX, "scaling": {"base": "n^-1"}, "heads": {**HEADS, "state_dim": 16}}, 0.25, -0.5),
        ({**SOFTMAX, "features": {"norm": "l2"}, "heads": {**HEADS, "state_dim": 64}}, 1 / 64, -1.0),
        ({**SOFTMAX, "features": {"norm": "rms"}, "scaling": {"base": 1.0}}, 8**0.5, 0.5),
        ({**ELU, "heads": {**HEADS, "state_dim": 64}}, 1.44, 0.0),
    ],
)
def test_score_scale_follows_the_prediction(fields: dict[str, Any], std: float, slope: float) -> None:
    found = measured(fields)
    score, growth = found[PATH, "score_std"], found[PATH, "slope"]
    assert score.value == pytest.approx(std, rel=0.1)
    assert growth.value == pytest.approx(slope, abs=0.08)
    assert 0 < score.uncertainty < 0.2 * std


def test_probes_repeat_and_say_how_often_they_drew() -> None:
    assert measured(SOFTMAX) == measured(SOFTMAX)
    assert {one.draws for one in measured(SOFTMAX).values()} == {8}


def test_first_row_of_a_strict_mask_counts_as_equal() -> None:
    found = measured({**SOFTMAX, "support": {"mask": "strict"}})
    assert found[PATH, "later_tokens"].value == 0.0
