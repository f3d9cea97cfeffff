"""The schedule acts, and only matrices decay."""

import itertools
import math

import pytest
import torch

from workers.optimization import learning_rate, parameter_groups
from workers.protocol import MAD, TINY

PROTOCOL = TINY.model_copy(update={"learning_rate": 1.0, "warmup_fraction": 0.1, "final_fraction": 0.02})


@pytest.mark.parametrize(
    ("step", "expected"),
    [(1, 0.1), (5, 0.5), (10, 1.0), (55, 0.51), (100, 0.02), (40, 0.02 + 0.98 * (1 + math.cos(math.pi / 3)) / 2)],
)
def test_rate_rises_linearly_and_falls_by_a_cosine(step, expected):
    assert learning_rate(step, 100, PROTOCOL) == pytest.approx(expected)


def test_rate_without_warmup_starts_near_the_peak_and_falls_at_every_step():
    rates = [learning_rate(step, 400, MAD) for step in range(1, 401)]
    assert rates[0] == pytest.approx(MAD.learning_rate, rel=1e-4)
    assert rates[-1] == pytest.approx(1e-6)
    assert all(later < earlier for earlier, later in itertools.pairwise(rates))


def test_only_matrices_of_linear_maps_and_embeddings_decay():
    model = torch.nn.ModuleDict(
        {"embed": torch.nn.Embedding(4, 4), "map": torch.nn.Linear(4, 4), "norm": torch.nn.LayerNorm(4)}
    )
    model.register_parameter("log_decay", torch.nn.Parameter(torch.zeros(4, 4)))
    decaying, kept = parameter_groups(model, 0.1)
    assert decaying["weight_decay"] == 0.1
    assert {id(p) for p in decaying["params"]} == {id(model["embed"].weight), id(model["map"].weight)}
    assert kept["weight_decay"] == 0.0
    assert len(decaying["params"]) + len(kept["params"]) == len(list(model.parameters()))


def test_a_tied_weight_is_optimised_once():
    model = torch.nn.ModuleDict({"embed": torch.nn.Embedding(4, 3), "head": torch.nn.Linear(3, 4, bias=False)})
    model["head"].weight = model["embed"].weight
    decaying, kept = parameter_groups(model, 0.1)
    assert len(decaying["params"]) == 1
    assert kept["params"] == []
