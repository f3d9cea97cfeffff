"""Support: which keys a query may read, and how the diagonal is treated."""

from typing import Literal, Self

from pydantic import model_validator

from designspace.spec import Count, Spec, invalid


class Support(Spec):
    """mask `causal`: j <= i; `strict`: j < i; `none`: all j (bidirectional). `window` counts the current key;
    `chunk` restricts to the block of that length (Llama 4). read `before`: query i sees A_(i-1)...A_(j+1) and the
    diagonal score is q_i . (bonus * b_i k_i) (RWKV-4 to 6). diagonal `D`: y_i gains D v_i; `bonus` with read
    `after`: the coefficient alpha_ii gains q_i . (bonus * b_i k_i) outside phi and eta.
    """

    mask: Literal["causal", "strict", "none"] = "causal"
    window: Count | None = None
    chunk: Count | None = None
    read: Literal["after", "before"] = "after"
    diagonal: Literal["none", "D", "bonus"] = "none"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.window is not None and self.chunk is not None:
            raise invalid("chunk", "`window` and `chunk` exclude each other; set one to null.")
        if self.read == "before" and self.diagonal != "bonus":
            raise invalid("diagonal", "`read: before` leaves the diagonal to a bonus: use `diagonal: bonus`.")
        if self.diagonal == "bonus" and self.mask == "strict":
            raise invalid("diagonal", "`mask: strict` has no diagonal, so `diagonal: bonus` contradicts it.")
        if self.read == "before" and self.mask != "causal":
            raise invalid("read", f"`read: before` needs `mask: causal`, got {self.mask}.")
        return self

    def span(self, seq_len: int) -> int:
        """Tokens of a sequence that one query and its keys span: the length, or the window or chunk that bounds it."""
        return min(seq_len, self.window or seq_len, self.chunk or seq_len)

    def visible(self, position: int, seq_len: int) -> int:
        """Number of keys that query `position` (from 0) may read in a sequence of `seq_len`."""
        if self.mask == "none":
            left = position if self.window is None else min(position, self.window - 1)
            right = seq_len - 1 - position if self.window is None else min(seq_len - 1 - position, self.window - 1)
            if self.chunk is not None:
                start = position - position % self.chunk
                return min(start + self.chunk, seq_len) - start
            return left + 1 + right
        count = position + 1
        if self.window is not None:
            count = min(count, self.window)
        if self.chunk is not None:
            count = position % self.chunk + 1
        return count - (self.mask == "strict")
