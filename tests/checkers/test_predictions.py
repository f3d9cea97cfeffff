"""Predicted scores, gains, zero sets, spectra and products against simulation, closed forms and the design pages."""

import math
from typing import Any

import numpy as np
import pytest

from checkers import check, scores, zeros
from checkers.growth import output_gain
from checkers.periodic import largest_growth, radius, times
from checkers.quadrature import expectation, moments, nearly_zero, normal_probability
from checkers.rule import resolved
from checkers.rules.coarse_rotary_phase import distinct_positions
from checkers.rules.rank_collapse import relative_distances
from checkers.spectrum import Spectrum, lowest_eigenvalue, spectrum
from designspace import catalogue
from designspace.mixer import MixerSpec
from designspace.readout import Readout
from designspace.support import Support

TOKENS = 20_000


def mixer(**fields: Any) -> MixerSpec:
    return MixerSpec.model_validate(fields)


def readout(**fields: Any) -> Readout:
    return mixer(readout=fields, normalization={"kind": "none"}).readout


def sampled_features(name: str, norm: str, rng: np.random.Generator, width: int) -> np.ndarray:
    x = rng.standard_normal((TOKENS, width))
    maps = {
        "identity": lambda: x,
        "silu": lambda: x / (1 + np.exp(-x)),
        "relu": lambda: np.maximum(x, 0),
        "elu+1": lambda: np.where(x > 0, x + 1, np.exp(x)),
        "softmax_pm": lambda: np.exp(np.concatenate([x, -x], 1)) / np.exp(np.concatenate([x, -x], 1)).sum(1)[:, None],
        "hadamard": lambda: x * rng.standard_normal(x.shape),
    }
    y = maps[name]()
    lengths = {
        "none": lambda: np.ones((TOKENS, 1)),
        "l2": lambda: np.linalg.norm(y, axis=1, keepdims=True),
        "rms": lambda: np.sqrt((y**2).mean(1, keepdims=True)),
        "layernorm": lambda: y.std(1, keepdims=True),
        "sum": lambda: y.sum(1, keepdims=True),
    }
    centred = y - y.mean(1, keepdims=True) if norm == "layernorm" else y
    return centred / lengths[norm]()


@pytest.mark.parametrize("norm", ["none", "l2", "rms", "layernorm", "sum"])
@pytest.mark.parametrize("name", ["identity", "silu", "relu", "elu+1", "hadamard"])
def test_score_spread_is_that_of_sampled_tokens(name: str, norm: str):
    found = scores.product_moments(mixer(features={"map": name, "norm": norm}))
    if norm == "sum" and name in ("identity", "silu", "hadamard"):
        assert found is None  # a sum that crosses zero has no spread to predict
        return
    rng = np.random.default_rng(0)
    sampled = (sampled_features(name, norm, rng, 64) * sampled_features(name, norm, rng, 64)).sum(1)
    assert found is not None
    assert found.std == pytest.approx(sampled.std(), rel=0.1)
    assert found.mean == pytest.approx(sampled.mean(), abs=0.05 * sampled.std() + 0.02 * abs(sampled.mean()))


@pytest.mark.parametrize("norm", ["none", "l2", "sum"])
def test_softmax_features_are_right_in_order(norm: str):
    """Their entries come in pairs x, -x, which the prediction takes as independent."""
    rng = np.random.default_rng(0)
    sampled = (sampled_features("softmax_pm", norm, rng, 64) * sampled_features("softmax_pm", norm, rng, 64)).sum(1)
    found = scores.product_moments(mixer(features={"map": "softmax_pm", "norm": norm}))
    assert found is not None
    assert found.mean == pytest.approx(sampled.mean(), rel=0.15)
    assert 0.9 < found.std / sampled.std() < 1.8


@pytest.mark.parametrize(
    ("fields", "std"),
    [
        ({}, 1.0),
        ({"scaling": {"base": 1.0}}, 8.0),
        ({"scaling": {"base": "n^-1"}}, 0.125),
        ({"features": {"norm": "l2"}}, 1 / 64),
        ({"features": {"norm": "l2"}, "scaling": {"base": 1.0}}, 0.125),
        ({"features": {"norm": "rms"}, "scaling": {"base": 1.0}}, 8.0),
        ({"features": {"norm": "rms"}, "scaling": {"base": "n^-1"}}, 0.125),
        ({"features": {"q_std": 0.5, "k_std": 2.0}}, 1.0),
        ({"scaling": {"where": "after"}}, 8.0),
    ],
)
def test_score_std_multiplies_every_source(fields: dict[str, Any], std: float):
    """The rows of catalogue.md, section 5, P5."""
    found = scores.score_moments(mixer(**fields))
    assert found is not None
    assert found.std == pytest.approx(std)


def test_positive_features_have_a_mean_apart_from_their_spread():
    found = scores.score_moments(mixer(features={"map": "elu+1"}))
    assert found is not None
    assert found.mean == pytest.approx(10.77, abs=0.01)
    assert found.std == pytest.approx(1.432, abs=0.001)


