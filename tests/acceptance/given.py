"""What the acceptance tests share: specs, the command line, random specs, and a look into reports."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from checkers import check
from checkers.finding import Report
from designspace.candidate import Candidate
from designspace.canonical import fingerprint
from designspace.mixer import MixerSpec
from designspace.specfile import loads
from workers.signals import Signals

ROOT = Path(__file__).parents[2]
SEXTANT = (sys.executable, "-c", "from search.cli import main; main()")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
Spec = dict[str, Any]


def candidate(spec: Spec) -> Candidate:
    return loads(yaml.safe_dump(spec))


def mixer_of(spec: Spec) -> MixerSpec:
    return MixerSpec.model_validate(spec)


def name_of(spec: Spec) -> str:
    """Fingerprint of a mixer spec alone."""
    return fingerprint(candidate({"mixer": spec}))


def merged(base: Spec, change: Spec) -> Spec:
    """`change` laid over `base`, record by record."""
    result = {key: dict(value) if isinstance(value, dict) else value for key, value in base.items()}
    for key, value in change.items():
        result[key] = merged(result[key], value) if isinstance(value, dict) and key in result else value
    return result


def sextant(*arguments: str, cwd: Path | None = None, timeout: float = 60.0, stdin: str = "") -> Any:
    """The finished process of the command `sextant ...`."""
    return subprocess.run(
        [*SEXTANT, *arguments], env=ENVIRONMENT, cwd=cwd, capture_output=True, text=True, timeout=timeout, input=stdin
    )


def finding(report: Report, code: str) -> Any:
    found = [one for one in report.findings if one.code == code]
    assert found, f"no {code} in {[(one.code, one.severity) for one in report.findings]}"
    return found[0]


def numbers(one: Any) -> list[float]:
    """Every number in the evidence of a finding."""
    result: list[float] = []
    for quantity in one.evidence.values():
        values = quantity.value if isinstance(quantity.value, tuple) else (quantity.value,)
        result += [value for value in values if isinstance(value, int | float)]
    return result


def has_number(one: Any, wanted: float, rel: float = 1e-3) -> bool:
    return any(math.isclose(value, wanted, rel_tol=rel) for value in numbers(one))


SUM = {"kind": "sum"}
SOFTMAX = {"readout": {"kind": "exponential"}, "normalization": SUM, "scaling": {"base": "n^-1/2"}}
HEADS_64: Spec = {"num_heads": 4, "state_dim": 64, "head_dim": 64}
NAMES = sorted(  # of the catalogue
    path.stem for path in (ROOT / "designspace" / "catalogue").glob("*.py") if path.stem != "__init__"
)


def in_single(signals: Signals) -> Signals:
    """The signals in float32."""
    return Signals(**{key: one.float() for key, one in vars(signals).items() if one is not None})


def report_of(mixer: Spec, *, depth: int = 2, **target: Any) -> Report:
    stack = {"blocks": [{"repeat": depth, "mixer": mixer}]}
    return check(candidate({"target": target, **stack} if target else stack))


def levels(report: Report, family: str) -> dict[str, str]:
    """Severity by code of the findings whose code starts with CD and `family`."""
    return {one.code: one.severity for one in report.findings if one.code.startswith(f"CD{family}")}


def pick(rng: np.random.Generator, *options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def random_spec(rng: np.random.Generator) -> Spec:
    """A random mixer spec over the whole grammar, not always valid."""
    kind = pick(rng, "identity", "identity", "polynomial", "exponential", "sigmoid", "relu", "softplus")
    readout: Spec = {"kind": kind}
    if kind == "polynomial":
        readout["coefficients"] = [round(float(c), 3) for c in rng.uniform(0.1, 1.0, int(rng.integers(2, 4)))]
    if kind == "relu":
        readout["power"] = pick(rng, 1, 2)
    if kind == "sigmoid":
        readout["offset"] = pick(rng, 0.0, -1.5, "-log_length")
    if rng.random() < 0.15:
        readout["softcap"] = pick(rng, 3.0, 20.0)
    spec: Spec = {"readout": readout}
    heads = pick(rng, 1, 2, 4)
    spec["heads"] = {"num_heads": heads, "state_dim": pick(rng, 1, 2, 4, 6), "head_dim": pick(rng, 1, 3)}
    if heads == 4 and rng.random() < 0.4:
        spec["heads"] |= {"kv_groups": 2, "shared": pick(rng, "kv", "qk")}
    if rng.random() < 0.5:
        source = pick(rng, "constant", "learned", "input")
        low, high = sorted(round(float(x), 3) for x in rng.uniform(0.05, 1.0, 2))
        name = "fixed" if source == "constant" else pick(rng, "sigmoid", "exp_softplus", "exp_exp", "sigmoid_tau")
        spec["decay"] = {
            "granularity": pick(rng, "scalar", "diagonal"),
            "source": source,
            "map": name,
            "range": [low, high],
        }
    if rng.random() < 0.35:
        spec["rotation"] = {
            "source": pick(rng, "constant", "learned", "input"),
            "pairing": pick(rng, "half", "interleaved"),
            "fraction": pick(rng, 1.0, 0.5),
        }
    if rng.random() < 0.35:
        spec["erase"] = {
            "direction": pick(rng, "key", "free", "key_scaled"),
            "gain": pick(rng, [0.0, 1.0], [0.0, 2.0]),
            "rank": pick(rng, 1, 1, 1, 2),
            "per_channel": bool(rng.random() < 0.2),
        }
    if rng.random() < 0.25:
        spec["shear"] = {"source": pick(rng, "constant", "input"), "scaled": bool(rng.random() < 0.3)}
    spec["scaling"] = {
        "base": pick(rng, "n^-1/2", "n^-1", 1.0, 0.3),
        "gate": pick(rng, "none", "none", "sigmoid", "exp", "complement", "tied_to_erase", "index"),
    }
    spec["normalization"] = {
        "kind": pick(rng, "none", "none", "sum", "max_abs_sum_1", "learned", "length"),
        "eps": pick(rng, 0.0, 1e-3),
    }
    spec["features"] = {
        "map": pick(rng, "identity", "identity", "silu", "elu+1", "relu", "softmax_pm"),
        "norm": pick(rng, "none", "l2", "l2", "rms"),
        "gain": pick(rng, 1.0, 0.7),
    }
    if rng.random() < 0.2:
        spec["support"] = pick(
            rng,
            {"window": 3},
            {"chunk": 4},
            {"diagonal": "D"},
            {"mask": "strict"},
            {"read": "before", "diagonal": "bonus"},
        )
    if rng.random() < 0.3:
        spec["io"] = {"output_norm": pick(rng, "head_rms", "head_ln", "group_rms"), "gate": pick(rng, "none", "silu")}
    return spec


def drawn(rng: np.random.Generator, domain: Spec | None = None, keep: Callable[[Spec], bool] = lambda _: True) -> Spec:
    """A random spec with `domain` laid over it (its parts replaced whole) that the grammar accepts."""
    while True:
        spec = random_spec(rng) | (domain or {})
        spec = {key: value for key, value in spec.items() if value is not None}
        if not keep(spec):
            continue
        try:
            MixerSpec.model_validate(spec)
        except ValueError:
            continue
        return spec
