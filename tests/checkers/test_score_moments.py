"""Predicted mean and spread of the scores against tokens at initialisation, and their integrals against draws."""

import math
from typing import Any, get_args

import numpy as np
import pytest
import torch

from checkers import scores, starts, vectors
from checkers.quadrature import Spread
from designspace import catalogue
from designspace.decay import Decay, DecayMap
from designspace.features import MapName, NormName
from designspace.mixer import MixerSpec
from workers import gates, terms
from workers.initial import initial_parameters, normal, raw_std
from workers.probe import probe
from workers.realise import raw_shapes, realise

BATCH, SEQ_LEN, SEEDS = 24, 24, 12
HEADS = {"num_heads": 4, "state_dim": 32, "head_dim": 2}
WITHIN = 0.12  # of the sampled std; sampling takes a third of it
RAW = np.random.default_rng(0).standard_normal((200_000, 16))


def mixer(**fields: Any) -> MixerSpec:
    return MixerSpec.model_validate({"heads": HEADS, **fields})


def sampled(spec: MixerSpec) -> tuple[float, float]:
    """Standard deviation about the mean of each head, and mean, of q_i . b_j k_j between tokens at initialisation."""
    std, apart = raw_std(spec), ~torch.eye(SEQ_LEN, dtype=torch.bool).repeat_interleave(spec.erase.rank, dim=1)
    square, mean = 0.0, 0.0
    for seed in range(SEEDS):
        raw = {
            name: std[name] * normal((BATCH, SEQ_LEN * shape.steps, shape.heads, shape.width), seed=seed, name=name)
            for name, shape in raw_shapes(spec).items()
        }
        signals = realise(spec, raw, initial_parameters(spec, seed=seed))
        key = signals.k * terms.gate(spec, signals)[..., None] * terms.score_base(spec, signals)[:, None]
        if signals.taps is not None:
            key = key * signals.taps[..., 0]
        if signals.rate is not None:
            key = key * signals.rate[..., None]
        query = signals.q if signals.levels is None else signals.q * signals.levels[..., :1]
        score = torch.einsum("bihn,bjhn->bhij", query, key)[..., apart]
        square += float((score - score.mean((0, 2), keepdim=True)).square().mean()) / SEEDS
        mean += float(score.mean()) / SEEDS
    return math.sqrt(square), mean


SMALL_STEPS = [0.001, 0.1]
INPUT = {"granularity": "scalar", "source": "input"}
FIXED = {"granularity": "scalar", "source": "constant", "map": "fixed", "range": [0.3, 0.97]}
DIAGONAL = {"granularity": "diagonal", "map": "sigmoid", "initial": [0.4, 0.97]}
STRETCHED = {"source": "constant", "fraction": 0.5, "attention_factor": 2.0}
EXPANDED = {"softmax_pm": {}, "taylor2": {}, "dpfp": {"width": 2}, "rff": {"width": 32}}


