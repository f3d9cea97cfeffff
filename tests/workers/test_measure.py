"""Micro and macro accuracy of known answers."""

import numpy as np
import pytest
import torch

from workers.measure import balanced_accuracy, measure
from workers.task import IGNORED


class Echo(torch.nn.Module):
    """Answers every token with itself, almost surely."""

    def forward(self, tokens):
        return 20.0 * torch.nn.functional.one_hot(tokens, 4).float()


def test_rare_class_weighs_as_much_as_a_common_one():
    """The example of MAD's metric: nine of ten right with the one rare answer missed is 0.9 micro and 0.5 macro."""
    due, said = np.array([0] * 9 + [1]), np.zeros(10, dtype=int)
    assert balanced_accuracy(due, said) == 0.5


def test_predicting_a_class_that_never_occurs_costs_only_the_miss():
    due, said = np.array([0, 0, 1, 1]), np.array([0, 3, 1, 1])
    assert balanced_accuracy(due, said) == 0.75


def test_ignored_positions_do_not_count():
    inputs = torch.tensor([[0, 1, 2, 3], [1, 1, 2, 2]])
    targets = torch.tensor([[0, IGNORED, 2, 0], [IGNORED, 1, IGNORED, 0]])
    scores = measure(Echo(), inputs, targets, batch_size=8)
    assert scores.accuracy == pytest.approx(3 / 5)
    assert scores.accuracy_macro == pytest.approx((1 / 3 + 1 + 1) / 3)


def test_scores_do_not_depend_on_the_batch_size():
    rng = np.random.default_rng(0)
    inputs, targets = (torch.from_numpy(rng.integers(4, size=(37, 9))) for _ in range(2))
    targets[:, :4] = IGNORED
    targets[:30, 5:] = IGNORED
    whole, parts = (measure(Echo(), inputs, targets, batch_size=size) for size in (64, 5))
    assert whole.accuracy == parts.accuracy
    assert whole.accuracy_macro == parts.accuracy_macro
    assert whole.loss == pytest.approx(parts.loss, rel=1e-6)


def test_loss_is_the_mean_cross_entropy_in_nats():
    targets = torch.tensor([[0, 1, 2, 3]])
    uniform = torch.nn.Sequential(torch.nn.Embedding.from_pretrained(torch.zeros(4, 4)))
    assert measure(uniform, targets, targets, batch_size=1).loss == pytest.approx(np.log(4), rel=1e-6)


def test_measuring_leaves_the_model_in_training_mode_without_gradients():
    model = torch.nn.Embedding(4, 4)
    tokens = torch.tensor([[0, 1, 2, 3]])
    measure(model, tokens, tokens, batch_size=1)
    assert model.training
    assert model.weight.grad is None
