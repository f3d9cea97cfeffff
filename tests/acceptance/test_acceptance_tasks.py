"""The tasks: scored positions, targets, chance and splits."""

import itertools
import time
from typing import Any

import numpy as np
import pytest
from given import Spec

from workers.task import load as load_task


def task_of(name: str) -> Any:
    return load_task(name)


SCORED: list[tuple[str, Spec, float, int]] = [  # tasks.md: scored positions per test sequence, length of the inputs
    ("in_context_recall", {}, 56.0, 127),
    ("in_context_recall", {"vocab_size": 32}, 48.3, 127),
    ("in_context_recall", {"vocab_size": 64}, 36.5, 127),
    ("in_context_recall", {"vocab_size": 128}, 23.5, 127),
    ("noisy_recall", {}, 43.5, 127),
    ("selective_copying", {}, 16.0, 256),
    ("memorization", {}, 16.0, 32),
]


@pytest.mark.parametrize(("name", "sizes", "scored", "length"), SCORED, ids=[f"{a}{b}" for a, b, _, _ in SCORED])
def test_tasks_score_the_published_number_of_positions(name: str, sizes: Spec, scored: float, length: int) -> None:
    task = task_of(name)
    batch = task.sample(task.configure(**sizes), "test", size=600, seed=0)
    assert batch.inputs.shape == (600, length)
    assert batch.scored.sum(1).mean() == pytest.approx(scored, rel=0.02)
    answers = task.oracle(batch.inputs, task.configure(**sizes))
    assert (answers[batch.scored] == batch.targets[batch.scored]).all()


def test_selective_copying_is_that_of_the_page() -> None:
    """copy = V-1, blank = V-2, content below; none after the last content token; answers in order at the n blanks."""
    task = task_of("selective_copying")
    batch = task.sample(task.parameters, "test", size=300, seed=1)
    vocab, n, length = 16, 16, 256
    for row, target in zip(batch.inputs, batch.targets, strict=True):
        place = int(np.flatnonzero(row == vocab - 1)[0])
        assert place == length - n - 1
        assert (row[place + 1 :] == vocab - 2).all()
        content = row[:place][row[:place] < vocab - 2]
        assert len(content) == n
        assert row[place - 1] < vocab - 2
        assert (target[: place + 1] == -100).all()
        assert (target[place + 1 :] == content).all()
    assert task.chance(task.parameters) == pytest.approx(1 / 14)


def test_recall_keys_values_and_targets() -> None:
    task = task_of("in_context_recall")
    batch = task.sample(task.parameters, "test", size=200, seed=2)
    for row, target in zip(batch.inputs, batch.targets, strict=True):
        seen: dict[int, int] = {}
        for position in range(0, 127, 2):
            key = int(row[position])
            assert key < 8
            if key in seen:
                assert target[position] == seen[key]
            else:
                assert target[position] == -100
            if position + 1 < 127:
                value = int(row[position + 1])
                assert 8 <= value < 16
                assert seen.setdefault(key, value) == value
                assert target[position + 1] == -100
    train = task.sample(task.parameters, "train", size=50, seed=2)
    assert (train.targets[:, :-1] == train.inputs[:, 1:]).all()  # next token at every position
    assert task.chance(task.parameters) == pytest.approx(1 / 8)


@pytest.mark.parametrize("name", ["in_context_recall", "noisy_recall", "selective_copying", "memorization", "parity"])
def test_splits_are_disjoint_seeded_and_quick(name: str) -> None:
    task = task_of(name)
    start = time.process_time()
    splits = {
        (split, seed): task.sample(task.parameters, split, size=400, seed=seed)
        for split in ("train", "validation", "test")
        for seed in (0, 1)
    }
    assert time.process_time() - start < 3.0
    again = task.sample(task.parameters, "train", size=400, seed=0)
    assert (again.inputs == splits["train", 0].inputs).all()
    assert not (splits["train", 1].inputs[:50] == splits["train", 0].inputs[:50]).all()
    seen = {key: {row.tobytes() for row in batch.inputs} for key, batch in splits.items()}
    for (first, _), (second, _) in itertools.combinations(seen, 2):
        if first != second:
            for one, two in itertools.product((0, 1), repeat=2):
                assert not seen[first, one] & seen[second, two]
