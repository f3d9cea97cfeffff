"""A mixer that is no point of the grammar: its place in the stack is kept, and nothing is claimed about it."""

from typing import Annotated, Literal

from pydantic import Field

from designspace.mixer import MixerSpec
from designspace.spec import Spec

OutsideKind = Literal[
    "bidirectional",  # no causal mixer at all
    "sparse_support",  # which keys a query reads is chosen from the whole row
    "nonlinear_memory",  # the state update is not linear in the values or reads the state
    "history_dependent",  # a query, key or gate depends on more than its own token
    "joint_readout",  # the weight of a key depends on the scores of other keys
]


class Outside(Spec):
    """What stands in for a mixer that the tuple cannot express: rules answer `unknown` with the reason.

    Attributes:
        outside: which part of the definition it breaks.
        reason: one sentence, shown in the report.
        nearest: the nearest representable mixer, for comparison and for what is known of the dense part; never trained
            or judged in its place.
    """

    outside: OutsideKind
    reason: Annotated[str, Field(min_length=1, max_length=400)]
    nearest: MixerSpec | None = None
