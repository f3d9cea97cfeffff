"""Intervals against scipy, against published quantiles, and against simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from search.statistics import Moments, estimate, mean_of_means, paired_difference

SAMPLES = st.lists(st.floats(0, 1, allow_nan=False), min_size=2, max_size=8)


@given(SAMPLES)
def test_the_interval_is_scipys_t_interval(values: list[float]) -> None:
    found = estimate(values)
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    assert found.half_width == pytest.approx(stats.t.ppf(0.975, len(values) - 1) * error, abs=1e-12)
    assert found.mean == pytest.approx(np.mean(values))


def test_two_runs_use_the_published_quantile() -> None:
    assert estimate([0.0, 2.0]).half_width == pytest.approx(12.706, abs=1e-3)


def test_one_run_has_no_interval() -> None:
    assert estimate([0.4]).half_width is None
    assert estimate([0.4]).low is None


@given(SAMPLES, SAMPLES)
def test_the_paired_difference_is_scipys_paired_test(a: list[float], b: list[float]) -> None:
    size = min(len(a), len(b))
    found = paired_difference(dict(enumerate(a)), dict(enumerate(b)))
    assert found.seeds == tuple(range(size))
    differences = np.subtract(a[:size], b[:size])
    if np.ptp(differences) > 1e-6:
        interval = stats.ttest_rel(a[:size], b[:size]).confidence_interval(0.95)
        assert found.estimate.low == pytest.approx(interval.low)
        assert found.estimate.high == pytest.approx(interval.high)


def test_only_shared_seeds_are_compared() -> None:
    found = paired_difference({0: 1.0, 1: 0.5, 7: 0.0}, {1: 0.25, 0: 0.75})
    assert (found.seeds, found.estimate.mean, found.decided) == ((0, 1), 0.25, True)
    with pytest.raises(ValueError, match="shared seed"):
        paired_difference({0: 1.0}, {1: 1.0})


def test_the_mean_over_tasks_covers_the_truth_in_95_percent_of_cases() -> None:
    rng = np.random.default_rng(0)
    hits, trials = 0, 2000
    for _ in range(trials):
        samples = [rng.normal(0.5, scale, size=4) for scale in (0.1, 0.05)]
        moments = [Moments(4, float(x.mean()), float(((x - x.mean()) ** 2).sum())) for x in samples]
        found = mean_of_means(moments)
        hits += abs(found.mean - 0.5) <= (found.half_width or 0.0)
    assert hits / trials == pytest.approx(0.95, abs=0.02)
