"""`check` answers for every valid spec: random ones over the whole grammar, and numbers at the ends of their range."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkers import all_rules, check
from checkers.rule import Context, Rule, resolved
from designspace.measurement import Measurement
from tests.strategies import random_candidate

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_equal_blocks_are_judged_alike(rule: Rule):
    """`per_mixer` asks once about equal blocks; a measurement of something else makes it ask about every one."""
    other = Measurement(probe="none", quantity="none", path="", value=0.0, uncertainty=0.0, draws=2, seed=0)
    for seed in range(60):
        stack = random_candidate(seed, small=seed % 2 == 0)
        stack = stack.model_copy(update={"blocks": stack.blocks * 3})
        assert tuple(rule.check(Context(stack))) == tuple(rule.check(Context(stack, (other,))))


def test_reports_depend_neither_on_the_hash_seed_nor_on_what_was_checked_before():
    code = (
        "import sys; from checkers import check; from tests.strategies import random_candidate\n"
        "seeds = range(60) if sys.argv[1] == '1' else reversed(range(60))\n"
        "reports = {seed: check(random_candidate(seed, small=seed % 2 == 0)).model_dump_json() for seed in seeds}\n"
        "print([reports[seed] for seed in range(60)])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code, seed],
            env={"PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_the_report_is_the_same_twice():
    for seed in range(30):
        candidate = random_candidate(seed)
        assert check(candidate) == check(candidate)
