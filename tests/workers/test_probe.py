"""Probes measure what theory predicts."""

from typing import Any

import pytest

from designspace.candidate import Block, Candidate, ChannelMixer, Skip, single
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.units import discover
from workers.probe import PACKAGE, Probe, probe

HEADS = {"num_heads": 2, "state_dim": 8, "head_dim": 8}
SOFTMAX: dict[str, Any] = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
DELTA: dict[str, Any] = {
    "erase": {"direction": "key"},
    "scaling": {"gate": "tied_to_erase"},
    "features": {"norm": "l2"},
}
ELU: dict[str, Any] = {"features": {"map": "elu+1"}, "normalization": {"kind": "sum"}}


def measured(
    fields: dict[str, Any], *, depth: int = 1, only: tuple[str, ...] = (), draws: int = 8
) -> dict[tuple[str, str], Measurement]:
    mixer = MixerSpec.model_validate({"heads": HEADS, **fields})
    candidate = single(mixer, depth=depth)
    return {(one.path, one.quantity): one for one in probe(candidate, 0, only=only, draws=draws)}


PATH = "blocks[0].mixer"


@pytest.mark.parametrize("fields", [SOFTMAX, DELTA, ELU])
def test_causal_mixers_are_causal_and_linear_in_values(fields: dict[str, Any]) -> None:
    found = measured(fields, only=("causality", "linearity"))
    assert found[PATH, "later_tokens"].value == 0.0
    assert found["model", "later_tokens"].value == 0.0
    assert found[PATH, "deviation"].value < 1e-12


@pytest.mark.parametrize(
    "fields", [{"support": {"mask": "none"}}, {"features": {"map": "softmax_pm", "map_over": "sequence"}}]
)
def test_leaks_of_the_future_are_seen(fields: dict[str, Any]) -> None:
    found = measured(fields, only=("causality",))
    assert found[PATH, "later_tokens"].value > 0.01
    assert found["model", "later_tokens"].value > 0.001


@pytest.mark.parametrize("fields", [SOFTMAX, ELU, {}])
def test_position_free_layer_does_not_see_the_order(fields: dict[str, Any]) -> None:
    found = measured(fields, only=("permutation",))
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
    assert measured({**SOFTMAX, **position}, only=("permutation",))[PATH, "last_output"].value > 0.01


def test_causal_mask_and_depth_encode_position() -> None:
    found = measured(SOFTMAX, depth=2, only=("permutation",))
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
    found = measured(fields, only=("score_scale",))
    score, growth = found[PATH, "score_std"], found[PATH, "slope"]
    assert score.value == pytest.approx(std, rel=0.1)
    assert growth.value == pytest.approx(slope, abs=0.08)
    assert 0 < score.uncertainty < 0.2 * std


def test_probes_repeat_and_say_how_often_they_drew() -> None:
    first, second = (measured(SOFTMAX, draws=3) for _ in range(2))
    assert first == second
    draws = {one.draws for one in first.values()}
    assert max(draws) == 3
    assert draws <= {1, 2, 3}  # what is exact, or differs little, is drawn less often


def test_first_row_of_a_strict_mask_counts_as_equal() -> None:
    found = measured({**SOFTMAX, "support": {"mask": "strict"}}, only=("causality",))
    assert found[PATH, "later_tokens"].value == 0.0


LINEAR: dict[str, Any] = {"scaling": {"base": "n^-1/2"}, "heads": {**HEADS, "state_dim": 64}}


def decaying(low: float, high: float, **more: Any) -> dict[str, Any]:
    decay = {"granularity": "scalar", "source": "constant", "map": "fixed", "initial": [low, high]}
    return {"decay": decay, **more}


def test_signed_scores_grow_with_the_root_of_the_length() -> None:
    """Linear attention with b = n^-1/2: gain 8 at 64 tokens, slope 1/2 (theory, P6.1)."""
    found = measured(LINEAR, only=("growth",))
    assert found[PATH, "output_gain"].value == pytest.approx(8.0, rel=0.15)
    assert found[PATH, "output_gain"].length == 64
    assert found[PATH, "output_gain_slope"].value == pytest.approx(0.5, abs=0.1)
    assert found[PATH, "state_norm_slope"].value == pytest.approx(0.5, abs=0.1)


def test_positive_features_and_values_with_a_mean_grow_faster() -> None:
    """Drift 10.8 x 0.347 L beside noise 10.9 sqrt(L): 43 at 8 tokens, 254 at 64."""
    wide = {"features": {"map": "elu+1"}, "io": {"value_activation": "silu"}, "heads": {**HEADS, "state_dim": 64}}
    found = measured(wide, only=("growth",))
    assert found[PATH, "output_gain_slope"].value == pytest.approx(0.856, abs=0.1)


