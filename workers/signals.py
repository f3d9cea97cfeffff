"""The signals of one mixer: everything that a spec leaves to tokens and parameters, already in its final form.

A spec and its signals determine the coefficients: nothing else is needed. Source: the golden files and
arXiv 2510.09389, definition of alpha_ij.
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Signals:
    """Per head; heads that share a stream hold copies. `steps` = seq_len times `erase.rank` (micro-steps of a token lie
    side by side). n is the key width after the feature map; a leading batch of 1 stands for signals without a token.

    Attributes:
        q, k: after feature map and norm, before the scaling base.
        v: after activation and gate.
        log_decay: log a_t, width 1 (scalar) or n (diagonal); with a rotation the two channels of a pair hold one value.
        angle: increment of the rotation angle at step t for each rotating pair, in radians.
        gain: beta_t of the erase, width 1 or n (per_channel).
        direction: unit vector that the erase uses when it is not the key itself.
        second: p of I - beta k p^T (`key_scaled`).
        shear: increment c_t of the score, signed as it is added (before `shear.scaled`).
        table: score added at each lag below the width.
        gate: value of the scaling gate; None = 1. For `tied_to_erase` leave None: the gain is used.
        base: learnable scaling base of each head; None = the base of the spec.
        tap: weight of the previous token's key (lift delay1).
        taps: filter over lags (lift shift).
        momentum, rate: mu_t and eta_t of the heavy ball (lift momentum).
        levels: weight of each Fenwick level (lift fenwick).
        bonus: diagonal vector (support.diagonal bonus); skip: D of each head; sink: extra logit of the denominator.
        log_eta: n_i of the learned normalization.
        log_gate: log of an exponential gate, for a running maximum where the gate overflows; None = log of `gate`.
    """

    q: Float[Tensor, "batch seq_len num_heads n"]
    k: Float[Tensor, "batch steps num_heads n"]
    v: Float[Tensor, "batch steps num_heads head_dim"]
    log_decay: Float[Tensor, "#batch seq_len num_heads width"] | None = None
    angle: Float[Tensor, "#batch seq_len num_heads pairs"] | None = None
    gain: Float[Tensor, "#batch steps num_heads gain_width"] | None = None
    direction: Float[Tensor, "#batch steps num_heads n"] | None = None
    second: Float[Tensor, "#batch steps num_heads n"] | None = None
    shear: Float[Tensor, "#batch seq_len num_heads"] | None = None
    table: Float[Tensor, "num_heads lags"] | None = None
    gate: Float[Tensor, "#batch steps num_heads"] | None = None
    base: Float[Tensor, " num_heads"] | None = None
    tap: Float[Tensor, "#batch seq_len num_heads"] | None = None
    taps: Float[Tensor, "num_heads n lags"] | None = None
    momentum: Float[Tensor, "#batch seq_len num_heads"] | None = None
    rate: Float[Tensor, "#batch seq_len num_heads"] | None = None
    levels: Float[Tensor, "#batch seq_len num_heads num_levels"] | None = None
    bonus: Float[Tensor, "num_heads n"] | None = None
    skip: Float[Tensor, " num_heads"] | None = None
    sink: Float[Tensor, " num_heads"] | None = None
    log_eta: Float[Tensor, "batch seq_len num_heads"] | None = None
    log_gate: Float[Tensor, "#batch steps num_heads"] | None = None
