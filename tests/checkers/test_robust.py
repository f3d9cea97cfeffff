"""`check` answers for every valid spec: random ones over the whole grammar, and numbers at the ends of their range."""

import json
from typing import Any

import pytest

from checkers import all_rules, check
from checkers.rule import resolved
from tests.strategies import random_candidate

EXTREMES: list[dict[str, Any]] = [
    {"features": {"q_std": 1e30, "k_std": 1e30}, "readout": {"kind": "exponential"}},
    {"features": {"q_std": 1e-30, "norm": "l2"}, "readout": {"kind": "sigmoid"}},
    {"features": {"map": "elu+1", "q_std": 1e30, "norm": "rms"}},
    {"features": {"map": "softmax_pm", "k_std": 1e30}},
    {"features": {"map": "ones", "norm": "layernorm"}, "readout": {"kind": "exponential"}},
    {"features": {"map": "taylor2", "q_std": 1e30}},
    {"features": {"map": "favor", "width": 8, "q_std": 1e30}},
    {"features": {"gain": 1e30, "norm": "l2"}, "erase": {"direction": "key"}},
    {"features": {"k_std": 1e30}, "erase": {"direction": "key", "gain": [0.0, 1e30]}},
    {"erase": {"direction": "key", "gain": [1.0, 1.0]}, "heads": {"state_dim": 1}},
    {
        "erase": {"direction": "key", "per_channel": True, "gain": [0.0, 1e30]},
        "features": {"norm": "l2", "gain": 1e-30},
    },
    {"scaling": {"base": 1e30}, "readout": {"kind": "softplus"}},
    {"scaling": {"base": 1e-30, "where": "after"}, "readout": {"kind": "relu", "power": 2}},
    {"scaling": {"gate": "exp", "cap": 1e30}},
    {"scaling": {"gate": "exp", "initial": [1e29, 1e30]}},
    {"scaling": {"gate": "dt", "initial": [0.0, 1e30]}, "decay": {"granularity": "scalar", "initial": [0.0, 1.0]}},
    {"scaling": {"gate": "dt", "initial": [1e-30, 1e-30]}, "decay": {"granularity": "scalar", "initial": [0.5, 0.5]}},
    {"decay": {"granularity": "scalar", "map": "exp", "range": [0.0, 1e30], "initial": [1e29, 1e30]}},
    {"decay": {"granularity": "scalar", "map": "exp", "range": [1.0, 1.0000000000000002]}},
    {"decay": {"granularity": "diagonal", "range": [0.0, 0.0], "initial": [0.0, 0.0]}},
    {
        "decay": {"granularity": "diagonal", "initial": [0.0, 1e-30]},
        "features": {"map": "one_minus_decay", "norm": "sum"},
    },
    {"readout": {"kind": "exponential", "softcap": 1e-30}, "normalization": {"kind": "sum"}},
    {"readout": {"kind": "exponential", "softcap": 1e30}, "normalization": {"kind": "sum"}},
    {"readout": {"kind": "polynomial", "coefficients": [1e30, 1e-30, 1e30]}, "normalization": {"kind": "sum"}},
    {"readout": {"kind": "polynomial", "coefficients": [0.0, 1e30, 0.0, 0.0, 1e30]}},
    {"readout": {"kind": "polynomial", "coefficients": [0.0, 1e-30]}, "heads": {"state_dim": 2}},
    {"readout": {"kind": "polynomial", "coefficients": [0.0, 1.0, 1.0], "softcap": 1e30}},
    {"readout": {"kind": "relu", "power": 2, "softcap": 1e30}, "normalization": {"kind": "sum"}},
    {"readout": {"kind": "sigmoid", "offset": -1e30}, "normalization": {"kind": "sum"}},
    {"readout": {"kind": "exponential"}, "shear": {"source": "constant", "slopes": -1e30}},
    {"normalization": {"kind": "sum", "eps": 1e-320, "factor": 1e-30}, "features": {"map": "relu"}},
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