def test_decay_bounds_the_output_and_has_its_half_life() -> None:
    found = measured(decaying(0.5, 0.9), only=("growth", "horizon"))
    assert abs(found[PATH, "output_gain_slope"].value) < 0.15
    assert found[PATH, "longest_half_life"].value == pytest.approx(6.58, rel=0.02)  # ln 2 / -ln 0.9
    assert found[PATH, "shortest_half_life"].value == pytest.approx(1.0, rel=0.06)  # 1 % quantile of 0.5 and 0.9
    assert found[PATH, "smallest_decay"].value == pytest.approx(0.5)
    assert found[PATH, "largest_decay"].value == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("readout", "fractions"),
    [  # theory, P2
        ({"kind": "exponential"}, (0.0, 0.802, 1.0)),  # Phi((8 - ln 100) / 4); the page's 0.78 is a sample's
        ({"kind": "relu"}, (0.5, 0.5, 0.5)),
        ({"kind": "identity"}, (0.006, 0.006, 0.006)),
        ({"kind": "polynomial", "coefficients": [0.0, 0.0, 1.0]}, (0.08, 0.08, 0.08)),
        ({"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]}, (0.0, 0.0, 0.063)),  # |1 + z| <= 1.26
    ],
)
def test_near_zero_fractions_are_those_of_theory(readout: dict[str, Any], fractions: tuple[float, ...]) -> None:
    found = measured({"readout": readout}, only=("selectivity",), draws=2)
    shares = [found[PATH, f"near_zero_fraction_at_{spread}"].value for spread in (1, 4, 16)]
    assert shares == pytest.approx(fractions, abs=0.02)


def test_rows_of_a_softmax_sum_to_one_and_signed_sums_change_their_sign() -> None:
    softmax = measured(SOFTMAX, only=("row_sums",), draws=2)
    assert softmax[PATH, "row_sum"].value == pytest.approx(1.0)
    assert softmax[PATH, "eta_negative"].value == 0.0
    signed = measured({"normalization": {"kind": "sum"}}, only=("row_sums",), draws=2)
    assert signed[PATH, "eta_negative"].value == pytest.approx(0.5, abs=0.15)  # theory, P6.3: half of the queries


def test_state_of_the_recurrent_form_has_its_bytes() -> None:
    """8 x 8 numbers of 4 bytes for each of two heads; a shared stream has one state."""
    assert measured({}, only=("state",))[PATH, "state_bytes"].value == 2 * 8 * 8 * 4
    shared = {"heads": {**HEADS, "kv_groups": 1}}
    assert measured(shared, only=("state",))[PATH, "state_bytes"].value == 8 * 8 * 4
    convolved = {"io": {"short_conv": {"width": 4, "on": ["q"]}}}
    found = measured(convolved, only=("state",))[PATH, "state_bytes"]
    assert found.value == 2 * 8 * 8 * 4 + 3 * 16 * 2  # past inputs in bfloat16


def test_square_of_the_score_keeps_each_pair_of_channels_once() -> None:
    squared = {"readout": {"kind": "polynomial", "coefficients": [0.0, 0.0, 1.0]}}
    assert measured(squared, only=("state",))[PATH, "state_bytes"].value == 2 * (8 * 9 // 2) * 8 * 4


def test_softmax_has_no_state() -> None:
    assert (PATH, "state_bytes") not in measured(SOFTMAX, only=("state",))


def test_static_coefficients_do_not_move_and_others_do() -> None:
    static = {"features": {"map": "static"}, **decaying(0.5, 0.9)}
    assert measured(static, only=("input_dependence",), draws=2)[PATH, "alpha_change"].value == 0.0
    assert measured({}, only=("input_dependence",), draws=2)[PATH, "alpha_change"].value > 0.1


def test_reflections_have_eigenvalues_on_the_negative_axis() -> None:
    reflecting = {**DELTA, "erase": {"direction": "key", "gain": [1.9, 2.0]}}
    found = measured(reflecting, only=("evolution",), draws=2)
    assert found[PATH, "largest_step_norm"].value == pytest.approx(1.0)
    assert found[PATH, "product_norm"].value <= 1.0 + 1e-9
    one_of_eight = found[PATH, "eigenvalue_phase_share_above_0.5"].value
    assert one_of_eight == pytest.approx(1 / 8)


def test_unnormalised_keys_expand() -> None:
    loose = {"erase": {"direction": "key"}, "scaling": {"gate": "tied_to_erase"}}
    assert measured(loose, only=("evolution",), draws=2)[PATH, "product_norm"].value > 10.0


def test_unscaled_exponentials_overflow_in_float16_only() -> None:
    loud = {"readout": {"kind": "exponential"}, "scaling": {"base": 3.0}}
    found = measured({**loud, "execution": {"stabiliser": "none"}}, only=("overflow",), draws=2)
    assert found[PATH, "finite_length_float16"].value < 16
    assert found[PATH, "finite_length_float32"].value == 128


def test_layers_that_average_without_a_skip_make_tokens_alike() -> None:
    mixer = MixerSpec.model_validate({"heads": HEADS, **SOFTMAX})
    block = Block(repeat=8, mixer=mixer, skip=Skip(weight=0.0), channel_mixer=ChannelMixer(kind="none"))
    kept = Block(repeat=8, mixer=mixer)
    collapsed, apart = (
        {one.quantity: one.value for one in probe(Candidate(blocks=(one,)), 0, only=("rank",), draws=2)}
        for one in (block, kept)
    )
    assert collapsed["similarity"] > 0.9 > 0.5 > apart["similarity"]
    assert collapsed["distance_to_mean"] < 0.3 < apart["distance_to_mean"]


def test_gradients_of_a_window_end_at_its_edge() -> None:
    found = measured({**SOFTMAX, "support": {"window": 4}}, only=("reach",), draws=2)
    assert found[PATH, "gradient_half_lag"].value <= 3
    assert found[PATH, "gradient_at_last_lag"].value == 0.0


def test_every_probe_names_its_quantities() -> None:
    known = {name for one in discover(PACKAGE, "probe", Probe).values() for name in one.quantities}
    found = {quantity for _, quantity in measured({**DELTA, "support": {"window": 4}}, draws=2)}
    assert found <= known


def test_unknown_probe_and_a_single_draw_are_refused() -> None:
    candidate = single(MixerSpec())
    with pytest.raises(ValueError, match="no such probe: heat"):
        probe(candidate, 0, only=("heat",))
    with pytest.raises(ValueError, match="`draws` must be at least 2"):
        probe(candidate, 0, draws=1)
