"""Scaled angles against the formulas of the papers, written another way, and the values that real files imply."""

import math

import numpy as np
import pytest

from designspace.angles import AngleScaling
from designspace.canonical import mixer_fingerprint
from designspace.mixer import MixerSpec
from designspace.rotation import Rotation

PAIRS, THETA = 32, 10000.0


def plain() -> np.ndarray:
    return THETA ** (-np.arange(PAIRS) / PAIRS)


def wavelengths() -> np.ndarray:
    return 2 * np.pi / plain()


def scaled(**fields: object) -> np.ndarray:
    rotation = Rotation.model_validate({"source": "constant", "theta": THETA, "scaling": fields})
    return np.array(rotation.angles(2 * PAIRS))


def test_linear_divides_every_angle() -> None:
    np.testing.assert_allclose(scaled(kind="linear", factor=8.0), plain() / 8.0)


def test_llama3_keeps_short_wavelengths_and_stretches_long_ones() -> None:
    """Llama 3.1: factor 8, 1 and 4 times per 8,192 tokens; between them linear in the number of turns."""
    found = scaled(kind="llama3", factor=8.0, original_length=8192, low=1.0, high=4.0)
    expected = []
    for angle, length in zip(plain(), wavelengths(), strict=True):
        if length < 8192 / 4:
            expected.append(angle)
        elif length > 8192 / 1:
            expected.append(angle / 8)
        else:
            smooth = (8192 / length - 1.0) / (4.0 - 1.0)
            expected.append((1 - smooth) * angle / 8 + smooth * angle)
    np.testing.assert_allclose(found, expected)


def test_yarn_interpolates_pairs_by_the_number_of_their_turns() -> None:
    """YaRN (arXiv 2309.00071), equations 17 to 20, with the ends of the ramp rounded to whole pairs."""
    found = scaled(kind="yarn", factor=40.0, original_length=4096)

    def pair_that_turns(turns: float) -> float:
        return 2 * PAIRS * math.log(4096 / (turns * 2 * math.pi)) / (2 * math.log(THETA))

    first, last = math.floor(pair_that_turns(32)), math.ceil(pair_that_turns(1))
    kept = 1 - np.clip((np.arange(PAIRS) - first) / (last - first), 0, 1)
    np.testing.assert_allclose(found, plain() / 40 * (1 - kept) + plain() * kept)
    assert found[0] == plain()[0]
    assert found[-1] == pytest.approx(plain()[-1] / 40)


def test_yarn_without_rounding_has_a_narrower_ramp() -> None:
    rounded = scaled(kind="yarn", factor=32.0, original_length=4096)
    exact = scaled(kind="yarn", factor=32.0, original_length=4096, truncate=False)
    assert not np.allclose(rounded, exact)


def test_longrope_divides_each_pair_by_its_own_factor() -> None:
    factors = tuple(1.0 + 0.1 * m for m in range(PAIRS))
    found = scaled(kind="longrope", original_length=4096, short_factors=factors, long_factors=factors[::-1])
    np.testing.assert_allclose(found, plain() / factors)


def test_proportional_counts_all_channels() -> None:
    rotation = Rotation(source="constant", fraction=0.25, scaling=AngleScaling(kind="proportional"))
    np.testing.assert_allclose(rotation.angles(512), THETA ** (-2 * np.arange(64) / 512))


def test_dynamic_changes_nothing_up_to_the_original_length() -> None:
    np.testing.assert_allclose(scaled(kind="dynamic", factor=4.0, original_length=4096), plain())


def mixer(**rotation: object) -> MixerSpec:
    return MixerSpec.model_validate(
        {
            "readout": {"kind": "exponential"},
            "normalization": {"kind": "sum"},
            "rotation": {"source": "constant", **rotation},
        }
    )


def test_an_attention_factor_on_all_channels_is_its_square_on_the_base() -> None:
    by_factor = mixer(attention_factor=1.25)
    by_base = mixer().model_copy(update={"scaling": mixer().scaling.model_copy(update={"base": 1.5625 / 8})})
    assert mixer_fingerprint(by_factor) == mixer_fingerprint(by_base)
    assert mixer_fingerprint(mixer(attention_factor=1.25, fraction=0.5)) != mixer_fingerprint(mixer(fraction=0.5))


def test_scaling_that_leaves_the_angles_alone_is_no_other_function() -> None:
    same = mixer(scaling={"kind": "linear", "factor": 1.0})
    assert mixer_fingerprint(same) == mixer_fingerprint(mixer())
    assert mixer_fingerprint(mixer(scaling={"kind": "linear", "factor": 2.0})) != mixer_fingerprint(mixer())


@pytest.mark.parametrize(
    ("rotation", "complaint"),
    [
        ({"scaling": {"kind": "yarn", "factor": 4.0}}, "original_length"),
        ({"scaling": {"kind": "llama3", "original_length": 8, "low": 5.0, "high": 4.0}}, "`low` must"),
        ({"scaling": {"kind": "longrope", "original_length": 8}}, "short_factors"),
        ({"scaling": {"kind": "linear"}, "source": "learned"}, "constant angles"),
        ({"scaling": {"kind": "yarn", "original_length": 8}, "theta": 1.0}, "theta > 1"),
        ({"initial": [0.0, 1.0]}, "learned angles"),
    ],
)
def test_scaling_without_meaning_is_refused(rotation: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        mixer(**rotation)


def test_factors_of_longrope_are_one_per_pair() -> None:
    with pytest.raises(ValueError, match="one number per pair"):
        mixer(
            scaling={"kind": "longrope", "original_length": 8, "short_factors": [1.0, 2.0], "long_factors": [1.0, 2.0]}
        )
