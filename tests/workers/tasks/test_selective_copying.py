"""The numbers of MAD's selective copying: gaps, blanks, answer positions."""

import numpy as np
import pytest

from workers.task import IGNORED
from workers.tasks.selective_copying import task

COPY, BLANK = 15, 14


def gaps(inputs: np.ndarray) -> np.ndarray:
    """Blanks before each content token, [size, num_copied]."""
    places = np.array([np.flatnonzero(row < BLANK) for row in inputs])
    return np.diff(places, axis=1, prepend=-1) - 1


def test_blanks_fall_evenly_before_content_and_never_after_it():
    inputs = task.sample(task.parameters, "train", size=1500, seed=0).inputs
    before = gaps(inputs)
    assert before.mean(axis=0) == pytest.approx(np.full(16, 223 / 16), abs=0.5)
    np.testing.assert_array_equal(before.sum(axis=1), 223)
    assert (inputs[:, 238] < BLANK).all()


def test_gap_counts_are_multinomial():
    """The variance of one gap is B p (1 - p), the covariance of two -B p^2."""
    before = gaps(task.sample(task.parameters, "train", size=4000, seed=0).inputs)
    covariance = np.cov(before.T)
    assert np.diag(covariance).mean() == pytest.approx(223 / 16 * 15 / 16, rel=0.05)
    assert covariance[~np.eye(16, dtype=bool)].mean() == pytest.approx(-223 / 256, rel=0.1)


def test_layout_is_content_copy_token_and_blank_answers():
    batch = task.sample(task.parameters, "test", size=300, seed=0)
    assert batch.inputs.shape[1] == 256
    assert (batch.inputs[:, 239] == COPY).all()
    assert (batch.inputs == COPY).sum() == 300
    assert (batch.inputs[:, 240:] == BLANK).all()
    assert (batch.targets[:, :240] == IGNORED).all()
    assert batch.scored.sum(axis=1).tolist() == [16] * 300
    content = batch.inputs[:, :239][batch.inputs[:, :239] < BLANK].reshape(300, 16)
    np.testing.assert_array_equal(batch.targets[:, 240:], content)


def test_training_and_test_score_the_same_positions():
    train, test = (task.sample(task.parameters, split, size=10, seed=0) for split in ("train", "test"))
    np.testing.assert_array_equal(train.scored, test.scored)


def test_too_many_tokens_are_refused():
    with pytest.raises(ValueError, match=r"must exceed 2 \* num_copied \+ 1 = 65"):
        task.configure(seq_len=64, num_copied=32)
