"""The numbers of MAD's noisy recall: noise fills whole slots and is never asked for in the test."""

import numpy as np
import pytest

from workers.task import IGNORED
from workers.tasks.noisy_recall import draw, task


@pytest.mark.parametrize(("noise_fraction", "expected", "tolerance"), [(0.2, 43.5, 0.2), (0.8, 7.8, 0.2)])
def test_scored_positions_are_those_of_mad(noise_fraction, expected, tolerance):
    batch = task.sample(task.configure(noise_fraction=noise_fraction), "test", size=3000, seed=0)
    assert batch.scored.sum(axis=1).mean() == pytest.approx(expected, abs=tolerance)


def test_noise_replaces_whole_slots_with_its_fraction():
    inputs = task.sample(task.parameters, "train", size=3000, seed=0).inputs
    first, second = inputs[:, :-1:2] >= 16, inputs[:, 1::2] >= 16
    np.testing.assert_array_equal(first, second)
    assert first.mean() == pytest.approx(0.2 * 62 / 63, abs=0.005)
    keys, values = inputs[:, :-1:2][~first], inputs[:, 1::2][~first]
    assert (keys.min(), keys.max(), values.min(), values.max()) == (0, 7, 8, 15)


def test_noise_is_never_asked_for():
    batch = task.sample(task.parameters, "test", size=500, seed=0)
    assert (batch.targets[batch.inputs >= 8] == IGNORED).all()
    assert batch.targets.max() == 15


def test_the_two_noise_tokens_are_independent_and_uniform():
    inputs = task.sample(task.parameters, "train", size=3000, seed=0).inputs
    first, second = inputs[:, :-1:2], inputs[:, 1::2]
    noise = first >= 16
    assert np.bincount(first[noise])[16:] / noise.sum() == pytest.approx(np.full(16, 1 / 16), abs=0.006)
    assert (first[noise] == second[noise]).mean() == pytest.approx(1 / 16, abs=0.006)


def test_a_sequence_of_noise_alone_gets_one_pair():
    parameters = task.configure(seq_len=4, noise_fraction=0.99)
    drawn = draw(parameters, 2000, np.random.default_rng(0))
    assert (drawn.inputs[:, 0] < 8).all()
    np.testing.assert_array_equal(drawn.inputs[:, 0], drawn.inputs[:, 2])
    np.testing.assert_array_equal(drawn.answers[:, 2], drawn.inputs[:, 1])
