"""Closed formulas against the torch model, published counts, published cache sizes and the visible keys."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from designspace import catalogue
from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, single
from designspace.cost import cost, mixer_cost, state_rows
from designspace.decay import Decay
from designspace.erase import Erase
from designspace.execution import Dtypes, Execution
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.lift import Lift
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential, Polynomial
from designspace.scaling import Scaling
from designspace.support import Support
from designspace.target import Target
from tests.strategies import random_candidate
from workers.model import build

BFLOAT16_STATE = Execution(dtype=Dtypes(state="bfloat16"))


def attention(num_heads: int, head_dim: int, kv_groups: int | None = None, window: int | None = None) -> MixerSpec:
    return MixerSpec(
        readout=Exponential(kind="exponential"),
        normalization=Normalization(kind="sum"),
        support=Support(window=window),
        heads=Heads(num_heads=num_heads, state_dim=head_dim, head_dim=head_dim, kv_groups=kv_groups),
    )


def recurrence(name: str, **heads: Any) -> MixerSpec:
    """The mixer of a catalogue entry with its published sizes replaced and the state kept in two bytes."""
    mixer = catalogue.get(name).mixer
    data = mixer.model_dump(mode="json")
    data["heads"] |= heads
    return MixerSpec.model_validate(data | {"execution": BFLOAT16_STATE.model_dump()})


def stack(mixer: MixerSpec, *, depth: int, width: int, vocab: int, seq_len: int = 1, ratio: float = 0.0) -> Candidate:
    channel = ChannelMixer(kind="swiglu", ratio=ratio) if ratio else ChannelMixer(kind="none")
    return Candidate(
        target=Target(seq_len=seq_len),
        model=ModelSpec(model_dim=width, vocab_size=vocab),
        blocks=(Block(repeat=depth, mixer=mixer, channel_mixer=channel),),
    )


def shrunk(candidate: Candidate) -> Candidate:
    """The same structure at sizes that a test can build."""
    data = candidate.model_dump(mode="json", by_alias=True)
    data["model"] |= {"model_dim": 12, "vocab_size": 11}
    data["target"]["seq_len"] = 16
    for block in data["blocks"]:
        block["repeat"] = min(block["repeat"], 2)
        for mixer in block["mixer"].get("parallel", [block["mixer"]]):
            shrink(mixer)
    return Candidate.model_validate(data)


def shrink(mixer: dict[str, Any]) -> None:
    heads, groups = mixer["heads"], mixer["heads"]["kv_groups"]
    small = {"num_heads": 4, "state_dim": min(heads["state_dim"], 8), "head_dim": min(heads["head_dim"], 6)}
    if heads["latent_dim"]:
        small |= {"latent_dim": 5, "shared_key_dim": 3}
    mixer["heads"] = heads | small | {"kv_groups": None if groups is None else min(groups, 2)}
    if mixer["lift"]["width"]:
        mixer["lift"]["width"] = 5


def built_parameters(candidate: Candidate) -> int:
    torch.set_num_threads(1)
    return sum(parameter.numel() for parameter in build(candidate, seed=0).parameters())


@pytest.mark.parametrize("name", catalogue.names())
def test_parameters_equal_the_built_model(name: str) -> None:
    candidate = shrunk(catalogue.get(name).candidate)
    assert cost(candidate).parameters.total == built_parameters(candidate)


@pytest.mark.parametrize("seed", range(60))
def test_parameters_of_random_candidates_equal_the_built_model(seed: int) -> None:
    candidate = random_candidate(seed)
    assert cost(candidate).parameters.total == built_parameters(candidate)


def test_llama_7b_parameters_are_the_published_ones() -> None:
    assert cost(catalogue.get("softmax_rope").candidate).parameters.total == 6_738_415_616


def test_mistral_7b_parameters_are_the_published_ones() -> None:
    assert cost(catalogue.get("softmax_window").candidate).parameters.total == 7_241_732_096


def test_qwen3_parameters_are_the_published_ones_with_a_tied_head() -> None:
    parameters = cost(catalogue.get("softmax_qknorm").candidate).parameters
    assert parameters.total - parameters.head == 596_049_920


def test_mamba2_130m_parameters_are_the_published_ones() -> None:
    """The published model ties the head and has a bias in the convolution."""
    parameters = cost(catalogue.get("mamba2").candidate).parameters
    convolved = 24 * 64 + 2 * 128
    assert parameters.total - parameters.head + 24 * convolved == 128_989_632


def test_mamba_2_8b_parameters_are_the_published_ones() -> None:
    """There B, C and dt come from the 5120 convolved channels, dt through rank 160; ours come from the 2560 inputs."""
    parameters = cost(stack(recurrence("mamba", num_heads=5120), depth=64, width=2560, vocab=50280)).parameters
    ours = 2560 * (2 * 16 + 5120)
    published = 5120 * (160 + 2 * 16) + 160 * 5120
    bias = 5120
    assert parameters.total - parameters.head + 64 * (published + bias - ours) == 2_768_345_600


# model: (mixer, layers, bytes of cache per token, bytes of state) in two-byte numbers
PUBLISHED = {
    "llama-2-7b": (attention(32, 128), 32, 524_288, 0),
    "llama-3.1-8b": (attention(32, 128, 8), 32, 131_072, 0),
    "mistral-7b": (attention(32, 128, 8, window=4096), 32, 131_072, 0),
    "gemma-2b": (attention(8, 256, 1), 18, 18_432, 0),
    "gpt2": (attention(12, 64), 12, 36_864, 0),
    "falcon-40b": (attention(128, 64, 8), 60, 122_880, 0),
    "qwen3-next attention": (attention(16, 256, 2), 12, 24_576, 0),
    "qwen3-next delta": (
        recurrence("gated_deltanet", num_heads=32, state_dim=128, head_dim=128, kv_groups=16, shared="qk"),
        36,
        0,
        39_518_208,
    ),
    "mamba-2.8b": (recurrence("mamba", num_heads=5120), 64, 0, 12_451_840),
    "mamba2-2.7b": (recurrence("mamba2", num_heads=80), 64, 0, 85_950_464),
    "codestral-mamba-7b": (recurrence("mamba2", num_heads=128, kv_groups=8), 64, 0, 138_149_888),
    "minimax-text-01": (recurrence("lightning_minimax"), 70, 0, 146_800_640),
    "gla-340m": (recurrence("gla"), 24, 0, 6_291_456),
    "deltanet-1.3b": (recurrence("deltanet"), 24, 0, 13_467_648),
    "gated-deltanet-1.3b": (recurrence("gated_deltanet"), 21, 0, 33_804_288),
    "lfm2-1.2b convolutions": (
        MixerSpec(
            lift=Lift(kind="shift", width=3),
            scaling=Scaling(base=1.0),
            heads=Heads(layout="channel", num_heads=2048, state_dim=1, head_dim=1),
        ),
        10,
        0,
        81_920,
    ),
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_cache_and_state_bytes_are_the_published_ones(model: str) -> None:
    mixer, depth, cache, state = PUBLISHED[model]
    found = cost(stack(mixer, depth=depth, width=8, vocab=8))
    assert (found.cache_bytes_per_token, found.state_bytes) == (cache, state)


def test_window_bounds_the_cache() -> None:
    found = cost(stack(attention(32, 128, 8, window=4096), depth=32, width=8, vocab=8, seq_len=32_768))
    assert found.cache_bytes == 4096 * 131_072


def test_state_with_a_row_sum_has_one_more_column() -> None:
    plain = MixerSpec(heads=Heads(num_heads=1, state_dim=16, head_dim=64), execution=BFLOAT16_STATE)
    summed = plain.model_copy(update={"normalization": Normalization(kind="sum")})
    sizes = [mixer_cost(one, model_dim=8, target=Target()).state_bytes for one in (plain, summed)]
    assert sizes == [2 * 16 * 64, 2 * 16 * 65]


@pytest.mark.parametrize(("coefficients", "rows"), [((1.0, 1.0, 0.5), 1 + 16 + 136), ((0.0, 0.0, 1.0), 136)])
def test_polynomial_readout_counts_symmetric_powers(coefficients: tuple[float, ...], rows: int) -> None:
    readout = Polynomial(kind="polynomial", coefficients=coefficients)
    mixer = MixerSpec(readout=readout, heads=Heads(num_heads=1, state_dim=16, head_dim=1))
    assert state_rows(mixer) == rows


def test_taylor_features_and_the_taylor_readout_have_equal_states() -> None:
    heads = Heads(num_heads=2, state_dim=16, head_dim=8)
    by_readout = MixerSpec(readout=Polynomial(kind="polynomial", coefficients=(1.0, 1.0, 0.5)), heads=heads)
    by_features = MixerSpec(features=Features(map="taylor2"), heads=heads)
    costs = [mixer_cost(one, model_dim=8, target=Target()) for one in (by_readout, by_features)]
    assert costs[0].state_bytes == costs[1].state_bytes


def test_log_linear_state_grows_by_one_level_per_doubling() -> None:
    mixer = MixerSpec(
        decay=Decay(granularity="scalar"), lift=Lift(kind="fenwick"), heads=Heads(num_heads=1, state_dim=8, head_dim=8)
    )
    sizes = [mixer_cost(mixer, model_dim=8, target=Target(seq_len=length)).state_bytes for length in (1, 2, 4, 1024)]
    assert sizes == [4 * 64 * levels for levels in (1, 2, 3, 11)]


FINITE = [name for name in catalogue.names() if catalogue.get(name).mixer.is_finite_memory]


@pytest.mark.parametrize("name", [name for name in FINITE if state_rows(catalogue.get(name).mixer)])
def test_break_even_is_the_first_length_whose_cache_is_as_large(name: str) -> None:
    mixer = recurrence(name).model_copy(update={"io": InputOutput(), "execution": catalogue.get(name).mixer.execution})
    found = mixer_cost(mixer, model_dim=8, target=Target())
    windowed = mixer.model_copy(update={"support": Support(window=10**6)})
    per_token = mixer_cost(windowed, model_dim=8, target=Target()).cache_bytes_per_token
    length = found.break_even_length
    assert length is not None
    assert (length - 1) * per_token < found.state_bytes <= length * per_token


supports = st.builds(
    lambda mask, kind, size: Support(mask=mask, **({kind: size} if kind else {})),
    st.sampled_from(["causal", "strict", "none"]),
    st.sampled_from([None, "window", "chunk"]),
    st.integers(1, 20),
)


@given(support=supports, seq_len=st.integers(1, 20))
def test_quadratic_macs_count_the_visible_keys(support: Support, seq_len: int) -> None:
    mixer = attention(2, 8).model_copy(update={"support": support})
    visible = sum(support.visible(position, seq_len) for position in range(seq_len))
    found = mixer_cost(mixer, model_dim=8, target=Target(seq_len=seq_len)).training.quadratic
    assert found * seq_len == pytest.approx(2 * (8 + 8) * visible)


def macs(mixer: MixerSpec, seq_len: int = 4096) -> Any:
    return mixer_cost(mixer, model_dim=8, target=Target(seq_len=seq_len)).training


HEAD = Heads(num_heads=1, state_dim=64, head_dim=32)
KEYS = Features(norm="l2")


def test_quadratic_macs_of_the_catalogue_page() -> None:
    """Section 2.6: T(K+V)/2, diagonal TK + TV/2, Householder T(2K+V)/2 + T^2/6."""
    length = 4096
    scalar = MixerSpec(decay=Decay(granularity="scalar"), heads=HEAD)
    diagonal = MixerSpec(decay=Decay(granularity="diagonal"), heads=HEAD)
    delta = MixerSpec(erase=Erase(direction="key"), features=KEYS, heads=HEAD)
    expected = [length * (64 + 32) / 2, length * 64 + length * 32 / 2, length * (128 + 32) / 2 + length**2 / 6]
    assert [macs(one).quadratic for one in (scalar, diagonal, delta)] == pytest.approx(expected, rel=2 / length)


def test_recurrent_macs_of_the_catalogue_page() -> None:
    """Section 2.6: 2KV, Householder 2KV(1 + n_h), trapezoidal 3KV, momentum 6KV."""
    scalar = MixerSpec(decay=Decay(granularity="scalar"), heads=HEAD)
    product = MixerSpec(erase=Erase(direction="key", rank=2), features=KEYS, heads=HEAD)
    delayed = MixerSpec(lift=Lift(kind="delay1"), heads=HEAD)
    momentum = MixerSpec(
        erase=Erase(direction="key"),
        features=KEYS,
        lift=Lift(kind="momentum"),
        scaling=Scaling(gate="tied_to_erase"),
        heads=HEAD,
    )
    found = [macs(one).recurrent / (64 * 32) for one in (scalar, product, delayed, momentum)]
    assert found == [2, 6, 3, 6]


def test_chunkwise_macs_do_not_depend_on_the_length() -> None:
    mixer = catalogue.get("gated_deltanet").mixer
    assert macs(mixer, 1024).chunkwise == macs(mixer, 65_536).chunkwise


@pytest.mark.parametrize("name", ["softmax_rope", "fox", "sigmoid_attn", "softmax_window"])
def test_nonlinear_readouts_have_the_quadratic_form_only(name: str) -> None:
    found = macs(catalogue.get(name).mixer)
    assert (found.recurrent, found.chunkwise, found.scan, found.fft) == (None, None, None, None)


@pytest.mark.parametrize(("name", "exists"), [("s4d", True), ("longconv_hyena", True), ("mamba", False)])
def test_fft_form_needs_a_time_invariant_layer(name: str, exists: bool) -> None:
    assert (macs(catalogue.get(name).mixer).fft is not None) == exists


def test_decode_macs_of_attention_grow_with_the_length_and_those_of_a_recurrence_do_not() -> None:
    def decode(mixer: MixerSpec, seq_len: int) -> float:
        return cost(single(mixer, target=Target(seq_len=seq_len))).layers[0].mixer.decode_macs

    linear = MixerSpec(heads=HEAD)
    assert decode(attention(1, 64), 2048) == 2 * decode(attention(1, 64), 1024)
    assert decode(linear, 2048) == decode(linear, 1024)


def test_short_convolution_keeps_width_minus_one_inputs() -> None:
    conv = InputOutput(short_conv=ShortConv(width=4, on=("k", "v")))
    plain, convolved = MixerSpec(heads=HEAD), MixerSpec(heads=HEAD, io=conv)
    sizes = [mixer_cost(one, model_dim=8, target=Target()).state_bytes for one in (plain, convolved)]
    assert sizes[1] - sizes[0] == 2 * 3 * (64 + 32)


def test_totals_are_sums_over_layers() -> None:
    candidate = random_candidate(5)
    found = cost(candidate)
    assert found.memory_bytes == sum(
        layer.repeat * (layer.mixer.state_bytes + layer.mixer.cache_bytes) for layer in found.layers
    )
    assert math.isfinite(found.training_macs)
    assert found.training_macs <= found.quadratic_macs