def test_quadrature_knows_gaussian_integrals():
    assert expectation(lambda x: x**4) == pytest.approx(3.0, rel=1e-9)
    assert expectation(lambda x: math.exp(4 * x)) == pytest.approx(math.exp(8), rel=1e-6)
    assert moments(lambda x: max(x, 0.0)).mean == pytest.approx((2 * math.pi) ** -0.5, rel=2e-3)
    part = 0.05 / expectation(lambda x: abs(x - 0.3))
    assert nearly_zero(lambda x: x - 0.3, part) == pytest.approx(normal_probability(0.25, 0.35), rel=1e-9)


@pytest.mark.parametrize(
    ("fields", "fractions", "kind"),
    [
        ({"kind": "identity"}, (0.0064, 0.0064, 0.0064), "fragile"),
        ({"kind": "relu"}, (0.5016, 0.5016, 0.5016), "robust"),
        ({"kind": "polynomial", "coefficients": [0, 0, 1]}, (0.0797, 0.0797, 0.0797), "slab"),
        ({"kind": "exponential"}, (2.0e-5, 0.8020, 1.0), "robust"),
        ({"kind": "polynomial", "coefficients": [1, 1, 0.5]}, (0.0, 0.0, 0.06), "positive floor"),
        ({"kind": "sigmoid"}, (0.0, 0.093, 0.370), "robust"),
    ],
)
def test_near_zero_fractions(fields: dict[str, Any], fractions: tuple[float, ...], kind: str):
    """exp at s = 4: P(4 x <= 8 + ln 0.01) = 0.802."""
    found = zeros.selectivity(readout(**fields))
    assert found.fractions == pytest.approx(fractions, abs=0.005)
    assert found.suppression == kind


@pytest.mark.parametrize(("seq_len", "weight"), [(64, 0.57), (256, 0.24), (1024, 0.07), (4096, 0.02)])
def test_weight_of_one_target_above_the_floor(seq_len: int, weight: float):
    taylor = {"readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]}}
    findings = check(resolved({"target": {"seq_len": seq_len}, "mixer": taylor})).findings
    found = next(finding for finding in findings if finding.code == "CD202").evidence["weight_of_one_target"].value
    assert found == pytest.approx(weight, abs=0.005)


@pytest.mark.parametrize(("seq_len", "gain"), [(64, 8.0), (16384, 128.0)])
def test_gain_of_linear_attention(seq_len: int, gain: float):
    found = output_gain(mixer(), seq_len)
    assert found is not None
    assert found.highest == pytest.approx(gain)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("mamba", 0.02, 0.94), ("rg_lru", 1.0, 1.0), ("lru_s5", (2 - 2 * 0.999**4096) ** 0.5, 2**0.5)],
)
def test_gain_over_the_initial_range_of_published_recurrences(name: str, low: float, high: float):
    entry = catalogue.get(name)
    found = output_gain(entry.mixer, 2048)
    assert found is not None
    assert (found.lowest, found.highest) == pytest.approx((low, high), abs=0.005)


def simulated_gain(
    seq_len: int, *, decay: float = 1.0, erase: float = 0.0, width: int = 16, mean: float = 0.0
) -> float:
    """Output rms at the last position of S <- a (I - beta k k^T) S + k v^T (beta k v^T), y = S^T q n^-1/2."""
    rng = np.random.default_rng(1)
    runs = 200
    state = np.zeros((runs, width))
    for _ in range(seq_len):
        k, v = rng.standard_normal((runs, width)), mean + rng.standard_normal(runs)
        if erase:
            k /= np.linalg.norm(k, axis=1, keepdims=True)
            state -= erase * k * (state * k).sum(1, keepdims=True)
            v = erase * v
        state = decay * state + k * v[:, None]
    q = rng.standard_normal((runs, width))
    q = q / np.linalg.norm(q, axis=1, keepdims=True) if erase else q
    return float(np.sqrt(np.mean(((state * q).sum(1) / width**0.5) ** 2)))


def test_gain_of_a_decay_is_that_of_the_recurrence():
    fields = {"decay": {"granularity": "scalar", "initial": [0.95, 0.95]}, "heads": {"state_dim": 16}}
    found = output_gain(mixer(**fields), 256)
    assert found is not None
    assert found.highest == pytest.approx(simulated_gain(256, decay=0.95), rel=0.15)


def test_gain_of_the_delta_rule_is_that_of_the_recurrence():
    fields = {
        "erase": {"direction": "key"},
        "scaling": {"gate": "tied_to_erase"},
        "features": {"norm": "l2"},
        "heads": {"state_dim": 16},
    }
    found = output_gain(mixer(**fields), 512)
    assert found is not None
    assert found.highest == pytest.approx(simulated_gain(512, erase=0.5), rel=0.25)