@pytest.mark.parametrize(
    "fields",
    [
        *({"scaling": {"gate": gate}} for gate in ("sigmoid", "two_sigmoid", "exp", "exp_key")),
        {"scaling": {"gate": "exp", "cap": 2.0}},
        {"scaling": {"gate": "dt", "initial": SMALL_STEPS}},
        {"scaling": {"gate": "dt"}, "features": {"map": "elu+1"}},
        {"scaling": {"gate": "sigmoid", "initial": [0.2, 0.8]}, "features": {"map": "relu"}},
        {"scaling": {"gate": "exp", "cap": 15.0, "initial": SMALL_STEPS}},
        {"scaling": {"gate": "sigmoid"}, "decay": INPUT | {"map": "complement", "initial": [0.5, 0.99]}},
        {"scaling": {"gate": "sigmoid"}, "decay": INPUT | {"map": "complement", "range": [0.5, 0.9]}},
        {"scaling": {"gate": "complement"}, "decay": INPUT | {"map": "sigmoid", "initial": [0.5, 0.99]}},
        {"scaling": {"gate": "complement"}, "decay": INPUT | {"map": "ratio", "initial": [0.3, 0.9]}},
        {"scaling": {"gate": "complement"}, "decay": INPUT | {"map": "exp_softplus_tau"}},
        {"scaling": {"gate": "complement"}, "decay": INPUT | {"map": "exp_softplus", "source": "learned"}},
        {"scaling": {"gate": "sqrt_1_minus_a2"}, "decay": INPUT | {"map": "rglru", "initial": [0.9, 0.999]}},
        {"scaling": {"gate": "sqrt_1_minus_a2"}, "decay": FIXED},
        {"scaling": {"gate": "tied_to_erase"}, "erase": {"direction": "key", "gain": [0.0, 2.0], "rank": 2}},
        {
            "scaling": {"gate": "step_power"},
            "decay": {"granularity": "diagonal", "map": "exp_softplus_tau", "initial": [0.9, 0.999]},
            "features": {"norm": "l2", "norm_on": "k"},
        },
        {"features": {"map": "one_minus_decay"}, "decay": DIAGONAL},
        {
            "features": {"map": "one_minus_decay", "norm": "layernorm", "norm_on": "k"},
            "decay": DIAGONAL,
        },
        {"scaling": {"gate": "sigmoid"}, "decay": {"granularity": "diagonal", "map": "one_minus_bk2"}},
        {
            "scaling": {"gate": "sigmoid"},
            "decay": {"granularity": "diagonal", "map": "one_minus_bk2", "initial": [0.5, 0.99]},
            "features": {"map": "elu+1"},
        },
        {"lift": {"kind": "shift", "width": 4}},
        {"lift": {"kind": "shift", "width": 4}, "features": {"map": "relu"}, "heads": HEADS | {"num_heads": 64}},
        {"lift": {"kind": "fenwick"}},
        {"lift": {"kind": "momentum"}, "scaling": {"gate": "tied_to_erase"}, "erase": {"direction": "key"}},
        *({"features": {"map": name, **more}} for name, more in EXPANDED.items()),
        *({"features": {"map": name, "norm": "rms", **more}} for name, more in EXPANDED.items() if name != "dpfp"),
        {"features": {"map": "dpfp", "width": 2, "norm": "sum"}},
        {"features": {"map": "rff", "width": 32, "norm": "layernorm"}},
        {"features": {"map": "softmax_pm", "norm": "layernorm"}},
        {"features": {"map": "softmax_pm", "q_std": 2.0, "k_std": 2.0}},
        {"features": {"map": "hadamard", "q_std": 0.5, "k_std": 2.0, "norm": "l2", "norm_on": "k"}},
        {"features": {"map": "relu", "norm": "rms", "norm_on": "k"}},
        {"features": {"map": "silu", "norm": "l2", "eps": 1.0, "eps_kind": "mean"}},
        {"features": {"map": "elu+1", "norm": "l2"}, "rotation": STRETCHED},
        {"features": {"map": "elu+1", "norm": "l2"}, "heads": HEADS | {"state_dim": 3}},
        {"features": {"map": "relu", "norm": "sum"}, "heads": HEADS | {"state_dim": 3}},
        {"features": {"map": "ones", "norm": "rms"}, "scaling": {"gate": "sigmoid"}},
        {"features": {"map": "static"}, "scaling": {"gate": "sigmoid"}, "heads": HEADS | {"num_heads": 256}},
    ],
    ids=str,
)  # fmt: skip
def test_score_moments_are_those_of_tokens_at_initialisation(fields: dict[str, Any]) -> None:
    spec = mixer(**fields)
    found, (std, mean) = scores.score_moments(spec), sampled(spec)
    assert found is not None
    assert found.std == pytest.approx(std, rel=WITHIN)
    assert found.mean == pytest.approx(mean, abs=0.06 * std + 0.03 * abs(mean))


@pytest.mark.parametrize("taps", [1, 4])
@pytest.mark.parametrize("name", ["relu", "silu", "elu+1"])
def test_random_taps_make_the_std_of_each_channel_random(name: MapName, taps: int) -> None:
    """The mean over tokens differs from channel to channel then: a part of its square is fixed by the weights."""
    rng, channels, tokens = np.random.default_rng(1), 40_000, 50
    std = np.sqrt(rng.chisquare(taps, channels) / taps)
    value = np.vectorize(vectors.elementwise(name))(std[:, None] * rng.standard_normal((channels, tokens)))
    found = vectors.entry(name, 1.0, taps)
    assert found.powers.mean == pytest.approx(value.mean(), rel=0.03)
    assert found.powers.square == pytest.approx((value**2).mean(), rel=0.06)
    assert found.fixed == pytest.approx((value.mean(1) ** 2 - value.var(1) / (tokens - 1)).mean(), rel=0.06)


@pytest.mark.parametrize("channels", [2, 5, 16])
@pytest.mark.parametrize("name", ["relu", "silu", "elu+1"])
def test_integrals_are_the_moments_of_normed_vectors(name: MapName, channels: int) -> None:
    features = np.vectorize(vectors.elementwise(name))(RAW[:, :channels])
    length = np.linalg.norm(features, axis=1, keepdims=True)
    unit = np.divide(features, length, out=np.zeros_like(features), where=length > 0)
    found = vectors.normed(name, 1.0, 0, "l2", channels, channels)
    assert found is not None
    assert found.mean == pytest.approx(unit.mean(), rel=0.01, abs=3e-3)
    assert found.square == pytest.approx((unit**2).mean(), rel=0.01)
    assert found.cross == pytest.approx((unit[:, 0] * unit[:, 1]).mean(), rel=0.02, abs=1e-3)


@pytest.mark.parametrize("name", ["relu", "elu+1"])
def test_integrals_are_the_moments_of_vectors_over_their_sum(name: MapName) -> None:
    features = np.vectorize(vectors.elementwise(name))(RAW[:, :6])
    total = features.sum(1, keepdims=True)
    share = np.divide(features, total, out=np.zeros_like(features), where=total > 0)
    found = vectors.normed(name, 1.0, 0, "sum", 6, 6)
    assert found is not None
    assert found.mean == pytest.approx(share.mean(), rel=0.01)
    assert found.square == pytest.approx((share**2).mean(), rel=0.01)
    assert found.cross == pytest.approx((share[:, 0] * share[:, 1]).mean(), rel=0.02)


