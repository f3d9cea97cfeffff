"""What a search optimises: the accuracy it measures, and sizes that are known without training."""

from collections.abc import Sequence
from statistics import fmean
from typing import Literal, get_args

from search.ledger import Score

Objective = Literal["accuracy", "parameters", "state_bytes", "decode_macs"]
Direction = Literal["maximize", "minimize"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)


def direction(objective: Objective) -> Direction:
    """Accuracy is better when larger, every size when smaller."""
    return "maximize" if objective == "accuracy" else "minimize"


def values(objectives: Sequence[Objective], scores: Sequence[Score]) -> tuple[float, ...]:
    """One number per objective.

    Args:
        objectives: what is optimised.
        scores: every result of the candidate. Accuracy is the mean over tasks of the mean over seeds, a size the
            largest over tasks.

    Raises:
        ValueError: there is no score.
    """
    if not scores:
        raise ValueError("Objectives need at least one result.")
    return tuple(
        accuracy(scores) if name == "accuracy" else max(float(score.facts[name]) for score in scores)
        for name in objectives
    )


def accuracy(scores: Sequence[Score]) -> float:
    """Mean over tasks of the mean over seeds."""
    tasks = {score.task for score in scores}
    return fmean(fmean(score.accuracy for score in scores if score.task == task) for task in sorted(tasks))
