"""`python -m tests.verdicts.measured`: rows whose numbers come from probes, for the formulas behind CD501 and CD601.

One mixer for each branch of the formulas: feature maps, norms, gates, decays, lifts. `score_std` and `output_gain` are
measured on the compiled mixer, which knows nothing of the formulas, and written with their uncertainty as tables of
numbers alone. A formula that is broken leaves its interval. Heads that differ (slopes, spread decays) have a range of
gains, which one number does not tell, and favor features have no formula: they are not here.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import yaml

from designspace.errors import SpecError
from tests.cases.record import loaded
from workers.probe import probe

TABLES = Path(__file__).parent
DRAWS = 16
SEED = 7
WITHIN = 0.04  # relative, beside the uncertainty: what a formula may leave out
ROUGH = 0.12  # the same where the formula is rough: one fixed random matrix, or the ratio of two sums
LENGTH = 64  # tokens, of the probes as well
DIGITS = 4
HEADS = {"num_heads": 4, "state_dim": 16, "head_dim": 16}
NARROW = {**HEADS, "state_dim": 8}  # taylor2 squares the width
SLOW = {"granularity": "scalar", "source": "constant", "map": "fixed", "initial": [0.9, 0.9]}
INPUT = {"granularity": "diagonal", "map": "sigmoid", "initial": [0.9, 0.9]}
STEP = {"granularity": "scalar", "map": "exp_softplus", "initial": [0.9, 0.9]}
DELTA = {"erase": {"direction": "key"}, "scaling": {"gate": "tied_to_erase"}, "features": {"norm": "l2"}}
MAPS: tuple[Mapping[str, Any], ...] = (
    *({"map": name} for name in ("identity", "silu", "relu", "relu_zero", "elu+1", "softmax_pm", "hadamard")),
    *({"map": "dpfp", "width": width} for width in (1, 2)),
    {"map": "rff", "width": 32},
    *({"map": name} for name in ("taylor2", "scaled_static", "ones")),
)
NORMS: tuple[Mapping[str, Any], ...] = (
    *({"norm": name} for name in ("l2", "rms", "rms_weighted", "layernorm")),
    {"norm": "l2", "gain": 2.0},
    {"norm": "rms", "norm_on": "k"},
    {"norm": "l2", "norm_on": "k", "gain": 1.5},
    {"norm": "rms", "norm_over": "all_heads"},
    {"q_std": 0.5, "k_std": 2.0},
    {"map": "relu", "norm": "l2"},
    {"map": "elu+1", "norm": "sum"},
    {"map": "relu", "norm": "sum"},
    {"map": "silu", "norm": "l2"},
    {"map": "silu", "norm": "layernorm"},
    {"map": "elu+1", "k_std": 0.3},
    {"map": "softmax_pm", "q_std": 2.0},
    {"map": "hadamard", "norm": "rms"},
    {"map": "dpfp", "width": 1, "norm": "sum"},
    {"map": "taylor2", "k_std": 0.7},
    {"map": "rff", "width": 16, "q_std": 3.0},
)
OTHERS: tuple[Mapping[str, Any], ...] = (
    {"scaling": {"gate": "sigmoid"}},
    {"scaling": {"gate": "sigmoid", "initial": [0.1, 0.1]}},
    {"scaling": {"gate": "two_sigmoid"}},
    {"scaling": {"gate": "exp", "cap": 2.0}},
    {"scaling": {"gate": "exp"}},
    {"scaling": {"gate": "index"}},
    {"scaling": {"gate": "dt", "initial": [0.05, 0.05]}},
    {"scaling": {"gate": "dt", "initial": [0.05, 0.05]}, "decay": STEP},
    {"scaling": {"gate": "complement"}, "decay": {**INPUT, "granularity": "scalar"}},
    {"scaling": {"gate": "sqrt_1_minus_a2"}, "decay": {**INPUT, "granularity": "scalar"}},
    {"scaling": {"gate": "step_power"}, "decay": {**INPUT, "map": "exp_softplus_tau"}},
    {"scaling": {"gate": "sigmoid"}, "decay": {**INPUT, "granularity": "scalar", "map": "complement"}},
    {"scaling": {"gate": "sigmoid"}, "decay": {**INPUT, "map": "one_minus_bk2"}},
    {"features": {"map": "one_minus_decay"}, "decay": INPUT},
    {"features": {"map": "one_minus_decay", "norm": "l2"}, "decay": INPUT},
    {"decay": SLOW},
    {"decay": {**SLOW, "initial": [0.5, 0.5]}},
    {"decay": INPUT},
    {"decay": INPUT, "features": {"map": "elu+1"}},
    {"lift": {"kind": "delay1"}},
    {"lift": {"kind": "delay1"}, "scaling": {"gate": "sigmoid"}},
    {"lift": {"kind": "delay1"}, "decay": SLOW},
    {"lift": {"kind": "fenwick"}},
    {"lift": {"kind": "momentum"}},
    {"lift": {"kind": "shift", "width": 4}},
    {"lift": {"kind": "shift", "width": 64}},
    DELTA,
    {**DELTA, "decay": SLOW},
    {**DELTA, "erase": {"direction": "key", "gain": [0.0, 2.0]}},
    {**DELTA, "erase": {"direction": "free"}},
    {**DELTA, "erase": {"direction": "key", "rank": 2}},
    {"rotation": {"source": "constant"}},
    {"rotation": {"source": "constant", "fraction": 0.5, "attention_factor": 1.3}},
    {"rotation": {"source": "constant"}, "features": {"map": "elu+1"}},
    {"rotation": {"source": "constant"}, "features": {"norm": "rms_weighted", "norm_order": "after_rotation"}},
    {"rotation": {"source": "input"}, "decay": SLOW},
    {"io": {"short_conv": {"width": 4, "on": ["q", "k"]}}},
    {"io": {"short_conv": {"width": 4, "on": ["q", "k"]}}, "features": {"map": "silu"}},
    {"io": {"short_conv": {"width": 4, "on": ["k"]}}, "features": {"norm": "l2"}},
    {"io": {"value_activation": "silu"}, "features": {"map": "elu+1"}},
    {"io": {"value_activation": "silu"}, "features": {"map": "relu"}, "decay": SLOW},
    {"io": {"value_activation": "silu"}},
    {"heads": {**HEADS, "latent_dim": 32}},
    {"heads": {**HEADS, "latent_dim": 32, "shared_key_dim": 4}},
    {"heads": {**HEADS, "kv_groups": 2}},
    {"heads": {**HEADS, "state_dim": 1}},
    {"support": {"window": 8}},
    {"support": {"chunk": 8}},
    {"support": {"mask": "strict"}},
    {"support": {"mask": "none"}},
    {"support": {"diagonal": "bonus", "read": "before"}, "decay": SLOW},
    {"scaling": {"base": 0.3}},
    {"scaling": {"base": "n^-1"}},
    {"scaling": {"base": 0.5, "learnable": True}},
    {"scaling": {"where": "after"}},
    {"scaling": {"query_schedule": "log"}},
    {"readout": {"kind": "relu"}},
    {"readout": {"kind": "relu", "power": 2}},
    {"readout": {"kind": "relu", "softcap": 1.0}},
    {"readout": {"kind": "softplus"}},
    {"readout": {"kind": "sigmoid"}},
    {"readout": {"kind": "sigmoid", "offset": "-log_length"}},
    {"readout": {"kind": "exponential", "softcap": 1.0}},
    {"readout": {"kind": "polynomial", "coefficients": [0.0, 0.0, 1.0]}},
    {"readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]}},
    {"readout": {"kind": "identity", "softcap": 1.0}},
)
QUANTITIES = {"CD501": "score_std", "CD601": "output_gain"}


def specs() -> Iterator[dict[str, Any]]:
    """One mixer for each branch; what the grammar refuses is left out."""
    for features in (*MAPS, *NORMS):
        yield _spec({"features": features})
    for fields in OTHERS:
        yield _spec(fields)


def _spec(fields: Mapping[str, Any]) -> dict[str, Any]:
    heads = NARROW if fields.get("features", {}).get("map") == "taylor2" else HEADS
    return {"target": {"seq_len": LENGTH}, "mixer": {"heads": heads, **fields}}


def measured() -> Iterator[tuple[str, dict[str, Any]]]:
    """Rule and row of every number."""
    for spec in specs():
        try:
            candidate = loaded(spec, None).candidate
        except SpecError:
            continue
        found = probe(candidate, SEED, only=("score_scale", "growth"), draws=DRAWS)
        for code, quantity in QUANTITIES.items():
            for one in found:
                if one.quantity == quantity and one.value > 0.0:
                    within = (ROUGH if _is_rough(spec) else WITHIN) + one.uncertainty / one.value
                    number = {"value": _rounded(one.value), "within": _rounded(within)}
                    yield code, {"why": f"measured, {_name(spec)}", "spec": spec, "evidence": {quantity: number}}


def _is_rough(spec: Mapping[str, Any]) -> bool:
    features = spec["mixer"].get("features", {})
    return bool(features.get("map") == "rff" or features.get("norm") == "sum")


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _name(spec: Mapping[str, Any]) -> str:
    fields = {name: value for name, value in spec["mixer"].items() if name != "heads" or value not in (HEADS, NARROW)}
    return yaml.safe_dump(fields, default_flow_style=True, width=10_000, sort_keys=False).strip()[1:-1]


def main() -> None:
    """Write the tables."""
    torch.set_num_threads(1)
    rows: dict[str, list[dict[str, Any]]] = {code: [] for code in QUANTITIES}
    for code, row in measured():
        rows[code].append(row)
    for code, found in rows.items():
        text = yaml.dump_all([found], Dumper=_Dumper, default_flow_style=None, width=10_000, sort_keys=False)
        (TABLES / f"{code}_measured.yaml").write_text(text, encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    """Writes equal mappings out, not as aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


if __name__ == "__main__":
    main()
