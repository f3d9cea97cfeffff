"""Several mixers in one layer: weights, shared values, orders of reading; and what a latent vector makes."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from designspace import catalogue
from designspace.candidate import Block, Candidate, ModelSpec
from designspace.composition import Parallel, positions
from designspace.errors import SpecError
from designspace.mixer import MixerSpec
from workers.model import Model, build

DIM, SEQ_LEN = 8, 9


def small(name: str, **heads: Any) -> MixerSpec:
    data = catalogue.get(name).mixer.model_dump(mode="json")
    channel = data["heads"]["layout"] == "channel"
    data["heads"] |= {"num_heads": 2, "state_dim": 4, "head_dim": 1 if channel else 3, "kv_groups": None} | heads
    return MixerSpec.model_validate(data)


def model(mixer: MixerSpec | Parallel) -> Model:
    torch.set_num_threads(1)
    return build(Candidate(model=ModelSpec(model_dim=DIM, vocab_size=11), blocks=(Block(mixer=mixer),)), seed=0)


def branches(mixer: MixerSpec | Parallel) -> torch.nn.Module:
    found = model(mixer).layers[0].mixer
    assert isinstance(found, torch.nn.Module)
    return found


def tokens() -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(2, SEQ_LEN, DIM, generator=generator)


def test_columns_of_an_image_are_read_one_after_the_other() -> None:
    assert positions("columns", 6, 3) == [0, 3, 1, 4, 2, 5]
    assert positions("columns_backward", 6, 3) == [5, 2, 4, 1, 3, 0]
    assert positions("columns", 5, 3) == [0, 3, 1, 4, 2]
    assert positions("backward", 3, None) == [2, 1, 0]


def test_a_backward_branch_is_the_forward_branch_on_the_reversed_sequence() -> None:
    mixer = small("mamba")
    both = branches(Parallel(parallel=(mixer, mixer), orders=("forward", "backward")))
    forward, backward = both.mixers
    x = tokens()
    expected = forward(x) + backward(x.flip(1)).flip(1)
    torch.testing.assert_close(both(x), expected)


def test_four_scans_of_an_image_are_the_sum_of_scans_of_its_transpose_and_reversals() -> None:
    mixer, orders = small("mamba"), ("forward", "columns", "backward", "columns_backward")
    scans = branches(Parallel(parallel=(mixer,) * 4, orders=orders, row_length=3))
    x = tokens()

    def transposed(y: Tensor) -> Tensor:
        return y.unflatten(1, (3, 3)).transpose(1, 2).flatten(1, 2)

    one, two, three, four = scans.mixers
    expected = one(x) + transposed(two(transposed(x))) + three(x.flip(1)).flip(1)
    expected = expected + transposed(four(transposed(x).flip(1)).flip(1))
    torch.testing.assert_close(scans(x), expected)


def test_an_order_other_than_forward_reads_the_future_and_forward_does_not() -> None:
    mixer = small("mamba")
    for orders, is_causal in ((None, True), (("forward", "backward"), False)):
        spec = Parallel(parallel=(mixer, mixer), orders=orders)
        layer, x = branches(spec), tokens()
        changed = x.clone()
        changed[:, -1] += 1.0
        same = torch.equal(layer(x)[:, :-1], layer(changed)[:, :-1])
        assert same == spec.is_causal == is_causal


def test_differential_attention_is_the_weighted_difference_of_two_softmax_maps_on_one_value() -> None:
    mixer = catalogue.get("diff").mixer
    data = mixer.model_dump(mode="json")
    data["heads"] |= {"num_heads": 2, "state_dim": 4, "head_dim": 6}
    data["rotation"] = {"source": "none"}
    mixer = MixerSpec.model_validate(data)
    weight = -0.3
    layer = branches(
        Parallel(parallel=(mixer, mixer), weights=(1.0, weight), learnable_weights=True, shared_values=True)
    )
    first, second = layer.mixers
    x = tokens()
    raw, _ = first.raw(x)
    maps = []
    for one in (first, second):
        mine = one.raw(x)[0]
        scores = torch.einsum("bihn,bjhn->bhij", mine["q"], mine["k"]) / math.sqrt(4)
        hidden = torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool).triu(1)
        maps.append(scores.masked_fill(hidden, -math.inf).softmax(-1))
    y = torch.einsum("bhij,bjhp->bihp", maps[0] + weight * maps[1], raw["v"])
    unit = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + mixer.io.norm_eps)
    torch.testing.assert_close(layer(x), unit.flatten(2) @ first.output.weight.T, rtol=1e-4, atol=1e-5)
    assert "v" not in second.raw(x)[0]
    layer(x).sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())


def test_latent_attention_makes_keys_and_values_of_one_vector_and_shares_the_rotary_channels() -> None:
    mixer = small("mla", state_dim=6, latent_dim=5, shared_key_dim=2)
    layer = branches(mixer).mixers[0]
    raw, _ = layer.raw(tokens())
    assert raw["k"].shape == (2, SEQ_LEN, 2, 6)
    torch.testing.assert_close(raw["k"][:, :, 0, :2], raw["k"][:, :, 1, :2])
    made = torch.cat((raw["k"][..., 2:], raw["v"]), dim=-1).flatten(2)
    rank = torch.linalg.matrix_rank(made.reshape(-1, made.shape[-1]), rtol=1e-5)
    assert rank == 5 < made.shape[-1]


@pytest.mark.parametrize("name", catalogue.outside_names())
def test_a_mixer_outside_the_grammar_is_not_built(name: str) -> None:
    with pytest.raises(SpecError, match="outside the grammar"):
        build(catalogue.get(name).candidate, seed=0)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"weights": (1.0,)}, "one item per branch"),
        ({"weights": (1.0, 1.0), "merge": "mean"}, "merge: sum"),
        ({"learnable_weights": True}, "needs `weights`"),
        ({"orders": ("forward", "columns")}, "row_length"),
        ({"row_length": 3}, "row_length"),
        ({"shared_values": True, "merge": "concat"}, "merge: sum"),
    ],
)
def test_compositions_without_meaning_are_refused(changes: dict[str, Any], complaint: str) -> None:
    mixer = small("softmax_rope")
    with pytest.raises(ValueError, match=complaint):
        Parallel.model_validate({"parallel": (mixer, mixer), **changes})


def test_branches_with_other_sizes_cannot_share_values() -> None:
    with pytest.raises(ValueError, match="share values need equal"):
        Parallel(parallel=(small("softmax_rope"), small("softmax_rope", num_heads=4)), shared_values=True)
