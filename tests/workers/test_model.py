"""A candidate as a module: sizes, determinism, the places of norms and skips."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from designspace.candidate import Candidate
from designspace.cost import cost
from tests.strategies import random_candidate
from workers.model import MixerBranches, Model, build, sinusoids

MIXER: dict[str, Any] = {"heads": {"num_heads": 2, "state_dim": 4, "head_dim": 4}}
TOKENS = torch.arange(10).view(2, 5)


def candidate(*blocks: dict[str, Any], model: dict[str, Any] | None = None) -> Candidate:
    return Candidate.model_validate(
        {
            "target": {"seq_len": 8},
            "model": {"model_dim": 16, "vocab_size": 10, **(model or {})},
            "blocks": [{"mixer": MIXER, **block} for block in blocks or ({},)],
        }
    )


@pytest.mark.parametrize("seed", [seed for seed in range(40) if random_candidate(seed).num_layers <= 8])
def test_parameters_match_the_closed_formula(seed: int) -> None:
    drawn = random_candidate(seed)
    model = build(drawn, seed=0)
    assert sum(p.numel() for p in model.parameters()) == cost(drawn).parameters.total
    tokens = torch.zeros(1, min(3, drawn.target.seq_len), dtype=torch.int64)
    assert model(tokens).shape == (*tokens.shape, drawn.model.vocab_size)


def test_seed_fixes_every_weight_and_global_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    one, other, different = (build(candidate(), seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), other.parameters(), strict=True))
    assert torch.equal(one(TOKENS), other(TOKENS))
    assert not torch.equal(one(TOKENS), different(TOKENS))


def test_layers_of_a_repeated_block_start_apart() -> None:
    model = build(candidate({"repeat": 2}), seed=0)
    first, second = (dict(layer.named_parameters())["mixer.mixers.0.projection.weight"] for layer in model.layers)
    assert not torch.equal(first, second)


def stream(model: Model) -> torch.Tensor:
    """The residual stream before the final norm."""
    x: torch.Tensor = model.embedding(TOKENS)
    for layer in model.layers:
        x = layer(x)
    return x


def test_skip_weight_scales_the_residual_path() -> None:
    silent = {"channel_mixer": {"kind": "none"}}
    full, half = (build(candidate({"skip": {"lambda": weight}, **silent}), seed=0) for weight in (1.0, 0.5))
    torch.testing.assert_close(stream(full) - stream(half), 0.5 * full.embedding(TOKENS))


def test_post_norm_comes_after_the_sum() -> None:
    model = build(candidate({"norm": {"kind": "layer", "placement": "post"}}), seed=0)
    x = stream(model)
    torch.testing.assert_close(x.mean(-1), torch.zeros(2, 5), atol=1e-5, rtol=0)
    torch.testing.assert_close(x.square().mean(-1), torch.ones(2, 5), atol=1e-3, rtol=0)


@pytest.mark.parametrize("merge", ["sum", "mean", "concat"])
def test_branches_are_merged_as_declared(merge: str) -> None:
    block = {"mixer": {"parallel": [MIXER, MIXER], "merge": merge}, "channel_mixer": {"kind": "none"}}
    drawn = candidate(block)
    branches = MixerBranches(drawn.blocks[0], drawn, seed=0, name="layer", gain=1.0)
    x = torch.randn(2, 5, 16)
    one, other = (mixer(x) for mixer in branches.mixers)
    expected = {"sum": one + other, "mean": (one + other) / 2}
    if branches.join is not None:
        expected["concat"] = branches.join(torch.cat((one, other), dim=-1))
    torch.testing.assert_close(branches(x), expected[merge])


def test_learned_positions_end_at_the_target_length() -> None:
    model = build(candidate(model={"positions": "learned"}), seed=0)
    assert model(torch.zeros(1, 8, dtype=torch.int64)).shape == (1, 8, 10)
    with pytest.raises(ValueError, match="8 positions, got 9"):
        model(torch.zeros(1, 9, dtype=torch.int64))


def test_sinusoids_have_unit_rms_and_tell_positions_apart() -> None:
    code = sinusoids(64, 16)
    torch.testing.assert_close(code.square().mean(-1), torch.ones(64))
    assert float(torch.cdist(code, code).fill_diagonal_(1.0).min()) > 0.1


@pytest.mark.parametrize("positions", ["none", "learned", "sinusoidal"])
def test_positions_tell_equal_tokens_apart(positions: str) -> None:
    """A mean over equal tokens is the same everywhere, unless the embeddings know their place."""
    softmax = {**MIXER, "readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
    model = build(candidate({"mixer": softmax}, model={"positions": positions}), seed=0)
    logits = model(torch.zeros(1, 6, dtype=torch.int64)).detach()
    spread = float((logits - logits[:, :1]).abs().max())
    assert spread < 1e-5 if positions == "none" else spread > 0.1


def test_residual_stream_is_kept_in_its_dtype() -> None:
    exact, rounded = (build(candidate(model={"residual_dtype": dtype}), seed=0) for dtype in ("float32", "bfloat16"))
    assert rounded.layers[0](rounded.embedding(TOKENS)).dtype == torch.bfloat16
    torch.testing.assert_close(rounded(TOKENS), exact(TOKENS), atol=0.1, rtol=0.1)


def test_stack_starts_at_a_sane_loss() -> None:
    """Unit-rms logits: the cross entropy of random targets is log vocab_size + 1/2."""
    model = build(candidate({"repeat": 4}, model={"vocab_size": 64, "model_dim": 64}), seed=0)
    tokens = torch.randint(64, (8, 8), generator=torch.Generator().manual_seed(0))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(1, 1).flatten())
    assert 3.5 < loss.item() < 5.5
