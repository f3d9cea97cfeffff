"""What a search optimises: the accuracy it measures, and sizes that are known without training."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal, get_args

from search.ledger import Score

Objective = Literal["accuracy", "parameters", "state_bytes", "decode_macs"]
Direction = Literal["maximize", "minimize"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)


def direction(objective: Objective) -> Direction:
    """Accuracy is better when larger, every size when smaller."""
    return "maximize" if objective == "accuracy" else "minimize"


def values(objectives: Sequence[Objective], scores: Sequence[Score], facts: Mapping[str, float]) -> tuple[float, ...]:
    """One number per objective.

    Args:
        objectives: what is optimised.
        scores: every result of the candidate; accuracy is the mean over tasks of the mean over seeds.
        facts: the candidate's sizes.

    Raises:
        ValueError: there is no score, or a size is missing.
    """
    missing = [name for name in objectives if name != "accuracy" and name not in facts]
    if missing or not scores:
        raise ValueError(f"Objectives need scores and facts, got {len(scores)} scores and no {missing or 'gap'}.")
    return tuple(accuracy(scores) if name == "accuracy" else float(facts[name]) for name in objectives)


def accuracy(scores: Sequence[Score]) -> float:
    """Mean over tasks of the mean over seeds."""
    tasks = {score.task for score in scores}
    return fmean(fmean(score.accuracy for score in scores if score.task == task) for task in sorted(tasks))
