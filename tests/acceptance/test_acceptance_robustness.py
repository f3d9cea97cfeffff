"""Specs survive writing and reading; extreme numbers crash nothing."""

import json

import numpy as np
import pytest
import yaml
from given import NAMES, Spec, candidate, drawn, sextant

from checkers import check
from designspace.architecture import graph
from designspace.canonical import fingerprint
from designspace.cost import cost
from designspace.specfile import dump, load, loads


def test_a_spec_survives_writing_and_reading() -> None:
    rng = np.random.default_rng(99)
    for number in range(150):
        one = candidate({"mixer": drawn(rng)})
        assert loads(dump(one)).blocks == one.blocks, number
        assert fingerprint(loads(dump(one))) == fingerprint(one)
    for name in NAMES:
        one = load(f"catalogue:{name}")
        assert fingerprint(loads(dump(one))) == fingerprint(one)


EXTREME: list[Spec] = [  # a number of a spec lies in 1e-30..1e30
    {"heads": {"num_heads": 65536, "state_dim": 65536, "head_dim": 65536}},
    {"scaling": {"base": 1e30}},
    {"scaling": {"base": 1e-30}},
    {"features": {"gain": 1e30, "norm": "l2"}},
    {"features": {"q_std": 1e-30}},
    {"features": {"q_std": 1e30, "k_std": 1e30, "gain": 1e30}},
    {"decay": {"granularity": "scalar", "map": "exp", "range": [0.0, 1e30]}},
    {"decay": {"granularity": "scalar", "map": "sigmoid", "range": [0.0, 0.0]}},
    {"erase": {"direction": "key", "gain": [0.0, 1e30]}},
    {"readout": {"kind": "polynomial", "coefficients": [1e30] * 5}},
    {"readout": {"kind": "exponential", "softcap": 1e-30}, "normalization": {"kind": "sum"}},
    {"normalization": {"kind": "none", "factor": 1e-30}},
    {"rotation": {"source": "constant", "theta": 1e-30}},
    {"scaling": {"gate": "dt", "initial": [0.0, 1e30]}},
    {"support": {"window": 1}},
    {"support": {"chunk": 1}},
    {"shear": {"source": "constant", "slopes": -1e30}, "readout": {"kind": "exponential"}},
    {"heads": {"num_heads": 1, "state_dim": 1, "head_dim": 1}},
]
BEYOND: list[tuple[Spec, str]] = [  # and the range that the message names
    ({"scaling": {"base": 1e31}}, "from 1e-30 to 1e+30"),
    ({"scaling": {"base": 1e-31}}, "from 1e-30 to 1e+30"),
    ({"features": {"gain": 1e300}}, "from 1e-30 to 1e+30"),
    ({"features": {"q_std": 1e-300}}, "from 1e-30 to 1e+30"),
    ({"normalization": {"factor": 1e-308}}, "from 1e-30 to 1e+30"),
    ({"normalization": {"kind": "sum", "eps": 1e31}}, "from 0 to 1e+30"),
    ({"rotation": {"source": "constant", "theta": 1e-300}}, "from 1e-30 to 1e+30"),
    ({"readout": {"kind": "exponential", "softcap": 1e-31}}, "from 1e-30 to 1e+30"),
    ({"readout": {"kind": "polynomial", "coefficients": [1.0, -1e31]}}, "from -1e+30 to 1e+30"),
    ({"decay": {"granularity": "scalar", "map": "exp", "range": [0.0, 1e31]}}, "from -1e+30 to 1e+30"),
    ({"erase": {"direction": "key", "gain": [0.0, 1e308]}}, "from -1e+30 to 1e+30"),
    ({"scaling": {"gate": "dt", "initial": [0.0, 1e300]}}, "from -1e+30 to 1e+30"),
    ({"shear": {"source": "constant", "slopes": -1e300}, "readout": {"kind": "exponential"}}, "from -1e+30 to 1e+30"),
]


@pytest.mark.parametrize("spec", EXTREME, ids=json.dumps)
@pytest.mark.parametrize("length", [1, 1_048_576])
def test_extreme_but_valid_numbers_crash_nothing(spec: Spec, length: int) -> None:
    one = candidate({"target": {"seq_len": length, "dtype": "float16"}, "mixer": spec})
    fingerprint(one)
    graph(one)
    json.dumps(check(one).model_dump(mode="json"), allow_nan=False)
    json.dumps(cost(one).model_dump(mode="json"), allow_nan=False)


@pytest.mark.parametrize(("spec", "bounds"), BEYOND, ids=[json.dumps(spec) for spec, _ in BEYOND])
def test_a_number_beyond_the_range_exits_2_and_names_the_range(spec: Spec, bounds: str) -> None:
    found = sextant("lint", "-", stdin=yaml.safe_dump({"mixer": spec}))
    assert found.returncode == 2, found.stdout + found.stderr
    assert found.stdout == ""
    assert bounds in found.stderr
    assert found.stderr.strip().count("\n") == 0, found.stderr
