"""`check` answers for every valid spec: random ones over the whole grammar, and numbers at the ends of float64."""

import json
from typing import Any

import pytest

from checkers import all_rules, check
from checkers.rule import resolved
from tests.strategies import random_candidate

EXTREMES: list[dict[str, Any]] = [
    {"features": {"q_std": 1e300, "k_std": 1e300}, "readout": {"kind": "exponential"}},
    {"features": {"q_std": 1e-300, "norm": "l2"}, "readout": {"kind": "sigmoid"}},
    {"features": {"map": "elu+1", "q_std": 1e200, "norm": "rms"}},
    {"features": {"map": "softmax_pm", "k_std": 1e200}},
    {"features": {"map": "ones", "norm": "layernorm"}, "readout": {"kind": "exponential"}},
    {"features": {"map": "taylor2", "q_std": 1e300}},
    {"features": {"map": "favor", "width": 8, "q_std": 1e300}},
    {"features": {"gain": 1e300, "norm": "l2"}, "erase": {"direction": "key"}},
    {"features": {"k_std": 1e300}, "erase": {"direction": "key", "gain": [0.0, 1e300]}},
    {"erase": {"direction": "key", "gain": [1.0, 1.0]}, "heads": {"state_dim": 1}},
    {
        "erase": {"direction": "key", "per_channel": True, "gain": [0.0, 1e200]},
        "features": {"norm": "l2", "gain": 1e-99},
    },
    {"scaling": {"base": 1e300}, "readout": {"kind": "softplus"}},
    {"scaling": {"base": 1e-300, "where": "after"}, "readout": {"kind": "relu", "power": 2}},
    {"scaling": {"gate": "exp", "cap": 1e300}},
    {"scaling": {"gate": "exp", "initial": [1e300, 1e308]}},
    {"scaling": {"gate": "dt", "initial": [0.0, 1e300]}, "decay": {"granularity": "scalar", "initial": [0.0, 1.0]}},
    {"scaling": {"gate": "dt", "initial": [1e-300, 1e-300]}, "decay": {"granularity": "scalar", "initial": [0.5, 0.5]}},
    {"decay": {"granularity": "scalar", "map": "exp", "range": [0.0, 1e308], "initial": [1e307, 1e308]}},
    {"decay": {"granularity": "scalar", "map": "exp", "range": [1.0, 1.0000000000000002]}},
    {"decay": {"granularity": "diagonal", "range": [0.0, 0.0], "initial": [0.0, 0.0]}},
    {
        "decay": {"granularity": "diagonal", "initial": [0.0, 1e-300]},
        "features": {"map": "one_minus_decay", "norm": "sum"},
    },
    {"readout": {"kind": "exponential", "softcap": 1e-300}, "normalization": {"kind": "sum"}},
    {"readout": {"kind": "exponential", "softcap": 1e300}, "normalization": {"kind": "sum"}},
    {"readout": {"kind": "polynomial", "coefficients": [1e300, 1e-300, 1e300]}, "normalization": {"kind": "sum"}},
    {"readout": {"kind": "polynomial", "coefficients": [0.0, 1e300, 0.0, 0.0, 1e300]}},
    {"readout": {"kind": "polynomial", "coefficients": [0.0, 1e-300]}, "heads": {"state_dim": 2}},
    {"readout": {"kind": "polynomial", "coefficients": [0.0, 1.0, 1.0], "softcap": 1e300}},
    {"readout": {"kind": "relu", "power": 2, "softcap": 1e300}, "normalization": {"kind": "sum"}},
    {"readout": {"kind": "sigmoid", "offset": -1e308}, "normalization": {"kind": "sum"}},
    {"readout": {"kind": "exponential"}, "shear": {"source": "constant", "slopes": -1e308}},
    {"normalization": {"kind": "sum", "eps": 1e-320, "factor": 1e-308}, "features": {"map": "relu"}},
]


@pytest.mark.parametrize("fields", EXTREMES, ids=str)
def test_extreme_numbers_are_judged(fields: dict[str, Any]):
    for seq_len in (1, 1_048_576):
        report = check(resolved({"target": {"seq_len": seq_len}, "mixer": fields}))
        assert len(report.verdicts) == len(all_rules())
        json.dumps(report.model_dump(mode="json"), allow_nan=False)


@pytest.mark.parametrize("small", [True, False])
def test_random_candidates_are_judged(small: bool):
    for seed in range(150):
        report = check(random_candidate(seed, small=small))
        assert len(report.verdicts) == len(all_rules())
        for finding in report.findings:
            assert "nan" not in finding.message
            assert "None" not in finding.message


def test_the_report_is_the_same_twice():
    for seed in range(30):
        candidate = random_candidate(seed)
        assert check(candidate) == check(candidate)