def test_positive_features_and_a_value_mean_grow_linearly():
    spec = mixer(features={"map": "relu"}, io={"value_activation": "silu"})
    short, long = output_gain(spec, 1024), output_gain(spec, 4096)
    assert short is not None
    assert long is not None
    assert long.highest / short.highest == pytest.approx(4.0, rel=0.05)


def test_two_admissible_steps_of_gdn2_and_rwkv7_grow_by_a_quarter():
    for name in ("gdn2", "rwkv7"):
        assert largest_growth(catalogue.get(name).mixer).per_period == pytest.approx(1.25, abs=1e-3)


def test_what_is_certified_does_not_grow():
    """CD602 passes reflections; products of 200 random steps over their declared gains stay within norm 1."""
    spec = catalogue.get("deltanet_neg")
    assert next(one.verdict for one in check(spec.candidate).verdicts if one.code == "CD602") == "pass"
    rng = np.random.default_rng(0)
    product = np.eye(4)
    for _ in range(200):
        k = rng.standard_normal(4)
        k *= (spec.mixer.key_norm_bound or math.inf) ** 0.5 / np.linalg.norm(k)
        product = (np.eye(4) - rng.uniform(*spec.mixer.erase.gain) * np.outer(k, k)) @ product
        assert np.linalg.norm(product, 2) <= 1 + 1e-9


def test_two_by_two_algebra_is_numpys():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.standard_normal((2, 2, 2))
        product = times(tuple(a.ravel()), tuple(b.ravel()))  # type: ignore[arg-type]
        assert product == pytest.approx((a @ b).ravel())
        assert radius(product) == pytest.approx(max(abs(np.linalg.eigvals(a @ b))))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mamba2", Spectrum.POSITIVE),
        ("gated_deltanet", Spectrum.POSITIVE),
        ("kda", Spectrum.POSITIVE),
        ("gdn2", Spectrum.POSITIVE),
        ("deltanet_neg", Spectrum.REACHES_NEGATIVE),
        ("rwkv7", Spectrum.REACHES_NEGATIVE),
        ("retnet", Spectrum.COMPLEX),
        ("momentum_deltanet", Spectrum.OPEN),
    ],
)
def test_signs_of_the_spectrum(name: str, expected: Spectrum):
    assert spectrum(catalogue.get(name).mixer) is expected


@pytest.mark.parametrize("name", ["gated_deltanet", "kda", "gdn2"])
def test_positive_spectra_hold_in_random_draws(name: str):
    """Eigenvalues of 500 random steps (unit keys, gains and decays in range) are real and not negative."""
    rng, spec = np.random.default_rng(0), catalogue.get(name).mixer
    for _ in range(500):
        k = rng.standard_normal(6)
        k /= np.linalg.norm(k)
        gain = rng.random(6) if spec.erase.per_channel else np.full(6, rng.random())
        decay = rng.random(6) if spec.decay.granularity == "diagonal" else np.full(6, rng.random())
        values = np.linalg.eigvals((np.eye(6) - np.outer(k, gain * k)) * decay)
        assert values.real.min() > -1e-9
        assert abs(values.imag).max() < 1e-6


def test_lowest_eigenvalue_of_unnormalised_keys():
    spec = mixer(erase={"direction": "key", "gain": [0.0, 0.5]}, scaling={"gate": "tied_to_erase"})
    assert lowest_eigenvalue(spec) == pytest.approx(-31.0)


@pytest.mark.parametrize("seq_len", [1, 256, 257, 258, 512, 513, 1000, 4096, 32768])
def test_distinct_positions_are_those_of_bfloat16(seq_len: int):
    """bfloat16 is float32 with the lower 16 bits rounded away, ties to even."""
    bits = np.arange(seq_len, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    assert distinct_positions(seq_len, 256) == len(np.unique(rounded))


@pytest.mark.parametrize(("seq_len", "distinct"), [(512, 385), (4096, 769), (32768, 1153)])
def test_distinct_positions_of_the_case(seq_len: int, distinct: int):
    assert distinct_positions(seq_len, 256) == distinct


@pytest.mark.parametrize("weight", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("support", [{}, {"window": 5}, {"chunk": 7}, {"mask": "none"}, {"mask": "strict"}], ids=str)
@pytest.mark.parametrize("depth", [1, 4, 12])
def test_relative_distance_is_that_of_the_matrix_power(depth: int, support: dict[str, Any], weight: float):
    spec = Support(**support)
    rows, columns = np.indices((64, 64))
    seen = np.ones((64, 64)) if spec.mask == "none" else (columns <= rows - (spec.mask == "strict")).astype(float)
    seen *= abs(rows - columns) < (spec.window or 64)
    seen *= rows // (spec.chunk or 64) == columns // (spec.chunk or 64)
    layer = seen / np.maximum(seen.sum(1, keepdims=True), 1) + weight * np.eye(64)
    power = np.linalg.matrix_power(layer, depth)
    expected = np.linalg.norm(power - power.mean(0)) / np.linalg.norm(power)
    assert relative_distances(((spec, weight),) * depth, 64)[-1] == pytest.approx(expected, abs=1e-7)
