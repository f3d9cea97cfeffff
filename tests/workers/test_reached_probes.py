"""Probes of memory, extremes, chunks and rows against closed forms, on mixers whose answer theory knows."""

import math
from typing import Any

import pytest

from designspace.candidate import single
from designspace.mixer import MixerSpec
from designspace.target import Target
from workers.probe import probe

PATH = "blocks[0].mixer"
HEADS = {"num_heads": 2, "state_dim": 4, "head_dim": 4}
SOFTMAX: dict[str, Any] = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
DELTA: dict[str, Any] = {
    "erase": {"direction": "key", "gain": [0.0, 2.0]},
    "scaling": {"gate": "tied_to_erase"},
    "features": {"norm": "l2"},
}


def measured(
    fields: dict[str, Any], *only: str, depth: int = 1, seq_len: int = 64, path: str = PATH
) -> dict[str, float]:
    mixer = MixerSpec.model_validate({"heads": HEADS, **fields})
    found = probe(single(mixer, depth=depth, target=Target(seq_len=seq_len)), 0, only=only, draws=2)
    return {one.quantity: one.value for one in found if one.path == path}


def test_a_linear_state_of_four_rows_has_rank_four_at_any_length() -> None:
    found = measured({}, "memory")
    assert [found[f"memory_rank_{length}"] for length in (64, 128, 256)] == [4.0, 4.0, 4.0]
    assert found["kept_numbers_128"] == found["kept_numbers_256"] == 2 * 4 * 4


def test_a_softmax_keeps_every_key_and_a_window_few() -> None:
    found = measured({**SOFTMAX, "scaling": {"base": 1.0}}, "memory")
    assert found["memory_rank_256"] > 1.6 * found["memory_rank_128"]
    assert found["keys_read_256"] == 128.0
    assert measured({**SOFTMAX, "support": {"window": 4}}, "memory")["keys_read_256"] == 3.0


@pytest.mark.parametrize(("gain", "lowest"), [((0.0, 2.0), -1.0), ((0.0, 1.0), 0.0)])
def test_unit_keys_reach_a_reflection_or_a_projection(gain: tuple[float, float], lowest: float) -> None:
    found = measured({**DELTA, "erase": {"direction": "key", "gain": gain}}, "reached_steps")
    assert found["reached_step_norm"] == pytest.approx(1.0, abs=1e-6)
    assert found["reached_eigenvalue"] == pytest.approx(lowest, abs=1e-3)
    assert found["reached_imaginary_part"] < 1e-6


def test_keys_without_a_norm_expand_without_a_bound() -> None:
    assert measured({**DELTA, "features": {"norm": "none"}}, "reached_steps")["reached_step_norm"] > 1e6


def test_unit_vectors_bound_the_score_by_their_gain() -> None:
    found = measured({**SOFTMAX, "features": {"norm": "l2", "gain": 2.0}, "scaling": {"base": 1.0}}, "reached_scores")
    assert found["reached_score"] == pytest.approx(4.0, rel=1e-3)  # gain^2
    assert found["reached_exponent"] == 0.0  # the maximum is subtracted


def test_without_a_stabiliser_exponents_are_the_scores() -> None:
    bare = {**SOFTMAX, "execution": {"stabiliser": "none"}}
    assert measured(bare, "reached_scores")["reached_exponent"] > 1e6


@pytest.mark.parametrize(
    ("fields", "signed", "gone"),
    [
        ({"normalization": {"kind": "sum"}}, True, True),
        ({"normalization": {"kind": "sum"}, "readout": {"kind": "relu"}}, False, True),
        ({"normalization": {"kind": "sum", "eps": 1e-3}, "readout": {"kind": "relu"}}, False, False),
        (SOFTMAX, False, False),
    ],
)
def test_eta_reaches_zero_where_theory_says_so(fields: dict[str, Any], signed: bool, gone: bool) -> None:
    found = measured(fields, "reached_scores")
    assert (found["reached_row_sum"] < 0.0) is signed
    assert (found["reached_eta"] < 1e-12) is gone


