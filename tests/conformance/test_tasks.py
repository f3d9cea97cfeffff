"""What every task must satisfy, at its published sizes and at those of `protocol: tiny`."""

import numpy as np
import pytest

from designspace.units import discover
from workers.task import IGNORED, SPLIT_ORDER, Task, TaskParameters

TASKS: dict[str, Task[TaskParameters]] = discover("workers.tasks", "task", Task)


@pytest.fixture(params=sorted(TASKS))
def task(request: pytest.FixtureRequest) -> Task[TaskParameters]:
    return TASKS[request.param]


@pytest.fixture(params=["published", "tiny"])
def parameters(task: Task[TaskParameters], request: pytest.FixtureRequest) -> TaskParameters:
    return task.parameters if request.param == "published" else task.tiny


def rows(inputs: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in inputs}


def test_unit_is_named_after_its_file_and_cites_a_source():
    for name, task in TASKS.items():
        assert task.name == name
        assert "arXiv" in task.reference
        assert set(task.principles) <= set(range(1, 7))


def test_tokens_and_targets_are_in_the_vocabulary(task, parameters):
    for split in SPLIT_ORDER:
        batch = task.sample(parameters, split, size=64, seed=3)
        assert batch.inputs.dtype == batch.targets.dtype == np.int64
        assert batch.inputs.shape == batch.targets.shape == (64, batch.inputs.shape[1])
        assert batch.inputs.min() >= 0
        assert batch.inputs.max() < parameters.vocab_size
        asked = batch.targets[batch.scored]
        assert asked.size >= 64
        assert asked.min() >= 0
        assert asked.max() < parameters.vocab_size


def test_oracle_answers_every_test_target(task, parameters):
    batch = task.sample(parameters, "test", size=256, seed=0)
    predicted = task.oracle(batch.inputs, parameters)
    np.testing.assert_array_equal(predicted[batch.scored], batch.targets[batch.scored])


def test_oracle_reads_the_past_only(task, parameters):
    inputs = task.sample(parameters, "test", size=32, seed=0).inputs
    half = inputs.shape[1] // 2
    other = task.sample(parameters, "test", size=32, seed=1).inputs
    changed = np.concatenate([inputs[:, :half], other[:, half:]], axis=1)
    np.testing.assert_array_equal(task.oracle(changed, parameters)[:, :half], task.oracle(inputs, parameters)[:, :half])


def test_splits_share_no_sequence_even_across_seeds(task, parameters):
    drawn = {
        split: rows(np.concatenate([task.sample(parameters, split, size=1500, seed=seed).inputs for seed in (0, 1)]))
        for split in SPLIT_ORDER
    }
    assert not drawn["train"] & drawn["test"]
    assert not drawn["train"] & drawn["validation"]
    assert not drawn["validation"] & drawn["test"]


def test_published_size_repeats_no_sequence(task):
    inputs = np.concatenate([task.sample(task.parameters, split, size=2000, seed=0).inputs for split in SPLIT_ORDER])
    assert len(rows(inputs)) == len(inputs)


def test_same_arguments_give_the_same_sequences(task, parameters):
    first, again, other = (task.sample(parameters, "train", size=32, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.inputs, again.inputs)
    np.testing.assert_array_equal(first.targets, again.targets)
    assert (first.inputs != other.inputs).any()


def test_global_random_state_is_untouched(task, parameters):
    np.random.seed(7)
    expected = np.random.random()
    np.random.seed(7)
    task.sample(parameters, "train", size=16, seed=0)
    assert np.random.random() == expected


def test_training_target_holds_the_answers(task, parameters):
    """Whatever else it asks for, training asks for what the test asks for."""
    drawn = task.draw(parameters, 128, np.random.default_rng(0))
    scored = drawn.answers != IGNORED
    np.testing.assert_array_equal(drawn.training[scored], drawn.answers[scored])


def test_chance_is_the_accuracy_of_a_uniform_guess(task, parameters):
    """A guess that is uniform over the answers which occur cannot do better or worse than `chance`."""
    batch = task.sample(parameters, "test", size=4000, seed=2)
    asked = batch.targets[batch.scored]
    guess = np.random.default_rng(0).permutation(np.unique(asked))
    hits = (asked[None, :] == guess[:, None]).mean()
    assert hits == pytest.approx(task.chance(parameters), rel=1e-9)
    assert (asked == guess[0]).mean() < 3 * task.chance(parameters)


def test_ceiling_lies_between_chance_and_one(task, parameters):
    for train_size in (16, 256, 12800):
        assert task.chance(parameters) < task.ceiling(parameters, train_size) <= 1.0


def test_unknown_size_is_refused(task):
    with pytest.raises(ValueError, match="sequence_length"):
        task.configure(sequence_length=8)


def test_ignored_index_is_torch_default():
    torch = pytest.importorskip("torch")
    assert torch.nn.CrossEntropyLoss().ignore_index == IGNORED