@pytest.mark.parametrize("norm", ["none", "l2"])
@pytest.mark.parametrize("std", [0.5, 1.0, 3.0])
def test_integrals_are_the_moments_of_mirrored_exponentials(std: float, norm: NormName) -> None:
    both = np.concatenate((std * RAW[:, :8], -std * RAW[:, :8]), axis=1)
    value = np.exp(both - both.max(1, keepdims=True))
    value /= value.sum(1, keepdims=True) if norm == "none" else np.linalg.norm(value, axis=1, keepdims=True)
    found = vectors.softmax_pm(std, 0, norm, 8, 8)
    assert found.mean == pytest.approx(value.mean(), rel=0.01)
    assert found.square == pytest.approx((value**2).mean(), rel=0.01)
    assert found.cross == pytest.approx((value[:, 0] * value[:, 1]).mean(), rel=0.03)
    assert found.mirror == pytest.approx((value[:, 0] * value[:, 8]).mean(), rel=0.03)


MAPS = [name for name in get_args(DecayMap) if name not in ("fixed", "one_minus_bk2")]


@pytest.mark.parametrize("bounds", [(0.05, 1.0), (0.25, 0.75)])
@pytest.mark.parametrize("name", MAPS)
def test_decay_maps_are_those_of_the_compiled_mixer(name: DecayMap, bounds: tuple[float, float]) -> None:
    decay = Decay(granularity="scalar", source="input", map=name, range=bounds)
    for a in (bounds[0] + 0.01, 0.5, bounds[1] - 0.01):
        x = float(gates.decay_preactivation(decay, torch.tensor(a, dtype=torch.float64)))
        assert starts.preactivation(decay, a) == pytest.approx(x, rel=1e-6, abs=1e-9)
    for x in (-2.0, -0.3, 1.7):
        pre = torch.tensor(x, dtype=torch.float64)
        other = 0.4 * torch.ones_like(pre)
        expected = gates.log_decay(decay, pre, other if name == "rglru" else None, other).exp()
        assert starts.factor_at(decay, x, rate=0.4, other=0.4) == pytest.approx(float(expected), rel=1e-9)


def test_a_gate_by_position_is_averaged_over_the_positions() -> None:
    spec = mixer(scaling={"gate": "index"})
    first, all_keys = scores.score_moments(spec), scores.score_moments(spec, 64)
    assert first is not None
    assert all_keys is not None
    assert all_keys.std / first.std == pytest.approx(math.sqrt(sum(j**-2.0 for j in range(1, 65)) / 64))
    assert scores.gate_spread(spec, 2000).mean == pytest.approx(sum(1.0 / j for j in range(1, 2001)) / 2000)
    assert scores.gate_spread(spec, 2000).square == pytest.approx(sum(j**-2.0 for j in range(1, 2001)) / 2000)


def test_the_query_schedule_is_averaged_over_the_positions() -> None:
    spec, seq_len = mixer(scaling={"query_schedule": "log"}), 20_000
    factors = [1.0 + 0.1 * math.log1p(position // 8192) for position in range(1, seq_len + 1)]
    found = scores.query_schedule(spec, seq_len)
    assert found.mean == pytest.approx(sum(factors) / seq_len)
    assert found.square == pytest.approx(sum(one * one for one in factors) / seq_len)
    assert scores.query_schedule(spec, 4096) == scores.ONE


def test_spreads_multiply_as_independent_variables_do() -> None:
    """The fixed part is what stays when the tokens change: (a + x) b with a, b of the head and x of the token."""
    rng = np.random.default_rng(0)
    head, token = 1.0 + rng.standard_normal((2000, 1)), rng.standard_normal((2000, 500))
    left = Spread(1.0, 3.0, 2.0).times_independent(Spread(2.0, 5.0, 5.0))
    value = (head + token) * (2.0 + rng.standard_normal((2000, 1)))
    assert left.std == pytest.approx(math.sqrt(value.var(axis=1).mean()), rel=0.05)


@pytest.mark.parametrize(
    "name", ["softmax_rope", "mamba", "hgrn2", "longhorn", "rodimus", "hedgehog", "rfa_gate", "h3"]
)
def test_the_probe_measures_what_is_predicted(name: str) -> None:
    found = next(catalogue.get(name).candidate.mixers()).mixer
    measured = {one.quantity: one for one in probe(catalogue.get(name).candidate, 0, only=("score_scale",), draws=6)}
    predicted, std, mean = scores.score_moments(found, 64), measured["score_std"], measured["score_mean"]
    assert predicted is not None
    assert abs(std.value - predicted.std) <= 0.15 * predicted.std + std.uncertainty
    assert abs(mean.value - predicted.mean) <= 0.15 * max(abs(predicted.mean), predicted.std) + mean.uncertainty
