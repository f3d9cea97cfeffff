"""eta_i, the normalization: one scalar per query that divides the whole row. Source: arXiv 2510.09389, principle 6."""

from typing import Literal

from designspace.spec import Nonnegative, Positive, Spec


class Normalization(Spec):
    """eta_i = factor times: 1 (none), the row sum + eps (sum), the row sum + exp(sink of the head) (sum_with_sink),
    max(|row sum|, 1) + eps (max_abs_sum_1, mLSTM), exp(n_i) of the token (learned, arXiv 2405.15731), or the length.

    `length_kind`: `visible` counts the keys query i sees, `target` is target.seq_len. `eps_inside` says whether the
    code adds eps inside the stabilised sum (null: not stated); it is execution and does not change the function.
    """

    kind: Literal["none", "sum", "sum_with_sink", "max_abs_sum_1", "learned", "length"] = "none"
    eps: Nonnegative = 0.0
    eps_inside: bool | None = None
    factor: Positive = 1.0
    length_kind: Literal["visible", "target"] = "visible"

    @property
    def sums_the_row(self) -> bool:
        """eta is built from the row sum."""
        return self.kind in ("sum", "sum_with_sink", "max_abs_sum_1")
