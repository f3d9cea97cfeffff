"""The numbers of MAD's memorization: one fixed bijection, ceilings of small training sets."""

import numpy as np
import pytest

from workers.task import IGNORED
from workers.tasks.memorization import ceiling, task, value_of

INSERT = 255


def test_map_is_a_bijection_of_127_pairs():
    values = value_of(task.parameters)
    assert len(values) == 127
    assert len(np.unique(values)) == 127
    assert values.min() >= 127
    assert values.max() <= 254


def test_map_is_the_one_of_mad():
    """MAD shuffles a list of keys, then one of values, with one generator, and zips them."""
    rng = np.random.default_rng(12345)
    keys, values = list(range(127)), list(range(127, 255))
    rng.shuffle(keys)
    rng.shuffle(values)
    assert dict(zip(keys, values, strict=False)) == dict(enumerate(value_of(task.parameters).tolist()))


def test_every_split_and_seed_asks_for_the_same_facts():
    for split in ("train", "validation", "test"):
        for seed in (0, 1):
            batch = task.sample(task.parameters, split, size=100, seed=seed)
            np.testing.assert_array_equal(batch.targets[:, 1::2], value_of(task.parameters)[batch.inputs[:, ::2]])


def test_the_answer_never_stands_in_the_input():
    batch = task.sample(task.parameters, "train", size=200, seed=0)
    assert (batch.inputs[:, 1::2] == INSERT).all()
    assert (batch.inputs[:, ::2] < 127).all()
    assert (batch.targets[:, ::2] == IGNORED).all()
    assert batch.scored.sum(axis=1).tolist() == [16] * 200


@pytest.mark.parametrize(
    ("vocab_size", "expected"), [(256, 1.0), (512, 1.0), (1024, 0.9997), (2048, 0.982), (4096, 0.865), (8192, 0.632)]
)
def test_ceiling_of_256_training_sequences(vocab_size, expected):
    assert ceiling(task.configure(vocab_size=vocab_size), 256) == pytest.approx(expected, abs=5e-4)


def test_ceiling_is_the_share_of_keys_a_training_set_shows():
    parameters = task.configure(vocab_size=4096)
    train = task.sample(parameters, "train", size=256, seed=0).inputs[:, ::2]
    test = task.sample(parameters, "test", size=1280, seed=0).inputs[:, ::2]
    assert np.isin(test, train).mean() == pytest.approx(ceiling(parameters, 256), abs=0.02)
