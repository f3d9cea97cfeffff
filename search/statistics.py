"""What repeats over seeds allow to say: means with 95 % intervals, and paired differences on shared seeds.

Student's t is used throughout: with two to five seeds the normal quantile would make intervals far too short (for two
seeds by a factor of 6.5). A single run has no interval, and none is invented.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from scipy.stats import t as student

from designspace.job import Record

CONFIDENCE = 0.95


class Moments(NamedTuple):
    """What a summary keeps: the number of runs, their mean, and their sum of squared deviations."""

    n: int
    mean: float
    m2: float


class Estimate(Record):
    """A mean with its 95 % interval; `half_width` is None where too few runs allow none."""

    mean: float
    half_width: float | None
    n: int

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half_width is None else self.mean + self.half_width


def estimate(values: Sequence[float]) -> Estimate:
    """Mean of independent runs with its t interval.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("An estimate needs at least one value.")
    mean = fmean(values)
    return of_moments(Moments(len(values), mean, sum((value - mean) ** 2 for value in values)))


def of_moments(moments: Moments) -> Estimate:
    """Mean with its t interval, of the running moments of a summary."""
    return mean_of_means([moments])


def mean_of_means(tasks: Sequence[Moments]) -> Estimate:
    """Unweighted mean of the means of several tasks, with the interval of Welch and Satterthwaite.

    The variance of the mean of k tasks is sum(s_t^2 / n_t) / k^2, with degrees of freedom
    (sum v_t)^2 / sum(v_t^2 / (n_t - 1)), v_t = s_t^2 / n_t. `n` is the smallest number of runs.

    Raises:
        ValueError: there are no tasks.
    """
    if not tasks:
        raise ValueError("A mean over tasks needs at least one task.")
    mean = fmean(task.mean for task in tasks)
    n = min(task.n for task in tasks)
    if n < 2:
        return Estimate(mean=mean, half_width=None, n=n)
    errors = [max(task.m2, 0.0) / (task.n - 1) / task.n for task in tasks]
    total = sum(errors)
    if total == 0:
        return Estimate(mean=mean, half_width=0.0, n=n)
    freedom = 1 / sum((error / total) ** 2 / (task.n - 1) for error, task in zip(errors, tasks, strict=True))
    return Estimate(mean=mean, half_width=_quantile(freedom) * math.sqrt(total) / len(tasks), n=n)


class Difference(Record):
    """A minus B over the seeds both have, with the interval of the paired t test; `decided` if it leaves out zero."""

    estimate: Estimate
    seeds: tuple[int, ...]
    decided: bool


def paired_difference(a: Mapping[int, float], b: Mapping[int, float]) -> Difference:
    """Mean difference of runs that share a seed.

    Args:
        a: values by seed.
        b: values by seed.

    Raises:
        ValueError: no seed is in both.
    """
    seeds = tuple(sorted(a.keys() & b.keys()))
    if not seeds:
        raise ValueError("A paired difference needs at least one shared seed.")
    found = estimate([a[seed] - b[seed] for seed in seeds])
    decided = found.half_width is not None and abs(found.mean) > found.half_width
    return Difference(estimate=found, seeds=seeds, decided=decided)


def _quantile(freedom: float) -> float:
    return float(student.ppf((1 + CONFIDENCE) / 2, freedom))
