"""The numbers of MAD's in-context recall: scored positions, uniform probes, one value per key."""

import numpy as np
import pytest

from workers.task import IGNORED
from workers.tasks.in_context_recall import chance, task

SEQUENCES = 2000


@pytest.mark.parametrize(
    ("vocab_size", "seq_len", "published"),
    [(16, 128, 56.0), (32, 128, 48.3), (64, 128, 36.5), (128, 128, 23.5), (16, 1024, 504.0)],
)
def test_scored_positions_are_those_of_mad(vocab_size, seq_len, published):
    """Counted on mad-lab's generator, and in closed form: all slots but the first use of each of n keys.

    After the s - 1 slots before the probe, n (1 - (1 - 1/n)^(s - 1)) keys were used; the probe is always a repeat.
    """
    batch = task.sample(
        task.configure(vocab_size=vocab_size, seq_len=seq_len), "test", size=SEQUENCES * 128 // seq_len, seed=0
    )
    slots, num_keys = seq_len // 2, vocab_size // 2
    expected = slots - num_keys * (1 - (1 - 1 / num_keys) ** (slots - 1))
    measured = batch.scored.sum(axis=1).mean()
    assert batch.inputs.shape[1] == seq_len - 1
    assert measured == pytest.approx(expected, abs=0.15)
    assert measured == pytest.approx(published, abs=0.35)


def test_chance_at_baseline():
    assert chance(task.parameters) == 0.125


def test_a_key_keeps_its_value_within_a_sequence_and_changes_it_between():
    inputs = task.sample(task.parameters, "train", size=200, seed=0).inputs
    keys, values = inputs[:, :-1:2], inputs[:, 1::2]
    assert keys.max() == 7
    assert values.min() == 8
    for key in range(8):
        lowest = np.where(keys == key, values, 99).min(axis=1)
        highest = np.where(keys == key, values, -1).max(axis=1)
        present = (keys == key).any(axis=1)
        np.testing.assert_array_equal(lowest[present], highest[present])
        assert len(np.unique(lowest[present])) == 8


def test_two_keys_may_share_a_value():
    inputs = task.sample(task.parameters, "train", size=200, seed=0).inputs
    distinct = np.array([len(np.unique(row)) for row in inputs[:, 1::2]])
    assert distinct.mean() == pytest.approx(8 * (1 - (7 / 8) ** 8), abs=0.3)


def test_probe_is_uniform_over_distinct_keys_not_over_occurrences():
    """With 8 slots and 4 keys a key that stands once is probed as often as one that stands four times."""
    inputs = task.sample(task.configure(vocab_size=8, seq_len=16), "train", size=40000, seed=0).inputs
    shown, probe = inputs[:, 0:14:2], inputs[:, 14]
    occurrences = (shown[:, :, None] == np.arange(4)).sum(axis=1)
    two_keys = (occurrences > 0).sum(axis=1) == 2
    rare = np.where(occurrences > 0, occurrences, 99).argmin(axis=1)
    uneven = two_keys & (occurrences.max(axis=1) >= 5)
    assert uneven.sum() > 500
    assert (probe == rare)[uneven].mean() == pytest.approx(0.5, abs=0.06)


def test_training_asks_for_the_next_token_everywhere():
    batch = task.sample(task.parameters, "train", size=50, seed=0)
    np.testing.assert_array_equal(batch.targets[:, :-1], batch.inputs[:, 1:])
    assert batch.scored.all()


def test_training_on_answers_asks_for_them_alone():
    answers = task.sample(task.configure(train_on="answers"), "train", size=50, seed=0)
    published = task.sample(task.parameters, "train", size=50, seed=0)
    np.testing.assert_array_equal(answers.inputs, published.inputs)
    assert 0.3 < answers.scored.mean() < 0.5
    np.testing.assert_array_equal(answers.targets[answers.scored], published.targets[answers.scored])


def test_single_query_scores_the_last_position_after_the_copy_prefix():
    parameters = task.configure(multi_query=False)
    batch = task.sample(parameters, "test", size=500, seed=0)
    assert batch.inputs.shape[1] == 128
    assert (batch.inputs[:, -2] == 15).all()
    assert (batch.inputs[:, -1] < 7).all()
    assert (batch.targets[:, :-1] == IGNORED).all()
    np.testing.assert_array_equal(task.oracle(batch.inputs, parameters)[:, -1], batch.targets[:, -1])
    assert batch.targets[:, -1].min() == 7


@pytest.mark.parametrize(
    ("sizes", "message"), [({"seq_len": 15}, "must be even"), ({"vocab_size": 2, "multi_query": False}, "at least 2")]
)
def test_sizes_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        task.configure(**sizes)
