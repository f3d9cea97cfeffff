"""A form: one way to compute the outputs of a mixer. Each file of `workers/forms/` holds one as `form`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from designspace.mixer import MixerSpec
from workers.signals import Signals


@runtime_checkable
class Apply(Protocol):
    """Outputs of the mixer in the dtype of the signals."""

    def __call__(
        self, spec: MixerSpec, signals: Signals, *, target_len: int | None = None
    ) -> Float[Tensor, "batch seq_len num_heads head_dim"]:
        """`target_len` is target.seq_len for `length_kind: target`; None takes the length of the signals."""
        ...


@dataclass(frozen=True)
class Form:
    """One way to compute a mixer.

    Attributes:
        name: the file name, as in `execution.form`.
        invalid_reason: why a spec has no such form, or None where it has one.
        apply: raises ValueError with that reason for a spec that has none.
    """

    name: str
    invalid_reason: Callable[[MixerSpec], str | None]
    apply: Apply
