"""Parity: the running sum of bits modulo 2, and splits of a space so small that chance alone would mix them."""

import numpy as np
import pytest

from workers.task import IGNORED, SPLIT_ORDER
from workers.tasks.parity import task


def test_targets_are_the_running_parity():
    batch = task.sample(task.parameters, "train", size=100, seed=0)
    np.testing.assert_array_equal(batch.targets, np.cumsum(batch.inputs, axis=1) % 2)


def test_the_test_asks_in_the_second_half_only():
    batch = task.sample(task.parameters, "test", size=100, seed=0)
    assert (batch.targets[:, :32] == IGNORED).all()
    assert batch.scored[:, 32:].all()


def test_bits_are_fair_and_targets_balanced():
    batch = task.sample(task.parameters, "test", size=2000, seed=0)
    assert batch.inputs.mean() == pytest.approx(0.5, abs=0.01)
    assert batch.targets[batch.scored].mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("seq_len", [6, 8, 10])
def test_a_tiny_space_is_divided_without_overlap_and_nearly_used_up(seq_len):
    parameters = task.configure(seq_len=seq_len)
    codes = {
        split: set((task.sample(parameters, split, size=20000, seed=0).inputs @ 2 ** np.arange(seq_len)).tolist())
        for split in SPLIT_ORDER
    }
    assert sum(len(found) for found in codes.values()) == 2**seq_len
    assert len(set.union(*codes.values())) == 2**seq_len
    assert len(codes["train"]) > 0.6 * 2**seq_len


def test_a_space_without_a_test_sequence_is_refused():
    with pytest.raises(ValueError, match="too few distinct sequences"):
        task.sample(task.configure(seq_len=2), "test", size=10, seed=0)
