"""Heads: layout, sizes and sharing."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from designspace.spec import Count, Spec, invalid

MAX_SIZE = 65_536


class Heads(Spec):
    """`num_heads` coefficient matrices; keys of `state_dim` (n), values of `head_dim` (p) per head.

    layout `channel`: every value channel is a head of its own (head_dim 1). `kv_groups`: number of distinct streams
    that the heads share, null = one per head; `shared: kv` shares keys and values (grouped-query attention), `qk`
    shares queries and keys (Mamba's B and C, grouped-value attention).

    `latent_dim` (multi-head latent attention, arXiv 2405.04434): keys and values of all heads are linear maps of one
    RMS-normed vector of this width per token, which is what a decoder caches. `shared_key_dim`: the first channels of
    each key that bypass the latent and are the same for all heads (the rotary part); they are cached beside it.
    """

    layout: Literal["multi", "channel"] = "multi"
    num_heads: Annotated[int, Field(ge=1, le=MAX_SIZE)] = 4
    state_dim: Annotated[int, Field(ge=1, le=MAX_SIZE)] = 64
    head_dim: Annotated[int, Field(ge=1, le=MAX_SIZE)] = 64
    kv_groups: Count | None = None
    shared: Literal["kv", "qk"] = "kv"
    latent_dim: Count | None = None
    shared_key_dim: Annotated[int, Field(ge=0, le=MAX_SIZE)] = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.layout == "channel" and self.head_dim != 1:
            raise invalid(
                "head_dim", f"`layout: channel` needs head_dim 1 (one value channel per head), got {self.head_dim}."
            )
        if self.num_heads % self.groups:
            raise invalid("kv_groups", f"`kv_groups` must divide `num_heads` {self.num_heads}, got {self.groups}.")
        if self.latent_dim is not None and self.groups != self.num_heads:
            raise invalid("latent_dim", "`latent_dim` shares keys and values already; set `kv_groups` to null.")
        if self.shared_key_dim and self.latent_dim is None:
            raise invalid("shared_key_dim", "`shared_key_dim` goes with `latent_dim`; without one use `kv_groups`.")
        if self.shared_key_dim >= self.state_dim and self.latent_dim is not None:
            raise invalid("shared_key_dim", f"`shared_key_dim` must be below `state_dim` {self.state_dim}.")
        return self

    @property
    def groups(self) -> int:
        """Number of distinct shared streams."""
        return self.kv_groups or self.num_heads
