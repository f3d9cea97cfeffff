"""Predicted gains against simulations in numpy and closed forms that share nothing with the prediction."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from checkers.growth import declared_gain, gain_supremum, not_derived, output_gain, typical_gain
from designspace import catalogue
from designspace.mixer import MixerSpec

RUNS = 1500
TOKENS = 48
WIDTH = 16
HEADS = {"num_heads": 1, "state_dim": WIDTH, "head_dim": 1}
Draw = Callable[[np.random.Generator], Any]


def mixer(**fields: Any) -> MixerSpec:
    return MixerSpec.model_validate({"heads": HEADS, "scaling": {"base": 1.0}, **fields})


def gate_of_no_bias(rng: np.random.Generator) -> Any:
    return 1 / (1 + np.exp(-rng.standard_normal((RUNS, 1))))


def normal(rng: np.random.Generator) -> Any:
    return rng.standard_normal((RUNS, WIDTH))


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def unit_silu(rng: np.random.Generator) -> Any:
    found = silu(normal(rng))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def relu(rng: np.random.Generator) -> Any:
    return np.maximum(normal(rng), 0)


def gain_of(y: np.ndarray, values: np.ndarray) -> float:
    return float(np.sqrt((y**2).mean() / (values**2).mean()))


def simulated_erase(
    draw: Draw, *, tokens: int, decay: float = 1.0, silu_values: bool = False, free: bool = False
) -> float:
    """S <- (I - beta u u^T) a S + beta k v^T with beta = sigmoid(x), y = S^T q; u = k or a unit vector of its own."""
    rng = np.random.default_rng(0)
    state, seen = np.zeros((RUNS, WIDTH)), []
    for _ in range(tokens):
        k, v = draw(rng), rng.standard_normal(RUNS)
        v = silu(v) if silu_values else v
        beta = gate_of_no_bias(rng)
        u = k
        if free:
            u = normal(rng)
            u /= np.linalg.norm(u, axis=1, keepdims=True)
        state = decay * state
        state = state - beta * u * (state * u).sum(1, keepdims=True)
        state = state + beta * k * v[:, None]
        seen.append(v)
    return gain_of((state * draw(rng)).sum(1), np.array(seen))


ERASE: dict[str, Any] = {"erase": {"direction": "key"}, "scaling": {"base": 1.0, "gate": "tied_to_erase"}}


@pytest.mark.parametrize("tokens", [8, TOKENS, 200])
@pytest.mark.parametrize("values", ["none", "silu"])
def test_delta_rule_of_keys_with_a_mean(tokens: int, values: str) -> None:
    """silu keys of unit length share a direction, which the erase removes first (the entry deltanet)."""
    spec = mixer(**ERASE, features={"map": "silu", "norm": "l2"}, io={"value_activation": values})
    found = simulated_erase(unit_silu, tokens=tokens, silu_values=values == "silu")
    assert typical_gain(spec, tokens) == pytest.approx(found, rel=0.08)


def test_delta_rule_with_a_decay() -> None:
    decay = {"granularity": "scalar", "source": "constant", "map": "fixed", "range": [0.9, 0.9]}
    spec = mixer(**ERASE, features={"map": "silu", "norm": "l2"}, decay=decay)
    assert typical_gain(spec, TOKENS) == pytest.approx(simulated_erase(unit_silu, tokens=TOKENS, decay=0.9), rel=0.08)


def test_free_direction_erases_whatever_the_key() -> None:
    spec = mixer(erase={"direction": "free"}, scaling={"base": 1.0, "gate": "tied_to_erase"})
    assert typical_gain(spec, TOKENS) == pytest.approx(simulated_erase(normal, tokens=TOKENS, free=True), rel=0.08)


def test_keys_without_a_norm_blow_up() -> None:
    """beta |k|^2 = 8: a step multiplies what it meets by -7."""
    spec = mixer(erase={"direction": "key"})
    assert (typical_gain(spec, TOKENS) or 0.0) > 1e6
    assert simulated_erase(normal, tokens=TOKENS) > 1e6


def test_momentum() -> None:
    """M <- mu M + eta k (k . S - v), S <- S - beta M, gates of no bias."""
    rng = np.random.default_rng(0)
    state, velocity, seen = np.zeros((RUNS, WIDTH)), np.zeros((RUNS, WIDTH)), []
    for _ in range(TOKENS):
        k, v = unit_silu(rng), silu(rng.standard_normal(RUNS))
        error = (state * k).sum(1) - v
        velocity = gate_of_no_bias(rng) * velocity + gate_of_no_bias(rng) * k * error[:, None]
        state = state - gate_of_no_bias(rng) * velocity
        seen.append(v)
    found = gain_of((state * unit_silu(rng)).sum(1), np.array(seen))
    spec = mixer(
        **ERASE, features={"map": "silu", "norm": "l2"}, io={"value_activation": "silu"}, lift={"kind": "momentum"}
    )
    assert typical_gain(spec, TOKENS) == pytest.approx(found, rel=0.1)


def test_momentum_inside_phi() -> None:
    """What a heavy ball makes of each key, k_j -> [beta eta k; -eta k] and on, goes through a softplus."""
    rng = np.random.default_rng(0)
    states, velocities = np.zeros((2, RUNS, 0, WIDTH))
    for _ in range(TOKENS):
        k, beta, mu, eta = unit_silu(rng)[:, None], *(gate_of_no_bias(rng)[:, None] for _ in range(3))
        velocities = mu * velocities + eta * k * (states * k).sum(-1, keepdims=True)
        states = states - beta * velocities
        states, velocities = (np.concatenate(both, 1) for both in ((states, beta * eta * k), (velocities, -eta * k)))
    scores = (states * unit_silu(rng)[:, None]).sum(-1)
    found = float(np.sqrt((np.logaddexp(0, 8 * scores) ** 2).sum(1).mean()))
    spec = mixer(
        erase={"direction": "key"},
        scaling={"base": 8.0, "gate": "tied_to_erase"},
        features={"map": "silu", "norm": "l2"},
        readout={"kind": "softplus"},
        lift={"kind": "momentum"},
    )
    assert typical_gain(spec, TOKENS) == pytest.approx(found, rel=0.08)


def simulated_sum(
    draw: Draw, phi: Callable[[np.ndarray, int], np.ndarray], *, tokens: int = TOKENS, silu_values: bool = False
) -> float:
    """y = sum over lags of phi(q . k, lag) v."""
    rng = np.random.default_rng(0)
    q, total, seen = draw(rng), np.zeros(RUNS), []
    for lag in range(tokens):
        v = rng.standard_normal(RUNS)
        v = silu(v) if silu_values else v
        total += phi((q * draw(rng)).sum(1), lag) * v
        seen.append(v)
    return gain_of(total, np.array(seen))


@pytest.mark.parametrize(
    ("readout", "phi"),
    [
        ({"kind": "relu", "power": 2}, lambda z: np.maximum(z, 0) ** 2),
        ({"kind": "softplus"}, lambda z: np.logaddexp(0, z)),
        ({"kind": "sigmoid", "offset": -1.5}, lambda z: 1 / (1 + np.exp(1.5 - z))),
        ({"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]}, lambda z: 1 + z + z**2 / 2),
        ({"kind": "identity", "softcap": 1.0}, np.tanh),
        ({"kind": "exponential"}, np.exp),
    ],
)
@pytest.mark.parametrize("values", ["none", "silu"])
def test_nonlinear_readouts(readout: dict[str, Any], phi: Callable[[np.ndarray], np.ndarray], values: str) -> None:
    """Values with a mean add up what the phi of a row have in common."""
    spec = mixer(readout=readout, scaling={"base": "n^-1/2"}, io={"value_activation": values})
    found = simulated_sum(normal, lambda z, _: phi(z / 4), silu_values=values == "silu")
    assert typical_gain(spec, TOKENS) == pytest.approx(found, rel=0.12)


def test_the_offset_of_a_sigmoid_acts_behind_its_softcap() -> None:
    """tanh holds z within 1, not z - log L: phi = sigmoid(tanh(z) - log 48)."""
    readout = {"kind": "sigmoid", "offset": "-log_length", "softcap": 1.0}
    found = simulated_sum(normal, lambda z, _: 1 / (1 + TOKENS * np.exp(-np.tanh(z))))
    assert typical_gain(mixer(readout=readout), TOKENS) == pytest.approx(found, rel=0.08)


def test_a_decay_inside_phi_fades_scores_to_phi_of_0() -> None:
    decay = {"granularity": "scalar", "source": "constant", "map": "fixed", "range": [0.8, 0.8]}
    spec = mixer(readout={"kind": "softplus"}, decay=decay)
    found = simulated_sum(normal, lambda z, lag: np.logaddexp(0, 0.8**lag * z))
    assert typical_gain(spec, TOKENS) == pytest.approx(found, rel=0.08)


@pytest.mark.parametrize("values", ["none", "silu"])
def test_positive_features(values: str) -> None:
    spec = mixer(features={"map": "relu"}, io={"value_activation": values})
    found = simulated_sum(relu, lambda z, _: z, silu_values=values == "silu")
    assert typical_gain(spec, TOKENS) == pytest.approx(found, rel=0.08)


def test_index_gate_is_largest_at_the_first_token() -> None:
    spec = mixer(scaling={"base": 1.0, "gate": "index"})
    expected = math.sqrt(WIDTH * sum(1 / j**2 for j in range(1, TOKENS + 1)))
    assert typical_gain(spec, TOKENS) == pytest.approx(expected, rel=0.02)


def test_index_gate_in_a_window_is_small_far_from_the_start() -> None:
    spec = mixer(scaling={"base": 1.0, "gate": "index"}, support={"window": 4})
    expected = math.sqrt(WIDTH * sum(1 / j**2 for j in range(TOKENS - 3, TOKENS + 1)))
    assert typical_gain(spec, TOKENS) == pytest.approx(expected, rel=0.02)


def test_fenwick_levels_weigh_each_key() -> None:
    """softplus of a normal that starts at 1: E = 1.09 squared plus its variance."""
    x = np.random.default_rng(0).standard_normal(200_000) + math.log(math.e - 1)
    weight = float(np.mean(np.logaddexp(0, x) ** 2))
    spec = mixer(lift={"kind": "fenwick"})
    assert typical_gain(spec, TOKENS) == pytest.approx(math.sqrt(WIDTH * TOKENS * weight), rel=0.02)


@pytest.mark.parametrize(("tokens", "kept"), [(4, 4 / 8), (8, 1.0), (64, 1.0)])
def test_filter_reads_the_taps_that_it_has_room_for(tokens: int, kept: float) -> None:
    """8 taps of variance 1 / 8 on each of 16 channels."""
    spec = mixer(lift={"kind": "shift", "width": 8})
    assert typical_gain(spec, tokens) == pytest.approx(math.sqrt(WIDTH * kept), rel=0.02)


def test_filter_inside_phi_leaves_phi_of_0_behind_the_last_tap() -> None:
    spec = mixer(readout={"kind": "sigmoid"}, lift={"kind": "shift", "width": 1}, scaling={"base": 1e-6})
    assert typical_gain(spec, TOKENS) == pytest.approx(0.5 * math.sqrt(TOKENS), rel=1e-3)


def test_convolution_that_fills_up_lets_the_gain_grow_with_the_length() -> None:
    """H3: keys behind 64 random taps have min(j, 64) / 64 of their energy, so that G grows like L and not its root."""
    spec = mixer(io={"short_conv": {"width": 64, "on": ["k"]}})
    gains = [typical_gain(spec, length) for length in (8, 64)]
    expected = [math.sqrt(WIDTH * sum(j / 64 for j in range(1, length + 1))) for length in (8, 64)]
    assert gains == pytest.approx(expected, rel=0.02)
    assert math.log(expected[1] / expected[0]) / math.log(8) == pytest.approx(1.0, abs=0.05)


def test_trapezoidal_rule_gives_each_key_the_rest_one_step_later() -> None:
    """Without a gate of its own: 1 at once, 1 - sigmoid(x) more at the next step."""
    rest = 1 / (1 + np.exp(-np.random.default_rng(0).standard_normal(200_000)))
    weight = float(np.mean((1 + rest) ** 2))
    expected = math.sqrt(WIDTH * (1 + (TOKENS - 1) * weight))
    assert typical_gain(mixer(lift={"kind": "delay1"}), TOKENS) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    ("support", "keys"),
    [
        ({"window": 7}, 7),
        ({"chunk": 7}, 7),
        ({"mask": "strict"}, TOKENS - 1),
        ({"mask": "none"}, TOKENS),
        ({"mask": "none", "window": 7}, 13),
    ],
)
def test_gain_counts_the_keys_of_the_query_that_sees_most(support: dict[str, Any], keys: int) -> None:
    assert typical_gain(mixer(support=support), TOKENS) == pytest.approx(math.sqrt(WIDTH * keys))


def test_micro_steps_are_keys() -> None:
    spec = mixer(erase={"direction": "free", "rank": 3, "gain": [1e-9, 1e-9]})
    assert typical_gain(spec, TOKENS) == pytest.approx(math.sqrt(WIDTH * 3 * TOKENS), rel=1e-3)


def test_long_sums_are_those_of_the_geometric_series() -> None:
    decay = {"granularity": "scalar", "source": "learned", "map": "sigmoid", "initial": [0.99, 0.9999]}
    found = output_gain(mixer(decay=decay), 20_000)
    assert found is not None
    expected = [math.sqrt(WIDTH * (1 - a**40_000) / (1 - a**2)) for a in (0.99, 0.9999)]
    assert (found.lowest, found.highest) == pytest.approx(expected, rel=1e-9)


def test_channels_of_a_diagonal_decay_are_averaged_within_the_head() -> None:
    """The energy of a head is the mean over its channels, not that of the slowest."""
    decay = {"granularity": "diagonal", "source": "learned", "map": "exp_exp", "initial": [0.9, 0.999]}
    position = (np.arange(WIDTH) + 0.5) / WIDTH
    factors = 1 - 0.1 * 0.01**position
    expected = math.sqrt(float(sum((1 - a**4096) / (1 - a**2) for a in factors)))
    found = output_gain(mixer(decay=decay), 2048)
    assert found is not None
    assert (found.lowest, found.highest) == pytest.approx((expected, expected), rel=1e-3)


@pytest.mark.parametrize(("name", "slope"), [("linear", 0.5), ("mamba", 0.0)])
def test_slopes(name: str, slope: float) -> None:
    found = output_gain(catalogue.get(name).mixer, 16_384)
    assert found is not None
    assert found.slope == pytest.approx(slope, abs=0.15)


def test_declared_range_decides_where_nobody_declares_a_start() -> None:
    undeclared = mixer(decay={"granularity": "scalar", "map": "sigmoid", "range": [0.1, 0.5]})
    assert output_gain(undeclared, 4096) is None
    found = declared_gain(undeclared, 4096)
    assert found is not None
    assert (found.lowest, found.highest) == pytest.approx([math.sqrt(WIDTH / (1 - a**2)) for a in (0.1, 0.5)])


@pytest.mark.parametrize(
    ("fields", "bound"),
    [
        ({}, math.sqrt(WIDTH * 64)),
        ({"scaling": {"base": 1.0, "gate": "two_sigmoid"}}, 2 * math.sqrt(WIDTH * 64)),
        ({"scaling": {"base": 1.0, "gate": "exp"}}, math.inf),
        ({"scaling": {"base": 1.0, "gate": "exp", "cap": 2.0}}, math.exp(2) * math.sqrt(WIDTH * 64)),
        ({"decay": {"granularity": "scalar", "map": "sigmoid", "range": [0.0, 0.5]}}, math.sqrt(WIDTH / 0.75)),
    ],
)
def test_supremum_takes_the_ends_of_what_is_declared(fields: dict[str, Any], bound: float) -> None:
    assert gain_supremum(mixer(**fields), 64) == pytest.approx(bound)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"features": {"map": "favor", "width": 16}}, "heavy tail"),
        ({"features": {"norm": "sum"}}, "crosses zero"),
        ({"features": {"map": "taylor2"}, "erase": {"direction": "free"}}, "erase leaves"),
    ],
)
def test_what_has_no_closed_form_says_so(fields: dict[str, Any], reason: str) -> None:
    spec = mixer(**fields)
    assert reason in (not_derived(spec) or "")
    assert output_gain(spec, 64) is None
    assert typical_gain(spec, 64) is None
