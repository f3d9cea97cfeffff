"""Cases from practice (the design page `cases`): what the checker must say about a tuple, and must not say.

Records B01 to B58 and B85 to B86 are defects, B59 to B82 false-alarm traps. Levels follow the severity table.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from checkers import Report, check
from checkers.rule import resolved
from designspace.specfile import load

Spec = Mapping[str, Any]
EXP: dict[str, Any] = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
UNSCALED: dict[str, Any] = {**EXP, "scaling": {"base": 1.0}}
LINEAR: dict[str, Any] = {"readout": {"kind": "identity"}}
DELTA: dict[str, Any] = {"erase": {"direction": "key"}, "scaling": {"gate": "tied_to_erase"}}
LEVELS = ("info", "warning", "error")


def heads(state_dim: int) -> dict[str, int]:
    return {"num_heads": 4, "state_dim": state_dim, "head_dim": state_dim}


def mixer(base: Spec, **fields: Any) -> dict[str, Any]:
    return {"mixer": {**base, **fields}}


def at(spec: Spec, **target: Any) -> dict[str, Any]:
    return {**spec, "target": target}


def stack(depth: int, mixer_spec: Spec, **block: Any) -> dict[str, Any]:
    return {"blocks": [{"repeat": depth, "mixer": mixer_spec, **block}]}


def judged(spec: Spec | str) -> Report:
    return check(load(spec) if isinstance(spec, str) else resolved(spec))


def levels(report: Report) -> dict[str, str]:
    """The most serious level of each code that has a finding."""
    found: dict[str, str] = {}
    for finding in report.active:
        found[finding.code] = max(finding.severity, found.get(finding.code, "info"), key=LEVELS.index)
    return found


def evidence(report: Report, code: str, name: str) -> float:
    finding = next(finding for finding in report.findings if finding.code == code)
    value = finding.evidence[name].value
    assert isinstance(value, float | int)
    return value


MAMBA_DECAY = {"granularity": "diagonal", "map": "exp_softplus"}
DEFECTS = {
    "B01 unscaled": (mixer(UNSCALED), {"CD501": "error"}),
    "B02 unscaled, n 128": (mixer(UNSCALED, heads=heads(128)), {"CD501": "error"}),
    "B06 factor in eta": (
        mixer(UNSCALED, normalization={"kind": "sum", "factor": 8.0}),
        {"CD501": "error", "CD603": "info"},
    ),
    "B06 factor after phi": (mixer(EXP, scaling={"where": "after"}), {"CD501": "error", "CD603": "info"}),
    "B07 learnable 1": (mixer(EXP, scaling={"base": 1.0, "learnable": True}), {"CD501": "warning"}),
    "B08 gain 0.0125": (mixer(EXP, features={"norm": "l2"}, scaling={"base": 0.0125}), {"CD501": "error"}),
    "B09 no row maximum": (mixer(EXP, heads=heads(128), execution={"stabiliser": "none"}), {"CD604": "error"}),
    "B10 float16 products": (mixer(EXP, execution={"dtype": {"scores": "float16"}}), {"CD804": "warning"}),
    "B11 rotary, no qk-norm": (mixer(EXP, rotation={"source": "constant"}), {"CD502": "info"}),
    "B13 kernel features, eta 1": (
        mixer(LINEAR, features={"map": "elu+1"}, scaling={"base": 1.0}),
        {"CD601": "error"},
    ),
    "B13 relu features, eta 1": (mixer(LINEAR, features={"map": "relu"}, scaling={"base": 1.0}), {"CD601": "error"}),
    "B15 eta 1": (at(mixer(LINEAR), seq_len=16384), {"CD601": "error"}),
    "B15 signed sum": (mixer(LINEAR, normalization={"kind": "sum"}), {"CD603": "error"}),
    "B16 growing state in float16": (
        at(
            mixer(
                LINEAR,
                features={"map": "relu"},
                normalization={"kind": "sum", "eps": 1e-6},
                heads=heads(32),
                execution={"dtype": {"state": "float16"}},
            ),
            seq_len=4096,
        ),
        {"CD801": "warning"},
    ),
    "B17 memory never reset": (
        at(
            mixer(
                LINEAR,
                features={"map": "elu+1"},
                normalization={"kind": "sum", "eps": 1e-6},
                execution={"dtype": {"state": "float16"}},
            ),
            seq_len=65536,
        ),
        {"CD801": "error"},
    ),
    "B20 eps 1e-6": (
        mixer(LINEAR, features={"map": "elu+1"}, normalization={"kind": "sum", "eps": 1e-6}),
        {"CD603": "info"},
    ),
    "B23 sigmoid sum": (mixer({"readout": {"kind": "sigmoid"}}, normalization={"kind": "sum"}), {"CD603": "warning"}),
    "B25 signed features": (mixer(LINEAR, normalization={"kind": "sum", "eps": 0.0}), {"CD603": "error"}),
    "B25 positive features, eps 0": (
        mixer(LINEAR, features={"map": "elu+1"}, normalization={"kind": "sum"}),
        {"CD603": "warning"},
    ),
    "B25 relu features, eps 0": (
        mixer(LINEAR, features={"map": "relu"}, normalization={"kind": "sum"}),
        {"CD603": "error"},
    ),
    "B25 dpfp features, eps 0": (
        mixer(LINEAR, features={"map": "dpfp", "width": 1}, normalization={"kind": "sum"}),
        {"CD603": "error"},
    ),
    "B25 relu features, exponential gate": (
        mixer(LINEAR, features={"map": "relu"}, scaling={"gate": "exp"}, normalization={"kind": "sum"}),
        {"CD603": "error"},
    ),
    "B25 positive features, exponential gate": (
        mixer(LINEAR, features={"map": "elu+1"}, scaling={"gate": "exp"}, normalization={"kind": "sum"}),
        {"CD603": "warning"},
    ),
    "B25 learned gains of positive features": (
        mixer(LINEAR, features={"map": "elu+1", "norm": "rms_weighted"}, normalization={"kind": "sum", "eps": 1e-6}),
        {"CD603": "error"},
    ),
    "B25 capped relu, eps 0": (
        mixer({"readout": {"kind": "relu", "softcap": 5.0}}, normalization={"kind": "sum"}),
        {"CD603": "error"},
    ),
    "B27 keys without norm": (mixer(DELTA), {"CD602": "error"}),
    "B31 inverted bias": (
        mixer(EXP, shear={"source": "constant", "sign": "increasing"}),
        {"CD302": "error"},
    ),
    "B32 positive real part": (
        at(
            mixer(
                LINEAR,
                decay={"granularity": "diagonal", "source": "learned", "map": "exp", "range": [0.0, 1.0512711]},
            ),
            seq_len=16000,
        ),
        {"CD602": "error"},
    ),
    "B33 exponential gates": (
        mixer(
            LINEAR,
            decay={"granularity": "scalar", "map": "exp", "range": [0.0, 3.0]},
            scaling={"gate": "exp"},
            execution={"stabiliser": "none"},
        ),
        {"CD602": "error", "CD604": "error"},
    ),
    "B35 exp keys": (
        {
            "blocks": [
                {
                    "mixer": {
                        "execution": {"stabiliser": "none"},
                        **load("catalogue:rwkv4")
                        .blocks[0]
                        .mixer.model_dump(mode="json", by_alias=True, exclude={"execution"}),
                    }
                }
            ]
        },
        {"CD604": "error"},
    ),
    "B36 no lower bound": (
        mixer(LINEAR, decay={"granularity": "scalar"}, execution={"form": "chunked"}),
        {"CD805": "info"},
    ),
    "B39 square root": (
        mixer(
            LINEAR,
            decay={"granularity": "scalar", "map": "rglru", "initial": [0.9, 0.9999]},
            scaling={"base": 1.0, "gate": "sqrt_1_minus_a2"},
        ),
        {"CD803": "warning"},
    ),
    "B41 bfloat16 parameters": (
        mixer(
            LINEAR,
            decay={**MAMBA_DECAY, "initial": [0.2, 0.999]},
            scaling={"base": 1.0, "gate": "dt"},
            execution={"dtype": {"params": "bfloat16"}},
        ),
        {"CD801": "warning"},
    ),
    "B47 encoder": (stack(6, {**EXP, "support": {"mask": "none"}}), {"CD301": "error"}),
    "B48 bfloat16 phases": (
        at(mixer(EXP, rotation={"source": "constant", "phase_dtype": "bfloat16"}), seq_len=4096),
        {"CD802": "warning"},
    ),
    "B53 step bias 0": (
        mixer(
            LINEAR,
            decay={**MAMBA_DECAY, "initial": [1.53e-5, 0.5001]},
            scaling={"base": 1.0, "gate": "dt", "initial": [0.693, 0.693]},
        ),
        {"CD701": "warning"},
    ),
    "B53 with recall": (
        at(
            mixer(
                LINEAR,
                decay={**MAMBA_DECAY, "initial": [1.53e-5, 0.5001]},
                scaling={"base": 1.0, "gate": "dt", "initial": [0.693, 0.693]},
            ),
            needs=["recall"],
        ),
        {"CD701": "error"},
    ),
    "B54 step bias 1": (
        mixer(
            LINEAR,
            decay={"granularity": "scalar", "map": "exp_softplus", "initial": [0.0, 0.2698]},
            scaling={"base": 1.0, "gate": "dt", "initial": [1.31, 1.31]},
        ),
        {"CD701": "warning"},
    ),
    "B57 prefix states": (
        mixer(LINEAR, io={"output_norm": "head_rms"}, execution={"form": "scan"}),
        {"CD101": "info"},
    ),
    "B58a keys over time": (
        mixer(LINEAR, features={"map": "softmax_pm", "map_over": "sequence"}),
        {"CD901": "error"},
    ),
    "B58c time-invariant": ("catalogue:s4d", {"CD203": "warning"}),
    "B58e too many pairs": (at(mixer(LINEAR, heads=heads(16)), recall_pairs=64), {"CD702": "warning"}),
    "B58g odd rotary width": (mixer(EXP, rotation={"source": "constant"}, heads=heads(3)), {"CD904": "error"}),
    "B85 no skip": (stack(12, EXP, skip={"lambda": 0.0}), {"CD704": "warning"}),
    "B86 positive spectrum": ("catalogue:mamba2", {"CD401": "info"}),
    "B86 wanted": (
        at(mixer(LINEAR, decay={"granularity": "scalar"}, io={"output_norm": "head_rms"}), needs=["state_tracking"]),
        {"CD401": "warning"},
    ),
    "B87 decay only": ("catalogue:rwkv6", {"CD402": "info"}),
}
SILENT = {
    "B08 intended gain 10": (mixer(EXP, features={"norm": "l2"}, scaling={"base": 10.0}), {"CD501"}),
    "B16 ratio does not grow": (
        mixer(LINEAR, features={"map": "relu"}, normalization={"kind": "sum", "eps": 1e-6}),
        {"CD601"},
    ),
    "B58e enough rows": (at(mixer(LINEAR, heads=heads(64)), recall_pairs=128), {"CD702"}),
    "B59 T5: scale in the weights": (mixer(UNSCALED, features={"q_std": 0.125}), {"CD501"}),
    "B62 scale on q": (mixer(EXP, scaling={"where": "q"}), {"CD501"}),
    "B25 constant features": (mixer(LINEAR, features={"map": "ones"}, normalization={"kind": "sum"}), {"CD603"}),
    "B25 constant features, exponential gate": ("catalogue:rwkv4", {"CD603"}),
    "B64 Gemma 144 of 128": (mixer(EXP, scaling={"base": 144**-0.5}, heads=heads(128)), {"CD501"}),
    "B64 Gemma 168 of 128": (mixer(EXP, scaling={"base": 168**-0.5}, heads=heads(128)), {"CD501"}),
    "B64 Gemma 224 of 256": (mixer(EXP, scaling={"base": 224**-0.5}, heads=heads(256)), {"CD501"}),
    "B68 sets": (at(stack(4, {**EXP, "support": {"mask": "none"}}), task="set"), {"CD301"}),
    "B70 rotation in a window": (mixer(EXP, rotation={"source": "constant"}, support={"window": 64}), {"CD301"}),
    "B71 eta 1, output norm": (mixer(LINEAR, io={"output_norm": "head_rms"}), {"CD601"}),
    "B72 exponential gate with maximum": ("catalogue:mlstm_exp", {"CD601", "CD602", "CD603", "CD604"}),
    "B77 dt in A and in b": ("catalogue:mamba", {"CD501", "CD602"}),
    "B78 head width apart from model width": (
        {"model": {"model_dim": 5120}, **mixer(EXP, heads={"num_heads": 32, "state_dim": 128, "head_dim": 128})},
        {"CD901", "CD904"},
    ),
    "B80 decay before the error": ("catalogue:gated_deltanet", {"CD602", "CD601", "CD603"}),
    "B85 with skip": (stack(12, EXP), {"CD704"}),
    "B86 reflections": ("catalogue:deltanet_neg", {"CD401"}),
}


@pytest.mark.parametrize("case", DEFECTS)
def test_defect_is_found_at_its_level(case: str):
    spec, expected = DEFECTS[case]
    found = levels(judged(spec))
    assert {code: found.get(code) for code in expected} == expected


@pytest.mark.parametrize("case", SILENT)
def test_trap_stays_silent(case: str):
    spec, codes = SILENT[case]
    found = levels(judged(spec))
    alarms = {code: level for code, level in found.items() if code in codes and level != "info"}
    assert not alarms


@pytest.mark.parametrize(
    ("case", "code", "name", "value", "tolerance"),
    [
        ("B01 unscaled", "CD501", "score_std", 8.0, 1e-9),
        ("B02 unscaled, n 128", "CD501", "score_std", 128**0.5, 1e-4),
        ("B06 factor in eta", "CD603", "row_sum", 0.125, 1e-9),
        ("B15 eta 1", "CD601", "output_gain", 128.0, 1e-9),
        ("B17 memory never reset", "CD801", "float16_length", 56444, 1e-3),
        ("B27 keys without norm", "CD602", "eigenvalue", -31.0, 1e-9),
        ("B32 positive real part", "CD602", "log10_growth_at_seq_len", 347.4, 1e-3),
        ("B39 square root", "CD803", "steepest_initial_slope", 70.7, 1e-3),
        ("B48 bfloat16 phases", "CD802", "distinct_positions", 769, 0),
        ("B53 step bias 0", "CD701", "longest_half_life", 1.0, 1e-3),
        ("B53 step bias 0", "CD701", "shortest_half_life", 0.0625, 1e-3),
        ("B54 step bias 1", "CD701", "longest_half_life", 0.529, 1e-3),
        ("B57 prefix states", "CD101", "crossover_length", 4096, 0),
    ],
)
def test_numbers_of_the_case(case: str, code: str, name: str, value: float, tolerance: float):
    assert evidence(judged(DEFECTS[case][0]), code, name) == pytest.approx(value, rel=tolerance)


def test_b04_one_unscaled_mixer_of_two_gives_one_finding_at_its_path():
    report = judged({"blocks": [{"mixer": EXP}, {"mixer": UNSCALED}]})
    found = [finding.path for finding in report.findings if finding.code == "CD501"]
    assert found == ["blocks[1].mixer.scaling.base"]


def test_b60_provenance_decides_about_an_unscaled_score():
    assert levels(judged(at(mixer(UNSCALED), provenance="checkpoint")))["CD501"] == "info"
    assert levels(judged(at(mixer(UNSCALED), provenance="new")))["CD501"] == "error"


def test_mup_scale_is_info():
    spec = mixer(EXP, scaling={"base": "n^-1"})
    assert levels(judged(spec))["CD501"] == "error"
    assert levels(judged(at(spec, parametrisation="mup")))["CD501"] == "info"


@pytest.mark.parametrize(
    ("spec", "level"),
    [
        (stack(36, EXP), "info"),  # B66: causal depth
        (stack(1, EXP), "error"),
        ({"model": {"positions": "learned"}, **stack(1, EXP)}, "info"),
        ({"blocks": [{"mixer": EXP}, {"mixer": {"decay": {"granularity": "scalar"}}}]}, "info"),
        ({"blocks": [{"mixer": {**EXP, "support": {"mask": "none"}}}, {"mixer": EXP}]}, "error"),
        (at(stack(1, EXP), provenance="checkpoint"), "warning"),
    ],
)
def test_position_is_judged_on_the_whole_model(spec: Spec, level: str):
    assert levels(judged(spec))["CD301"] == level


def test_b74_rwkv7_is_not_certified_but_no_alarm():
    report = judged("catalogue:rwkv7")
    verdict = next(verdict for verdict in report.verdicts if verdict.code == "CD602")
    assert verdict.verdict == "unknown"
    assert levels(report)["CD602"] == "info"
    assert evidence(report, "CD602", "radius_per_period") == pytest.approx(1.25, abs=1e-3)


def test_b81_one_sub_layer_without_skip_is_no_alarm():
    blocks = [{"repeat": 6, "mixer": EXP}, {"mixer": EXP, "skip": {"lambda": 0.0}}, {"repeat": 5, "mixer": EXP}]
    assert levels(judged({"blocks": blocks})).get("CD704") is None


def test_b82_a_pass_on_state_tracking_promises_nothing():
    verdict = next(v for v in judged("catalogue:deltanet_neg").verdicts if v.code == "CD401")
    assert verdict.verdict == "pass"
    assert "solve" not in verdict.reason


@pytest.mark.parametrize(("linear_time", "level"), [(False, "warning"), (True, "error")])
def test_quadratic_cost_is_an_error_where_linear_time_is_asked(linear_time: bool, level: str):
    assert levels(judged(at(mixer(EXP), linear_time=linear_time)))["CD101"] == level


def test_fragile_zero_set_is_a_warning_only_without_a_gate_and_with_recall():
    fragile = mixer(LINEAR, io={"output_norm": "head_rms"})
    gated = mixer(LINEAR, io={"output_norm": "head_rms", "value_gate": "sigmoid"})
    assert levels(judged(fragile))["CD201"] == "info"
    assert levels(judged(at(fragile, needs=["recall"])))["CD201"] == "warning"
    assert levels(judged(at(gated, needs=["recall"])))["CD201"] == "info"
