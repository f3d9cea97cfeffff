"""What the probes of gain, half-life and state measure at the edges of the grammar."""

from typing import Any

import pytest

from designspace import catalogue
from designspace.candidate import Candidate, single
from designspace.cost import mixer_cost
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.target import Target
from workers.probe import probe

HEADS = {"num_heads": 2, "state_dim": 16, "head_dim": 8}
TARGET = Target(seq_len=128)


def measured(candidate: Candidate, *only: str, draws: int = 4) -> dict[str, Measurement]:
    return {one.quantity: one for one in probe(candidate, 0, only=only, draws=draws)}


def mixer(**fields: Any) -> Candidate:
    return single(MixerSpec.model_validate({"heads": HEADS, "scaling": {"base": 1.0}, **fields}), target=TARGET)


@pytest.mark.parametrize(
    ("support", "keys", "slope"),
    [
        ({"mask": "none"}, 64, 0.5),
        ({"chunk": 7}, 7, 0.0),
        ({"mask": "none", "window": 4}, 7, 0.0),
        ({"mask": "strict"}, 63, 0.528),
    ],
)
def test_gain_is_that_of_the_query_that_sees_most(support: dict[str, Any], keys: int, slope: float) -> None:
    found = measured(mixer(support=support), "growth")
    assert found["output_gain"].value == pytest.approx((16 * keys) ** 0.5, rel=0.15)
    assert found["output_gain_slope"].value == pytest.approx(slope, abs=0.1)


def test_filter_keeps_all_its_taps() -> None:
    """64 of 256 taps of variance 1 / 256 on 16 channels: 2, where 16 taps would give 4."""
    found = measured(mixer(lift={"kind": "shift", "width": 256}), "growth")
    assert found["output_gain"].value == pytest.approx(2.0, rel=0.2)
    assert found["output_gain_slope"].value == pytest.approx(0.5, abs=0.15)


def test_constant_decays_are_spread_over_as_many_heads_as_the_mixer_has() -> None:
    """Eight heads from a = 0 to a = 1 evenly, of which one keeps everything: of four it would be a fourth."""
    decay = {"granularity": "scalar", "source": "constant", "map": "fixed", "initial": [0.0, 1.0]}
    found = measured(mixer(decay=decay, heads=HEADS | {"num_heads": 8}), "growth")
    factors = [head / 7 for head in range(8)]
    energy = sum(sum(a ** (2 * lag) for lag in range(64)) for a in factors) / 8
    assert found["output_gain"].value == pytest.approx((16 * energy) ** 0.5, rel=0.1)


def test_heavy_tails_take_more_draws() -> None:
    """One static score per head and draw: its square scatters by 140 %."""
    loud = measured(mixer(features={"map": "static"}, heads=HEADS | {"num_heads": 1}), "growth")
    quiet = measured(mixer(), "growth")
    assert loud["output_gain"].draws > 4
    assert quiet["output_gain"].draws == 4


@pytest.mark.parametrize("name", ["mlstm_exp", "rwkv4", "slstm_R0", "mamba", "gated_deltanet", "mamba3_siso", "h3"])
def test_state_bytes_are_those_of_the_formula(name: str) -> None:
    found = catalogue.get(name).candidate
    one = next(found.mixers()).mixer
    alone = found.model_copy(update={"blocks": single(one).blocks})
    expected = mixer_cost(one, model_dim=alone.model.model_dim, target=alone.target).state_bytes
    assert measured(alone, "state")["state_bytes"].value == expected


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        ({"features": {"map": "ones"}}, 2 * 16 * 8),
        ({"scaling": {"base": 1.0, "learnable": True, "where": "after"}, "heads": HEADS | {"kv_groups": 1}}, 16 * 8),
        ({"scaling": {"base": 1.0, "learnable": True}, "heads": HEADS | {"kv_groups": 1}}, 2 * 16 * 8),
        (
            {
                "lift": {"kind": "delay1"},
                "scaling": {"base": 1.0, "learnable": True},
                "heads": HEADS | {"kv_groups": 1},
            },
            2 * 16 * 8 + 16 + 8,
        ),
        (
            {
                "readout": {"kind": "polynomial", "coefficients": [1.0, 0.5]},
                "scaling": {"base": 1.0, "learnable": True},
                "heads": HEADS | {"kv_groups": 1},
            },
            (2 * 16 + 1) * 8,
        ),
        (
            {
                "scaling": {"base": 1.0, "gate": "exp", "learnable": True},
                "heads": HEADS | {"kv_groups": 1},
                "execution": {"stabiliser": "running_max"},
            },
            2 * 16 * 8 + 1,
        ),
    ],
)
def test_state_counts_what_must_be_kept_apart(fields: dict[str, Any], numbers: int) -> None:
    """Equal keys make equal rows, which are no copies; a base behind phi leaves a shared state shared; the previous
    value of a shared stream, the sum of its values and the maximum of its gates are kept once.
    """
    candidate = mixer(**fields)
    one = next(candidate.mixers()).mixer
    assert measured(candidate, "state", draws=2)["state_bytes"].value == 4 * numbers
    assert mixer_cost(one, model_dim=candidate.model.model_dim, target=TARGET).state_bytes == 4 * numbers
