"""Training and probes."""

import json

import pytest
from given import SOFTMAX, Spec, candidate, sextant

from workers.optimization import learning_rate
from workers.probe import probe
from workers.protocol import named


def test_learning_rate_warms_up_and_falls_by_a_cosine() -> None:
    tiny = named("tiny")
    steps = 200
    rates = [learning_rate(step, steps, tiny) for step in range(1, steps + 1)]
    warm = round(tiny.warmup_fraction * steps)
    assert rates[warm - 1] == pytest.approx(tiny.learning_rate)
    assert rates[:warm] == sorted(rates[:warm])
    assert rates[warm:] == sorted(rates[warm:], reverse=True)
    half = warm + (steps - warm) // 2
    middle = tiny.learning_rate * (tiny.final_fraction + (1 - tiny.final_fraction) / 2)
    assert rates[half - 1] == pytest.approx(middle, rel=1e-6)


@pytest.mark.slow
def test_training_is_a_generator_that_records_divergence_and_is_repeatable() -> None:
    """`train` yields progress and ends with a result; the same seed gives the same number."""
    command = ["train", "catalogue:linear_elu_norm", "--task", "selective_copying", "--steps", "3", "--format", "json"]
    first, second = (json.loads(sextant(*command, "--seed", "5").stdout)["result"]["metrics"] for _ in range(2))
    assert first == second
    assert {"accuracy", "accuracy_macro", "validation_accuracy", "chance"} <= set(first)


def test_probes_measure_what_the_rules_predict() -> None:
    def measured(spec: Spec) -> dict[str, float]:
        one = candidate({"model": {"model_dim": 32}, "blocks": [{"repeat": 2, "mixer": spec}]})
        return {found.quantity: found.value for found in probe(one, 0) if found.path.endswith("mixer")}

    heads = {"num_heads": 2, "state_dim": 64, "head_dim": 8}
    unscaled = measured({**SOFTMAX, "scaling": {"base": 1.0}, "heads": heads})
    assert unscaled["score_std"] == pytest.approx(8.0, rel=0.1)
    scaled = measured({**SOFTMAX, "heads": heads})
    assert scaled["score_std"] == pytest.approx(1.0, rel=0.1)
    assert next(value for key, value in scaled.items() if "later" in key) == 0.0
    assert (
        next(value for key, value in scaled.items() if "last_output" in key) < 1e-9
    )  # permuting the past changes nothing
    rope = measured({**SOFTMAX, "heads": heads, "rotation": {"source": "constant"}})
    assert next(value for key, value in rope.items() if "last_output" in key) > 1e-3
    assert all(value < 1e-9 for key, value in rope.items() if "deviation" in key)
