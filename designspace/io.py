"""Input and output stage of a mixer: short convolution, value activation and gate, output norm and gate."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from designspace.spec import Nonnegative, Spec, invalid


class ShortConv(Spec):
    """Causal depthwise convolution of `width` taps on the listed streams, before any activation. 0 = none."""

    width: Annotated[int, Field(ge=0, le=256)] = 0
    on: tuple[Literal["q", "k", "v"], ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.width > 0) != bool(self.on):
            raise invalid("on", f"`width` > 0 and a non-empty `on` go together, got {self.width} and {list(self.on)}.")
        if len(set(self.on)) != len(self.on):
            raise invalid("on", f"`on` names a stream twice: {list(self.on)}.")
        return self


class InputOutput(Spec):
    """What surrounds the coefficients. A per-head output norm divides each row by one scalar: it is an eta_i (P6)."""

    short_conv: ShortConv = ShortConv()
    value_activation: Literal["none", "silu", "tanh"] = "none"
    value_gate: Literal["none", "sigmoid"] = "none"
    output_norm: Literal["none", "head_rms", "head_ln", "group_rms", "full_rms"] = "none"
    norm_eps: Nonnegative = 1.0e-5
    gate: Literal["none", "silu", "sigmoid", "gelu"] = "none"
    order: Literal["norm_then_gate", "gate_then_norm"] = "norm_then_gate"

    @property
    def norm_is_per_head(self) -> bool:
        """The output norm sees one head at a time, before the gate."""
        return self.output_norm in ("head_rms", "head_ln") and (self.gate == "none" or self.order == "norm_then_gate")
