"""Feature maps and norms of queries and keys, in torch. Papers: see `designspace.features.MapName`."""

import math
from typing import assert_never

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from designspace.features import Features

FEATURE_SEED = 0  # of the fixed random matrices of favor and rff: the same in every model


def mapped(
    features: Features, x: Float[Tensor, "batch steps streams state_dim"], factor: Tensor | None = None
) -> Float[Tensor, "batch steps streams n"]:
    """The feature map of raw queries or keys.

    taylor2 and favor act on x n^(-1/4), so that the product of two features estimates a function of n^(-1/2) q . k; rff
    acts on the l2-normalised vector. `static`, `ones` and the keys of `one_minus_decay` have no raw vector.

    Args:
        factor: the second linear map of `hadamard`.
    """
    match features.map:
        case "identity":
            return x
        case "silu" | "one_minus_decay":
            return F.silu(x)
        case "relu":
            return F.relu(x)
        case "relu_zero":
            return torch.cat((F.relu(x), torch.zeros_like(x)), dim=-1)
        case "elu+1":
            return F.elu(x) + 1.0
        case "softmax_pm":
            both = torch.cat((x, -x), dim=-1)
            return both.softmax(dim=-1 if features.map_over == "features" else 1)
        case "hadamard":
            return x if factor is None else x * factor
        case "dpfp":
            return _dpfp(x, features.width or 1)
        case "taylor2":
            return _taylor2(x * x.shape[-1] ** -0.25)
        case "favor":
            return _favor(x * x.shape[-1] ** -0.25, features.width or 1)
        case "rff":
            angles = F.normalize(x, dim=-1) @ _random_matrix(x, features.width or 1)
            return torch.cat((angles.cos(), angles.sin()), dim=-1) / math.sqrt(features.width or 1)
        case "static" | "scaled_static" | "ones":
            raise ValueError(f"`features.map: {features.map}` has no raw vector to map; take its parameters.")
        case _:
            assert_never(features.map)


def _dpfp(x: Tensor, width: int) -> Tensor:
    """Products of [relu(x), relu(-x)] with its copies rolled by 1..width. Source: arXiv 2102.11174."""
    halves = torch.cat((F.relu(x), F.relu(-x)), dim=-1)
    return torch.cat([halves * halves.roll(shift, dims=-1) for shift in range(1, width + 1)], dim=-1)


def _taylor2(x: Tensor) -> Tensor:
    """Features whose product is 1 + z + z^2 / 2, each pair of channels once. Source: arXiv 2402.18668."""
    rows, columns = torch.triu_indices(x.shape[-1], x.shape[-1], device=x.device)
    weight = torch.where(rows == columns, x.new_tensor(math.sqrt(0.5)), x.new_tensor(1.0))
    return torch.cat((torch.ones_like(x[..., :1]), x, x[..., rows] * x[..., columns] * weight), dim=-1)


def _favor(x: Tensor, width: int) -> Tensor:
    """exp(W x - |x|^2 / 2) / sqrt(m), positive. Source: arXiv 2009.14794."""
    return (x @ _random_matrix(x, width) - 0.5 * x.square().sum(-1, keepdim=True)).exp() / math.sqrt(width)


def _random_matrix(x: Tensor, width: int) -> Tensor:
    generator = torch.Generator().manual_seed(FEATURE_SEED)
    return torch.randn(x.shape[-1], width, generator=generator, dtype=torch.float64).to(x)


def normalised(
    features: Features, x: Float[Tensor, "batch steps streams n"], gain: Tensor | None
) -> Float[Tensor, "batch steps streams n"]:
    """The norm, then the gain: `features.gain`, or the learned gain per channel that starts there.

    `norm_over: all_heads` measures the vector of all streams together.
    """
    if features.norm_over == "all_heads" and x.shape[2] > 1:
        alone = features.model_copy(update={"norm_over": "head", "eps_kind": features.eps_kind})
        flat = None if gain is None else gain.expand(x.shape[2], -1).flatten()
        return normalised(alone, x.flatten(2).unsqueeze(2), flat).view_as(x)
    factor: Tensor | float = features.gain if gain is None else gain
    eps = features.eps if features.eps_kind == "sum" else features.eps * x.shape[-1]
    match features.norm:
        case "none":
            return x if factor == 1.0 else x * factor
        case "l2":
            return _unit(x, eps) * factor
        case "rms" | "rms_weighted":
            return _unit(x, eps) * (factor * math.sqrt(x.shape[-1]))
        case "layernorm":
            return _unit(x - x.mean(-1, keepdim=True), eps) * (factor * math.sqrt(x.shape[-1]))
        case "sum":
            return x / (x.sum(-1, keepdim=True) + features.eps) * factor
        case _:
            assert_never(features.norm)


def _unit(x: Tensor, eps: float) -> Tensor:
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + eps)


def commutes_with_rotation(features: Features) -> bool:
    """The norm is the same before and after a rotation (equivalence 6)."""
    return features.norm in ("none", "l2", "rms")


def rotated(
    x: Float[Tensor, "batch seq_len num_heads n"], phase: Float[Tensor, "#batch seq_len num_heads pairs"], pairing: str
) -> Float[Tensor, "batch seq_len num_heads n"]:
    """x with its first pairs of channels turned by `phase` (rotary embedding, arXiv 2104.09864)."""
    pairs = phase.shape[-1]
    first, second = pair_channels(pairs, pairing)
    cos, sin = phase.cos(), phase.sin()
    out = x.clone()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return out


def pair_channels(pairs: int, pairing: str) -> tuple[list[int], list[int]]:
    """First and second channel of each rotating pair."""
    if pairing == "half":
        return list(range(pairs)), list(range(pairs, 2 * pairs))
    return list(range(0, 2 * pairs, 2)), list(range(1, 2 * pairs, 2))
