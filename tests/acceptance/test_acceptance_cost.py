"""Parameters, state, cache and operations, counted by hand."""

import math
from typing import Any

import numpy as np
import pytest
from given import ROOT, Spec, candidate, drawn

from designspace.cost import cost
from designspace.specfile import load
from workers.model import Model


def test_cost_of_llama_2_7b_is_the_published_one() -> None:
    """6,738,415,616 parameters; cache 2 x 4096 x 2 bytes per token and layer; (L + 1) / 2 keys seen on average."""
    one = load(ROOT / "tests" / "configs" / "llama-2-7b.json")
    found = cost(one)
    assert found.parameters.total == 6_738_415_616
    assert found.cache_bytes_per_token == 32 * 2 * 4096 * 2
    layer = found.layers[0].mixer
    assert layer.parameters == 4 * 4096**2
    assert layer.cache_bytes == 2 * 4096 * 2 * 4096
    assert layer.state_bytes == 0
    assert layer.training.quadratic == pytest.approx((4096 + 1) / 2 * (128 + 128) * 32)
    assert layer.training.recurrent is None
    assert layer.break_even_length is None
    assert cost(load(ROOT / "tests" / "configs" / "mistral-7b-v0.1.json")).parameters.total == 7_241_732_096
    llama3 = cost(load(ROOT / "tests" / "configs" / "llama-3.1-8b.json"))
    assert llama3.parameters.total == 8_030_261_248
    assert llama3.cache_bytes_per_token == 32 * 2 * 8 * 128 * 2


def test_cost_of_a_gated_deltanet_layer_by_hand() -> None:
    """model_dim 64, 4 heads, n = p = 16, L = 128: every number from catalogue.md 2.6."""
    spec: Spec = {
        "decay": {"granularity": "scalar", "map": "exp_softplus", "initial": [0.9, 0.99]},
        "erase": {"direction": "key"},
        "scaling": {"gate": "tied_to_erase"},
        "features": {"norm": "l2"},
        "heads": {"num_heads": 4, "state_dim": 16, "head_dim": 16},
        "io": {"output_norm": "head_rms", "short_conv": {"width": 4, "on": ["q", "k", "v"]}, "gate": "silu"},
    }
    one = candidate({"target": {"seq_len": 128}, "model": {"model_dim": 64}, "blocks": [{"mixer": spec}]})
    layer = cost(one).layers[0].mixer
    # q, k, v, output gate and output: 5 x 64 x 64; decay and beta: 2 x 64 x 4; conv 3 x 64 x 4; A, bias: 4 + 4; norm 16
    assert layer.parameters == 5 * 64 * 64 + 2 * 64 * 4 + 3 * 64 * 4 + 8 + 16
    assert layer.training.recurrent == 4 * 2 * 16 * 16 * (1 + 1)  # 2 K V (1 + n_h)
    assert layer.training.chunkwise == pytest.approx(4 * (64 * (3 * 16 + 2 * 16) / 2 + 64**2 / 6 + 2 * 16 * 16))
    assert layer.training.quadratic == pytest.approx(4 * ((128 + 1) / 2 * (2 * 16 + 16) + 128**2 / 6), rel=0.02)
    assert layer.training.scan is None  # products of rank-1 updates fill up
    assert layer.training.fft is None
    assert layer.state_bytes == 4 * 16 * 16 * 4 + 3 * 3 * 64 * 2  # float32 state, bfloat16 conv inputs
    assert layer.cache_bytes == 0
    assert layer.break_even_length == math.ceil(4 * 16 * 16 * 4 / (4 * (16 + 16) * 2))  # 16 tokens


def test_cost_of_a_mamba_layer_by_hand() -> None:
    """Mamba 130M: 1536 channels, N = 16: state N per channel, 3 past inputs of the convolution."""
    layer = cost(load("catalogue:mamba")).layers[0].mixer
    assert layer.state_bytes == 1536 * 16 * 4 + 3 * 1536 * 2
    assert layer.training.recurrent == 1536 * 2 * 16 * 1
    assert layer.training.scan == 1536 * 3 * 16 * 1
    assert layer.cache_bytes_per_token == 0


def test_parameters_of_published_mamba() -> None:
    """state-spaces/mamba-130m: 24 layers; in 768 x 3072, conv 4 + 1, x 1536 x 80, dt 48 x 1536 + 1536, A, D, out.

    Known limit, documented in the catalogue: dt, q and k read the 768 inputs of the layer, not the 1536 convolved
    channels; dt by a map of full rank, 27 % too many in all; and the convolution has no bias.
    """
    layer = 768 * 3072 + 1536 * 5 + 1536 * 80 + 48 * 1536 + 1536 + 1536 * 16 + 1536 + 1536 * 768
    assert 24 * (layer + 768) + 768 + 50280 * 768 == 129_135_360
    full_rank_dt = 768 * 1536 - (1536 * 48 + 48 * 1536)
    narrower_q_and_k = (1536 - 768) * 2 * 16
    convolution_bias = 1536
    found = cost(load("catalogue:mamba")).layers[0].mixer.parameters
    assert found == layer + full_rank_dt - narrower_q_and_k - convolution_bias


def test_cost_depends_on_the_length_as_the_theory_says() -> None:
    def at(name: str, length: int) -> Any:
        one = load(f"catalogue:{name}")
        return cost(one.model_copy(update={"target": one.target.model_copy(update={"seq_len": length})}))

    short, long = at("softmax_nope", 1024), at("softmax_nope", 4096)
    assert long.cache_bytes == 4 * short.cache_bytes
    assert long.layers[0].mixer.training.quadratic == pytest.approx(
        4 * short.layers[0].mixer.training.quadratic, rel=1e-2
    )
    short, long = at("gla", 1024), at("gla", 4096)
    assert long.memory_bytes == short.memory_bytes
    assert long.layers[0].mixer.training.recurrent == short.layers[0].mixer.training.recurrent
    window = at("softmax_window", 65536)
    assert window.cache_bytes == at("softmax_window", 131072).cache_bytes


def test_parameters_are_those_of_the_trained_model() -> None:
    rng = np.random.default_rng(12)
    checked = 0
    while checked < 25:
        spec = {"model": {"model_dim": 16, "vocab_size": 11}, "blocks": [{"repeat": 2, "mixer": drawn(rng)}]}
        one = candidate(spec)
        model = Model(one, seed=0)
        assert sum(p.numel() for p in model.parameters()) == cost(one).parameters.total, spec
        checked += 1