def test_gates_reach_the_ends_of_their_declared_range() -> None:
    decay = {"granularity": "scalar", "map": "sigmoid", "range": [0.5, 0.9]}
    found = measured({"decay": decay, "scaling": {"gate": "sigmoid"}}, "reached_gates")
    assert math.exp(found["reached_log_decay"]) == pytest.approx(0.5)
    assert found["reached_decay"] == pytest.approx(0.9)
    assert found["reached_gate"] < 1e-6


@pytest.mark.parametrize(("sign", "lean"), [("decreasing", -0.5), ("increasing", 0.5)])
def test_a_constant_slope_is_the_bias_per_step(sign: str, lean: float) -> None:
    shear = {"source": "constant", "slopes": 0.5, "sign": sign}
    assert measured({**SOFTMAX, "shear": shear}, "distance_bias")["far_key_bias"] == pytest.approx(lean)


@pytest.mark.parametrize(("kind", "changes"), [("target", True), ("visible", False)])
def test_the_declared_length_changes_outputs_only_where_it_is_read(kind: str, changes: bool) -> None:
    found = measured({"normalization": {"kind": "length", "length_kind": kind}}, "total_length")
    assert (found["total_length_effect"] > 0.1) is changes


@pytest.mark.parametrize(
    "fields",
    [
        {"decay": {"granularity": "diagonal", "map": "sigmoid"}, "rotation": {"source": "constant", "fraction": 0.5}},
        {**DELTA, "support": {"diagonal": "D"}, "normalization": {"kind": "max_abs_sum_1"}},
        {**DELTA, "erase": {"direction": "key", "rank": 2}},
    ],
)
def test_forms_equal_a_computation_in_chunks(fields: dict[str, Any]) -> None:
    assert measured(fields, "chunks")["differs_from_chunked"] < 1e-12


def test_equal_scores_keep_the_share_i_minus_one_of_i() -> None:
    """eta_(i-1) / eta_i = (i - 1) / i for i = 2..24: one at 1/2, eight to 0.9, fourteen above."""
    found = measured({**SOFTMAX, "features": {"map": "ones"}}, "factors")
    assert found["eta_ratio_share_above_0.1"] == pytest.approx(1 / 23)
    assert found["eta_ratio_share_above_0.5"] == pytest.approx(8 / 23)
    assert found["eta_ratio_share_above_0.9"] == pytest.approx(14 / 23)


def test_the_first_token_is_out_of_reach_of_short_windows() -> None:
    window = {**SOFTMAX, "support": {"window": 4}}
    assert measured(window, "reach", depth=2, seq_len=16, path="model")["first_token_effect"] == 0.0
    assert measured(window, "reach", depth=2, seq_len=6, path="model")["first_token_effect"] > 0.0


def test_steps_that_only_scale_commute_and_reflections_do_not() -> None:
    decay = {"decay": {"granularity": "diagonal", "map": "sigmoid"}}
    assert measured(decay, "evolution")["commutator"] == 0.0
    assert measured(DELTA, "evolution")["commutator"] > 0.01


def test_floors_and_zeros_of_the_readout() -> None:
    floor = measured({"readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]}}, "selectivity")
    assert floor["readout_floor"] == pytest.approx(0.5, abs=1e-3)  # at z = -1
    assert floor["readout_at_zero"] == pytest.approx(1.0)
    plain = measured({}, "selectivity")
    assert plain["readout_floor"] == plain["readout_at_zero"] == 0.0
    assert plain["readout_size"] == pytest.approx(math.sqrt(2 / math.pi), abs=1e-3)  # E|z|


def test_a_learned_eta_changes_rows_but_not_their_shape() -> None:
    static = {
        "features": {"map": "static"},
        "decay": {"granularity": "scalar", "source": "learned", "map": "sigmoid"},
        "normalization": {"kind": "learned"},
    }
    found = measured(static, "input_dependence")
    assert found["alpha_change"] > 0.1
    assert found["row_shape_change"] < 1e-12
