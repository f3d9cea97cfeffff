"""Several mixers in one layer: hybrids, differences of two attentions, scans of an image in several orders."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.spec import Count, Number, Spec, invalid

Order = Literal["forward", "backward", "columns", "columns_backward"]


class Parallel(Spec):
    """y = merge over branches b of weight_b mixer_b(x), all on the same input (Falcon-H1).

    `weights` (one per branch, `merge: sum`; null = 1 each) are where they start if `learnable_weights`.
    `shared_values`: the coefficient matrices are added up before they act, y = (sum_b weight_b alpha_b) v, with the
    values and the output stage of the first branch (differential attention, arXiv 2410.05258).
    `orders`: each branch reads the tokens in an order of its own and its outputs are put back; `columns` reads an image
    whose rows of `row_length` tokens follow each other column by column (VMamba, arXiv 2401.10166). Any order but
    `forward` reads tokens that a causal stack has not seen.
    """

    parallel: Annotated[tuple[MixerSpec, ...], Field(min_length=2, max_length=8)]
    merge: Literal["sum", "mean", "concat"] = "sum"
    weights: tuple[Number, ...] | None = None
    learnable_weights: bool = False
    shared_values: bool = False
    orders: tuple[Order, ...] | None = None
    row_length: Count | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, values in (("weights", self.weights), ("orders", self.orders)):
            if values is not None and len(values) != len(self.parallel):
                raise invalid(name, f"`{name}` needs one item per branch: {len(self.parallel)}, got {len(values)}.")
        if self.weights is not None and self.merge != "sum":
            raise invalid("weights", f"`weights` go with `merge: sum`, got `merge: {self.merge}`.")
        if self.learnable_weights and self.weights is None:
            raise invalid("learnable_weights", "`learnable_weights` needs `weights`, the values at initialisation.")
        self._check_shared_values()
        by_columns = any(order.startswith("columns") for order in self.orders or ())
        if by_columns != (self.row_length is not None):
            raise invalid(
                "row_length", "`row_length` (tokens per row of the image) and an order by columns go together."
            )
        if self.row_length == 1:
            raise invalid("row_length", "`row_length` 1 is a single column, read forward; use `orders: forward`.")
        return self

    def _check_shared_values(self) -> None:
        if not self.shared_values:
            return
        if self.merge != "sum" or self.orders is not None:
            raise invalid("shared_values", "`shared_values` adds coefficients: use `merge: sum` and no `orders`.")
        shapes = {(one.heads.layout, one.heads.num_heads, one.heads.head_dim, one.erase.rank) for one in self.parallel}
        streams = {one.heads.groups for one in self.parallel}
        if len(shapes) > 1 or len(streams) > 1 or any(one.heads.latent_dim is not None for one in self.parallel):
            raise invalid(
                "shared_values",
                "branches that share values need equal layout, num_heads, head_dim, kv_groups and erase.rank, and no"
                " latent_dim.",
            )

    @property
    def branches(self) -> tuple[MixerSpec, ...]:
        """The mixers as they act: where they share values, all of them have the output stage of the first."""
        if not self.shared_values:
            return self.parallel
        first, *others = self.parallel
        return (first, *(_with_stage(one, first.io) for one in others))

    @property
    def is_causal(self) -> bool:
        """Every branch reads the tokens from the first to the last."""
        return all(order == "forward" for order in self.orders or ())

    @property
    def branch_weights(self) -> tuple[float, ...]:
        """The weight of each branch at initialisation; a mean is a sum with 1 / number of branches."""
        count = len(self.parallel)
        return self.weights or ((1.0 / count if self.merge == "mean" else 1.0),) * count


def _with_stage(mixer: MixerSpec, io: InputOutput) -> MixerSpec:
    """The mixer behind its own short convolution with everything else of `io`."""
    return mixer.model_copy(update={"io": io.model_copy(update={"short_conv": mixer.io.short_conv})})


def positions(order: Order, seq_len: int, row_length: int | None) -> list[int]:
    """The positions of a sequence in the order in which a branch reads them; an incomplete last row is read as far as
    it goes.
    """
    if order.startswith("columns"):
        width = row_length or 1
        read = [index for column in range(min(width, seq_len)) for index in range(column, seq_len, width)]
    else:
        read = list(range(seq_len))
    return read[::-1] if order in ("backward", "columns_backward") else read
