"""The shear part of A_t: an additive path in the score, a unipotent A on an enlarged state (ALiBi, forget gate)."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from designspace.spec import Number, Spec, invalid

MAX_TABLE = 65_536


class Shear(Spec):
    """z_ij gains the sum of c_t over t = j+1..i.

    `constant`: c = -slope of the head (ALiBi, arXiv 2108.12409; `slopes: null` takes 2^(-8h/H), h = 1..H; a number is
    one slope for all heads); `input`: c_t = log sigmoid(x) (FoX, arXiv 2503.02130); `table`: a learned value per lag
    below `width`, 0 beyond. `scaled`: the bias is multiplied by the scaling base too (Falcon, PaTH). sign `increasing`
    flips c: far keys are favoured.
    """

    source: Literal["none", "constant", "input", "table"] = "none"
    slopes: Number | tuple[Number, ...] | None = None
    width: Annotated[int, Field(ge=1, le=MAX_TABLE)] | None = None
    scaled: bool = False
    sign: Literal["decreasing", "increasing"] = "decreasing"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.source == "table") != (self.width is not None):
            raise invalid("width", "`width` (number of lags) and `source: table` go together.")
        if self.slopes is not None and self.source != "constant":
            raise invalid("slopes", f"`slopes` need `source: constant`, got `source: {self.source}`.")
        return self

    def head_slopes(self, num_heads: int) -> tuple[float, ...]:
        """Slope of each head of a constant shear, before the sign."""
        if self.slopes is None:
            return tuple(2.0 ** (-8.0 * (head + 1) / num_heads) for head in range(num_heads))
        return self.slopes if isinstance(self.slopes, tuple) else (self.slopes,) * num_heads

    @property
    def is_identity(self) -> bool:
        """The score gains nothing."""
        if self.source == "none":
            return True
        slopes = self.slopes if isinstance(self.slopes, tuple) else (self.slopes,)
        return self.source == "constant" and all(slope == 0 for slope in slopes)
