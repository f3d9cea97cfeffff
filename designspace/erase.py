"""The erase part of A_t: I - beta k k^T and relatives (delta rule, arXiv 2102.11174, 2406.06484)."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from designspace.spec import Range, Spec, check_range, invalid


class Erase(Spec):
    """A_t removes beta_t times the component of the state along a direction.

    direction `key`: the key itself; `free`: a projection of its own, always l2-normalised; `key_scaled`: I - beta k p^T
    with p = c_h k. `rank` > 1: that many micro-steps per token, each with its own key and value (DeltaProduct,
    arXiv 2502.10297); the decay acts in the first, the read comes after the last. `gain` bounds beta.
    `per_channel`: beta is a vector; product form I - k (beta * k)^T (GDN-2), additive form A = decay - (beta * k) k^T
    (RWKV-7).
    compose `product`: A = (I - erase) rotation decay; `additive`: A = rotation decay - erase.
    """

    direction: Literal["none", "key", "free", "key_scaled"] = "none"
    rank: Annotated[int, Field(ge=1, le=4)] = 1
    gain: Range = (0.0, 1.0)
    per_channel: bool = False
    compose: Literal["product", "additive"] = "product"

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range("gain", self.gain)
        if self.rank > 1 and self.direction == "none":
            raise invalid("rank", f"`rank: {self.rank}` needs a `direction`; use `direction: key` or `rank: 1`.")
        if self.per_channel and self.rank > 1:
            raise invalid("per_channel", f"`per_channel: true` needs `rank: 1`, got {self.rank}.")
        if self.per_channel and self.direction == "none":
            raise invalid("per_channel", "`per_channel: true` needs a `direction`.")
        if self.rank > 1 and self.compose == "additive":
            raise invalid("compose", "`compose: additive` needs `rank: 1`: micro-steps are a product.")
        return self

    @property
    def is_identity(self) -> bool:
        """Nothing is erased."""
        return self.direction == "none" or self.gain == (0.0, 0.0)
