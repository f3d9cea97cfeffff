"""The lift: an enlarged state that A_t acts on."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from designspace.spec import Spec, invalid

MAX_WIDTH = 1_048_576


class Lift(Spec):
    """delay1: the trapezoidal rule (Mamba-3); momentum: heavy ball (Titans without its norm, arXiv 2501.00663);
    fenwick: log-linear attention (arXiv 2506.04761); shift: a convolution of `width` taps (Hyena, arXiv 2302.10866).
    """

    kind: Literal["none", "delay1", "momentum", "fenwick", "shift"] = "none"
    width: Annotated[int, Field(ge=1, le=MAX_WIDTH)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.kind == "shift") != (self.width is not None):
            raise invalid("width", "`width` (number of taps) and `kind: shift` go together.")
        return self
