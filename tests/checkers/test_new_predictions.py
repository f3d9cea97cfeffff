"""Predicted scores and gains of the newer keys against tokens at initialisation, and what rules say about them."""

from typing import Any

import pytest
import torch

from checkers import check, scores
from checkers.growth import output_gain
from checkers.rule import resolved
from designspace.mixer import MixerSpec
from workers.coefficients import coefficients
from workers.initial import initial_parameters, normal, raw_std
from workers.realise import raw_shapes, realise
from workers.signals import Signals

BATCH, SEQ_LEN, SEEDS = 40, 17, 3
HEADS = {"num_heads": 4, "state_dim": 32, "head_dim": 2}


def mixer(**fields: Any) -> MixerSpec:
    return MixerSpec.model_validate({"heads": HEADS, **fields})


def at_initialisation(spec: MixerSpec, seed: int, *, batch: int = BATCH, seq_len: int = SEQ_LEN) -> Signals:
    std = raw_std(spec)
    raw = {
        name: std[name] * normal((batch, seq_len * shape.steps, shape.heads, shape.width), seed=seed, name=name)
        for name, shape in raw_shapes(spec).items()
    }
    return realise(spec, raw, initial_parameters(spec, seed=seed))


def products(spec: MixerSpec) -> torch.Tensor:
    """q . k of different tokens."""
    apart = ~torch.eye(SEQ_LEN, dtype=torch.bool)
    every = [at_initialisation(spec, seed) for seed in range(SEEDS)]
    return torch.cat([torch.einsum("bihn,bjhn->bhij", one.q, one.k)[..., apart].flatten() for one in every])


TURNED = {"source": "constant", "fraction": 0.5, "attention_factor": 2.0}


@pytest.mark.parametrize(
    "fields",
    [
        {"features": {"norm": "l2", "norm_over": "all_heads"}},
        {"features": {"norm": "l2", "norm_over": "all_heads"}, "heads": HEADS | {"kv_groups": 1}},
        {"features": {"map": "silu", "norm": "rms", "norm_over": "all_heads"}},
        {"features": {"map": "elu+1", "norm": "l2", "norm_over": "all_heads"}},
        {"features": {"map": "relu", "norm": "sum", "norm_over": "all_heads"}},
        {"features": {"map": "relu_zero"}},
        {"features": {"map": "relu_zero", "norm": "l2"}},
        {"features": {"map": "relu_zero", "norm": "rms"}},
        {"features": {"map": "scaled_static"}, "heads": HEADS | {"num_heads": 256}},  # as many learned vectors
        {"rotation": TURNED},
        {"rotation": TURNED | {"fraction": 1.0}, "features": {"map": "elu+1", "norm": "l2"}},
    ],
    ids=str,
)
def test_score_spread_is_that_of_tokens_at_initialisation(fields: dict[str, Any]) -> None:
    spec = mixer(**fields)
    found, sampled = scores.product_moments(spec), products(spec)
    assert found is not None
    assert found.std == pytest.approx(float(sampled.std()), rel=0.12)
    assert found.mean == pytest.approx(float(sampled.mean()), abs=0.06 * float(sampled.std()) + 0.02 * abs(found.mean))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"features": {"norm": "sum"}}, "crosses zero"),
        ({"features": {"map": "silu", "norm": "sum", "norm_on": "k"}}, "crosses zero"),
        ({"features": {"map": "favor", "width": 16}}, "heavy tail"),
        ({"features": {"map": "relu_zero", "norm": "layernorm"}}, "lifts the zeros"),
        ({"features": {"map": "dpfp", "width": 2, "norm": "l2"}}, "is not derived"),
        ({"features": {"map": "softmax_pm", "map_over": "sequence"}}, "depend on the length"),
    ],
    ids=str,
)
def test_a_spread_that_is_not_derived_is_not_claimed(fields: dict[str, Any], reason: str) -> None:
    spec = mixer(**fields)
    assert scores.score_moments(spec) is None
    assert scores.product_moments(spec) is None
    assert reason in (scores.underived(spec) or "")


@pytest.mark.parametrize(
    "fields",
    [
        {"rotation": TURNED | {"fraction": 1.0}},
        {"features": {"norm": "l2", "norm_over": "all_heads"}, "scaling": {"base": 1.0}},
        {
            "decay": {
                "granularity": "scalar",
                "source": "constant",
                "map": "fixed",
                "range": (0.3, 0.97),
                "spacing": "log_rate",
            }
        },
    ],
    ids=str,
)
def test_gain_is_that_of_the_coefficients(fields: dict[str, Any]) -> None:
    spec, seq_len = mixer(**fields), 64
    alpha = coefficients(spec, at_initialisation(spec, 0, batch=24, seq_len=seq_len))[..., -1, :]
    measured = alpha.square().sum(-1).mean(0).sqrt()
    found = output_gain(spec, seq_len)
    assert found is not None
    assert (found.lowest, found.highest) == pytest.approx((float(measured.min()), float(measured.max())), rel=0.2)


def verdict(code: str, fields: dict[str, Any]) -> str:
    return next(one.verdict for one in check(resolved({"mixer": fields})).verdicts if one.code == code)


ERASE = {"erase": {"direction": "key"}, "scaling": {"gate": "tied_to_erase"}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"features": {"norm": "l2"}}, "pass"),
        ({"features": {"norm": "rms", "norm_over": "all_heads"}}, "fail"),
        ({"features": {"norm": "l2"}, "rotation": {"source": "constant", "attention_factor": 2.0}}, "fail"),
        (
            {
                "features": {"norm": "l2"},
                "decay": {"granularity": "diagonal", "map": "exp_softplus_tau"},
                "scaling": {"gate": "step_power"},
            },
            "fail",
        ),
    ],
    ids=str,
)
def test_an_erase_along_longer_keys_expands(fields: dict[str, Any], expected: str) -> None:
    assert verdict("CD602", ERASE | fields) == expected


@pytest.mark.parametrize(("norm_on", "expected"), [("qk", "pass"), ("k", "fail")])
def test_a_norm_on_keys_alone_bounds_no_score(norm_on: str, expected: str) -> None:
    softmax = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
    one = {"features": {"norm": "l2", "norm_on": norm_on}, "scaling": {"base": 1.0}}  # of std 1 with the norm on k
    assert verdict("CD502", softmax | one) == expected
    unstable = softmax | {"execution": {"stabiliser": "none"}, "features": {"norm": "l2", "norm_on": norm_on}}
    assert verdict("CD604", unstable) == expected


def test_a_negative_slope_of_the_readout_turns_the_sign_of_eta() -> None:
    quarter = {"source": "constant", "theta": 1.0, "scaling": {"kind": "linear", "factor": 4096.0}}
    fields = {"features": {"map": "relu_zero"}, "rotation": quarter, "normalization": {"kind": "sum", "eps": 1e-6}}
    assert verdict("CD603", fields) == "pass"
    negative = {"readout": {"kind": "polynomial", "coefficients": (0.0, -1.0)}}
    assert verdict("CD603", fields | negative) == "fail"
