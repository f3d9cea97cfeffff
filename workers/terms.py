"""The terms of alpha_ij that spec and signals give without any product over time: b_j, the erase vectors, the support.

Every form and the definition read the signals through these functions, so they agree on what a signal means.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from designspace.mixer import MixerSpec
from designspace.scaling import QUERY_SCHEDULE_FLOOR, QUERY_SCHEDULE_SLOPE
from workers.signals import Signals


def needed(signal: Tensor | None, name: str) -> Tensor:
    """The signal itself.

    Raises:
        ValueError: it is missing.
    """
    if signal is None:
        raise ValueError(f"the spec needs the signal `{name}`, got None; give `Signals({name}=...)`.")
    return signal


def angle(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch seq_len num_heads pairs"] | None:
    """The rotation angle of each step; None where nothing rotates.

    A norm after the rotation that does not commute with it leaves signals that have been turned already: no angle.
    """
    turned = spec.features.norm_order == "after_rotation" and signals.angle is None
    if spec.rotation.is_identity or turned:
        return None
    return needed(signals.angle, "angle").expand(-1, signals.q.shape[1], -1, -1)


def query(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch seq_len num_heads n"]:
    """q_i, with the query schedule (Llama 4)."""
    if spec.scaling.query_schedule == "none":
        return signals.q
    position = torch.arange(1, signals.q.shape[1] + 1, device=signals.q.device)
    blocks = torch.div(position, QUERY_SCHEDULE_FLOOR, rounding_mode="floor").to(signals.q.dtype)
    return signals.q * (1.0 + QUERY_SCHEDULE_SLOPE * torch.log1p(blocks))[:, None, None]


def base(spec: MixerSpec, signals: Signals) -> Float[Tensor, " num_heads"]:
    """The scaling base of each head."""
    if signals.base is not None:
        return signals.base
    return signals.q.new_full((signals.q.shape[2],), spec.base)


def score_base(spec: MixerSpec, signals: Signals) -> Float[Tensor, " num_heads"]:
    """The part of the base that acts inside the score: 1 where it is applied after phi."""
    found = base(spec, signals)
    return torch.ones_like(found) if spec.scaling.where == "after" else found


def scaled_query(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch seq_len num_heads n"]:
    """q_i times the base inside the score: scores are linear in q, and q has fewer numbers than they."""
    if spec.scaling.where == "after" or (signals.base is None and spec.base == 1.0):
        return query(spec, signals)
    return query(spec, signals) * score_base(spec, signals)[:, None]


def written_key(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch steps num_heads n"]:
    """k_j times its gate, b_j k_j without the base."""
    if spec.scaling.gate != "tied_to_erase" and signals.gate is None:
        return signals.k
    return signals.k * gate(spec, signals)[..., None]


def gate(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch steps num_heads"]:
    """The gate of each write; beta of the erase where the two are tied."""
    if spec.scaling.gate == "tied_to_erase":
        found = needed(signals.gain, "gain").squeeze(-1)
    elif signals.gate is not None:
        found = signals.gate
    else:
        found = signals.k.new_ones(())
    return found.expand(signals.k.shape[:-1])


def writes_with_key(spec: MixerSpec, signals: Signals) -> bool:
    """The left vector of the erase is the key itself, so erase and write share their products over time."""
    return signals.direction is None and not (spec.erase.per_channel and spec.erase.compose == "additive")


def erase_vectors(
    spec: MixerSpec, signals: Signals
) -> tuple[Float[Tensor, "batch steps num_heads n"], Float[Tensor, "batch steps num_heads n"]]:
    """(u, w) of the erase u w^T: the gain stands on w in the product form, on u in the additive form per channel."""
    direction = signals.k if signals.direction is None else signals.direction.expand_as(signals.k)
    second = direction if signals.second is None else signals.second.expand_as(signals.k)
    gain = needed(signals.gain, "gain")
    if spec.erase.per_channel and spec.erase.compose == "additive":
        return gain * direction, second
    return direction, gain * second


def diagonal_score(spec: MixerSpec, signals: Signals) -> Float[Tensor, "batch seq_len num_heads"]:
    """q_i . (bonus * gate_i k_i), before the base; k of the last micro-step of the token."""
    last = slice(spec.erase.rank - 1, None, spec.erase.rank)
    key = signals.k[:, last] * gate(spec, signals)[:, last, :, None]
    return (query(spec, signals) * needed(signals.bonus, "bonus") * key).sum(-1)


def support_mask(spec: MixerSpec, seq_len: int) -> Bool[Tensor, "seq_len steps"]:
    """Which sources a query may read; the micro-steps of a token are seen together."""
    support = spec.support
    position = torch.arange(seq_len)
    lag = position[:, None] - position[None, :]
    if support.mask == "none":
        seen = torch.ones_like(lag, dtype=torch.bool)
    else:
        seen = lag > 0 if support.mask == "strict" else lag >= 0
    if support.window is not None:
        seen = seen & (lag.abs() < support.window)
    if support.chunk is not None:
        block = position // support.chunk
        seen = seen & (block[:, None] == block[None, :])
    return seen.repeat_interleave(spec.erase.rank, dim=1)


def own_last_step(spec: MixerSpec, seq_len: int) -> Bool[Tensor, "seq_len steps"]:
    """The diagonal: the last micro-step of each query's own token."""
    last = torch.arange(seq_len) * spec.erase.rank + spec.erase.rank - 1
    return torch.arange(seq_len * spec.erase.rank) == last[:, None]


def visible(spec: MixerSpec, seq_len: int, target_len: int | None) -> Int[Tensor, " seq_len"]:
    """The length that each query is normalised by: tokens it sees, or the target length for all."""
    if spec.normalization.length_kind == "target":
        return torch.full((seq_len,), seq_len if target_len is None else target_len)
    return torch.tensor([spec.support.visible(position, seq_len) for position in range(seq_len)])
