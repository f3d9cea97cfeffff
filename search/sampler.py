"""What a sampler unit is: how to make the Optuna sampler, and how it learns from a rejected candidate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from optuna.samplers import BaseSampler


def nothing(index: int) -> dict[str, Any]:  # noqa: ARG001
    """No attribute: the sampler reads points and values only."""
    return {}


@dataclass(frozen=True)
class Sampler:
    """One way to propose.

    Args:
        title: what it does, in a few words.
        make: the Optuna sampler for a seed.
        rejected: how a refused point is told, always with a violated constraint. `pruned` for samplers that read pruned
            trials; `complete` with neutral values for those that read only complete ones.
        replayed: attributes that the sampler itself keeps on a trial, for the trial at an index of a rebuilt history.
    """

    title: str
    make: Callable[[int], BaseSampler]
    rejected: Literal["pruned", "complete"]
    replayed: Callable[[int], Mapping[str, Any]] = nothing
