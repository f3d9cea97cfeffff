"""How large is the largest tensor that a form makes? A form that keeps a state for every token needs L n d_v numbers,
which can be more than the L^2 of all scores.
"""

from collections.abc import Iterator
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.readout import is_linear
from workers.probe import Probe, Subject

LENGTH = 64  # far above the widths of a small mixer: states of all tokens are the largest tensor there can be
LEAST = 2 * LENGTH  # entries of a state below which L^2 scores are as large as the states of all tokens


class _Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the number of entries of the largest tensor that an operation makes."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.entries = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else (made,):
            if isinstance(one, Tensor):
                self.entries = max(self.entries, one.numel())
        return made


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = subject.small
    if subject.at_most(LENGTH) < LENGTH or not _has_small_state(spec):
        return
    found = [_states(subject, spec, draw) for draw in range(subject.draws)]
    yield from subject.largest("states_kept_per_token", found, length=LENGTH, unit="states")


def _has_small_state(spec: MixerSpec) -> bool:
    """The state is one matrix of key and value channels."""
    plain = is_linear(spec.readout) and spec.lift.kind == "none" and spec.erase.rank == 1
    return plain and spec.key_dim * spec.heads.head_dim >= LEAST


def _states(subject: Subject, spec: MixerSpec, draw: int) -> float:
    """Entries of the largest tensor, over the tokens and the entries of a state."""
    signals = subject.signals(spec, draw, LENGTH)
    with _Largest() as largest:
        subject.outputs(spec, draw, signals)
    states = len(signals.q) * spec.heads.num_heads * LENGTH
    return float(largest.entries / (states * spec.key_dim * spec.heads.head_dim))


probe = Probe(
    quantities={
        "states_kept_per_token": "entries of the largest tensor that the form makes, over tokens times those of a state"
    },
    mixer=_mixer,
)
