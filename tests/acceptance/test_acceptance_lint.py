"""The numbers and severities of findings, worked out from theory.md."""

import json
import math

import numpy as np
import pytest
from given import (
    HEADS_64,
    SOFTMAX,
    Spec,
    candidate,
    finding,
    has_number,
    levels,
    merged,
    mixer_of,
    numbers,
    report_of,
    sextant,
)

from checkers import check
from checkers.rule import all_rules
from checkers.scores import score_moments
from designspace.cost import cost
from designspace.specfile import load
from workers.coefficients import coefficients
from workers.realise import random_signals


def test_softmax_nope_reports_cost_and_position() -> None:
    report = check(load("catalogue:softmax_nope"))
    assert levels(report, "1") == {"CD101": "warning"}
    assert levels(report, "3") == {"CD301": "info"}  # depth >= 2 and causal: info
    assert report.summary.errors == 0
    found = sextant("lint", "catalogue:softmax_nope")
    assert found.returncode == 0
    assert "P1" in found.stdout
    assert "P3" in found.stdout


def test_gated_deltanet_has_no_error() -> None:
    assert check(load("catalogue:gated_deltanet")).summary.errors == 0
    assert sextant("lint", "catalogue:gated_deltanet").returncode == 0


def test_unscaled_softmax_has_score_std_8() -> None:
    one = finding(report_of(merged(SOFTMAX, {"heads": HEADS_64, "scaling": {"base": 1.0}})), "CD501")
    assert one.severity == "error"
    assert has_number(one, 8.0)
    assert "8" in one.message


def test_plain_linear_attention_grows_at_16384() -> None:
    report = report_of({"heads": HEADS_64}, seq_len=16384)
    one = finding(report, "CD601")
    assert one.severity == "error"
    assert has_number(one, 128.0)  # sqrt(16384)
    assert has_number(one, 16384)
    report = report_of({"heads": HEADS_64}, seq_len=64)
    assert finding(report, "CD601").severity == "warning"
    assert has_number(finding(report, "CD601"), 8.0)


def test_delta_rule_without_key_norm_reaches_minus_31() -> None:
    spec = {"erase": {"direction": "key"}, "scaling": {"gate": "tied_to_erase"}, "heads": HEADS_64}
    one = finding(report_of(spec), "CD602")
    assert one.severity == "error"
    assert has_number(one, -31.0)
    assert has_number(one, 0.5)
    assert has_number(one, 64.0)
    assert "-31" in one.message


@pytest.mark.parametrize("checkpoint", ["new", "checkpoint"])
def test_positive_log_decay_is_an_error(checkpoint: str) -> None:
    spec = {"decay": {"granularity": "scalar", "map": "exp", "range": [0.0, 1.1]}, "heads": HEADS_64}
    one = finding(report_of(spec, provenance=checkpoint), "CD602")
    assert one.severity == "error"
    assert has_number(one, math.log(1.1))


def test_exponential_gate_without_stabiliser_is_an_error() -> None:
    spec: Spec = {
        "decay": {"granularity": "scalar", "map": "sigmoid"},
        "scaling": {"gate": "exp"},
        "normalization": {"kind": "max_abs_sum_1"},
        "heads": HEADS_64,
        "execution": {"stabiliser": "none"},
    }
    one = finding(report_of(spec), "CD604")
    assert one.severity == "error"
    assert has_number(one, 11.09)
    assert has_number(one, 88.72)
    assert finding(report_of(spec, provenance="checkpoint"), "CD604").severity == "warning"
    sound = report_of(merged(spec, {"execution": {"stabiliser": "running_max"}}))
    assert "CD604" not in levels(sound, "6")


def test_the_same_tuple_as_a_checkpoint_is_info() -> None:
    unscaled = merged(SOFTMAX, {"heads": HEADS_64, "scaling": {"base": 1.0}})
    assert finding(report_of(unscaled, provenance="checkpoint"), "CD501").severity == "info"
    assert finding(report_of(unscaled, parametrisation="mup"), "CD501").severity == "info"
    learnable = merged(unscaled, {"scaling": {"learnable": True}})
    assert finding(report_of(learnable), "CD501").severity == "warning"


SCORE: dict[str, tuple[Spec, str | None]] = {  # P5 band: [0.5, 2] passes, outside [0.25, 4] error
    "std 8 folded in the weights": ({"scaling": {"base": 1.0}, "features": {"q_std": 0.125}}, None),
    "std 1.9": ({"scaling": {"base": 1.9 / 8}}, None),
    "std 3": ({"scaling": {"base": 3 / 8}}, "warning"),
    "std 4.1": ({"scaling": {"base": 4.1 / 8}}, "error"),
    "std 0.4": ({"scaling": {"base": 0.05}}, "warning"),
    "std 0.2": ({"scaling": {"base": 0.025}}, "error"),
    "rms norm: std sqrt(n)": ({"scaling": {"base": 1.0}, "features": {"norm": "rms"}}, "error"),
    "l2 norm: std 1 / sqrt(n)": ({"scaling": {"base": 1.0}, "features": {"norm": "l2"}}, "error"),
    "l2 norm with gain sqrt(8)": ({"scaling": {"base": 1.0}, "features": {"norm": "l2", "gain": math.sqrt(8)}}, None),
    "1 / n": ({"scaling": {"base": "n^-1"}}, "error"),
}


@pytest.mark.parametrize(("change", "severity"), SCORE.values(), ids=list(SCORE))
def test_score_scale_is_two_sided(change: Spec, severity: str | None) -> None:
    report = report_of(merged(merged(SOFTMAX, {"heads": HEADS_64}), change))
    assert levels(report, "501").get("CD501") == severity


def test_score_scale_of_elu_plus_1_is_std_1_44_with_mean_10_8() -> None:
    """theory.md: elu+1, n = 64, n^-1/2: mean 10.8, std 1.44 (checked here by 400,000 draws)."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((20000, 64)) for _ in range(2))
    elu = lambda z: np.where(z > 0, z + 1, np.exp(z))  # noqa: E731
    z = (elu(x) * elu(y)).sum(1) / 8
    assert z.mean() == pytest.approx(10.8, abs=0.1)
    found = score_moments(mixer_of({"features": {"map": "elu+1"}, "heads": HEADS_64}))
    assert found is not None
    assert found.mean == pytest.approx(z.mean(), rel=0.02)
    assert found.std == pytest.approx(z.std(), rel=0.03)


VANISHING: dict[str, tuple[Spec, str | None]] = {
    "signed features": ({"normalization": {"kind": "sum"}}, "error"),
    "1 + z": (
        {"readout": {"kind": "polynomial", "coefficients": [1.0, 1.0]}, "normalization": {"kind": "sum"}},
        "error",
    ),
    "relu^2, eps 0": ({"readout": {"kind": "relu", "power": 2}, "normalization": {"kind": "sum"}}, "error"),
    "relu^2, eps": ({"readout": {"kind": "relu", "power": 2}, "normalization": {"kind": "sum", "eps": 1e-6}}, None),
    "elu+1, eps 0": ({"features": {"map": "elu+1"}, "normalization": {"kind": "sum"}}, "warning"),
    "1 + z + z^2/2": (
        {"readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]}, "normalization": {"kind": "sum"}},
        None,
    ),
    "softmax": (SOFTMAX, None),
    "strict softmax": (merged(SOFTMAX, {"support": {"mask": "strict"}}), "error"),
    "max(|sum|, 1)": ({"normalization": {"kind": "max_abs_sum_1"}}, None),
    "learned": ({"normalization": {"kind": "learned"}}, None),
}


@pytest.mark.parametrize(("spec", "severity"), VANISHING.values(), ids=list(VANISHING))
def test_normalization_can_vanish(spec: Spec, severity: str | None) -> None:
    report = report_of({**spec, "heads": HEADS_64})
    found = levels(report, "603").get("CD603")
    assert (found if found in ("error", "warning") else None) == severity


def test_relu_features_whose_row_sum_is_exactly_0_do_not_pass() -> None:
    """eta = sum of q.k with q, k = relu(...) >= 0 and eps 0 is 0 / 0 wherever relu(q) = 0: never `pass`."""
    spec: Spec = {
        "features": {"map": "relu"},
        "scaling": {"gate": "exp"},
        "normalization": {"kind": "sum", "eps": 0.0},
        "heads": {"num_heads": 1, "state_dim": 2, "head_dim": 2},
    }
    mixer = mixer_of(spec)
    alpha = coefficients(mixer, random_signals(mixer, seed=0, batch=8, seq_len=4))
    assert not alpha.isfinite().all()  # it is 0 / 0 in fact
    verdict = next(one for one in report_of(spec).verdicts if one.code == "CD603")
    assert verdict.verdict == "fail", verdict.reason


def test_position_verdicts_follow_the_whole_model() -> None:
    nope = {**SOFTMAX, "heads": HEADS_64}
    assert levels(report_of(nope, depth=1), "301") == {"CD301": "error"}
    assert levels(report_of(nope, depth=1, provenance="checkpoint"), "301") == {"CD301": "warning"}
    assert levels(report_of(nope, depth=2), "301") == {"CD301": "info"}
    both = merged(nope, {"support": {"mask": "none"}})
    assert levels(report_of(both, depth=4), "301") == {"CD301": "error"}
    assert levels(report_of(both, depth=4, task="set"), "3") == {}
    assert levels(report_of(merged(nope, {"rotation": {"source": "constant"}}), depth=1), "3") == {}
    assert levels(report_of(merged(nope, {"support": {"window": 8}}), depth=1), "301") == {}
    embedded = candidate({"model": {"positions": "sinusoidal"}, "blocks": [{"mixer": nope}]})
    assert levels(check(embedded), "301").get("CD301") in (None, "info")
    growing = merged(nope, {"shear": {"source": "constant", "sign": "increasing"}})
    assert levels(report_of(growing, provenance="checkpoint"), "302") == {"CD302": "error"}


def test_quadratic_cost_is_an_error_where_linear_time_is_wanted() -> None:
    assert levels(report_of({**SOFTMAX, "heads": HEADS_64}, linear_time=True), "101") == {"CD101": "error"}
    assert levels(report_of({**SOFTMAX, "heads": HEADS_64}, provenance="checkpoint"), "101") == {"CD101": "info"}
    assert levels(report_of({"heads": HEADS_64}, linear_time=True), "101") == {}
    additive = {**SOFTMAX, "features": {"map": "ones"}, "heads": {"num_heads": 4, "state_dim": 1, "head_dim": 8}}
    assert levels(report_of(additive, linear_time=True), "101") == {}  # equivalence 9: finite though phi = exp


def test_lifted_state_larger_than_the_cache() -> None:
    """based with n = 16, p = 64: C(18, 2) = 153 rows times 65 columns float32 against (16 + 64) bfloat16 per token."""
    spec: Spec = {
        "readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]},
        "normalization": {"kind": "sum"},
        "heads": {"num_heads": 1, "state_dim": 16, "head_dim": 64},
    }
    assert "CD102" in levels(report_of(spec, seq_len=128), "102")  # 153 * 65 * 4 = 39,780 B > 128 * 160 = 20,480 B
    assert "CD102" not in levels(report_of(spec, seq_len=2048), "102")
    assert cost(candidate({"mixer": spec})).layers[0].mixer.break_even_length == math.ceil(153 * 65 * 4 / 160)


def test_near_zero_fractions_are_those_of_the_quadrature() -> None:
    """P(|phi(z)| <= 0.01 E|phi(z)|), z ~ N(0, s^2), by hand: exp at s = 4 is Phi((ln 0.01 + 8) / 4) = 0.802."""
    below = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))  # noqa: E731
    exponential = [below((math.log(0.01) + s * s / 2) / s) for s in (1, 4, 16)]
    assert exponential == pytest.approx([0.0, 0.802, 1.0], abs=0.001)
    identity = 2 * below(0.01 * math.sqrt(2 / math.pi)) - 1
    square = 2 * below(0.1) - 1
    one = finding(report_of({"heads": HEADS_64}), "CD201")
    assert has_number(one, identity, rel=0.02)  # .006 at every s
    assert square == pytest.approx(0.08, abs=0.001)
    verdicts = {v.code: v for v in report_of({**SOFTMAX, "heads": HEADS_64}).verdicts}
    assert verdicts["CD201"].verdict == "pass"
    assert "0.80" in verdicts["CD201"].reason


def test_products_that_grow_are_not_certified() -> None:
    """gdn2 and rwkv7: verdict unknown, info, and the growth found (1.25 by theory.md's two steps)."""
    for name in ("gdn2", "rwkv7"):
        report = check(load(f"catalogue:{name}"))
        verdict = next(one for one in report.verdicts if one.code == "CD602")
        assert verdict.verdict == "unknown", (name, verdict)
        one = finding(report, "CD602")
        assert one.severity == "info"
        assert max(numbers(one)) >= 1.25 - 0.01, (name, one.evidence)
    k1, k2 = np.array([math.sqrt(1 / 6), math.sqrt(5 / 6)]), np.array([math.sqrt(5 / 6), math.sqrt(1 / 6)])
    first = np.eye(2) - np.outer(k1, np.array([1.0, 0.0]) * k1)
    second = np.eye(2) - np.outer(k2, np.array([0.0, 1.0]) * k2)
    assert max(abs(np.linalg.eigvals(first @ second))) == pytest.approx(1.25)


def test_horizon_of_a_decay() -> None:
    """Half-life ln 2 / -ln a over the initial range against L / 8."""
    spec: Spec = {
        "decay": {"granularity": "scalar", "source": "learned", "map": "sigmoid", "initial": [0.5, 0.9]},
        "io": {"output_norm": "head_rms"},
        "heads": HEADS_64,
    }
    one = finding(report_of(spec), "CD701")
    assert one.severity == "warning"
    assert has_number(one, math.log(2) / -math.log(0.9))
    fast = merged(spec, {"decay": {"initial": [0.1, 0.6]}})
    assert finding(report_of(fast, needs=["recall"]), "CD701").severity == "error"
    assert finding(report_of(fast), "CD701").severity == "warning"
    long = merged(spec, {"decay": {"initial": [0.5, 0.9999]}})
    assert "CD701" not in levels(report_of(long), "7")
    undeclared = merged(spec, {"decay": {"initial": None}})
    assert next(v for v in report_of(undeclared).verdicts if v.code == "CD701").verdict == "unknown"


def test_parity_is_excluded_by_a_positive_real_spectrum() -> None:
    decay: Spec = {
        "decay": {"granularity": "scalar", "map": "sigmoid", "initial": [0.9, 0.99]},
        "io": {"output_norm": "head_rms"},
        "heads": HEADS_64,
    }
    tracking = report_of(decay, needs=["state_tracking"])
    assert "warning" in levels(tracking, "4").values()
    reflecting = merged(
        decay,
        {
            "erase": {"direction": "key", "gain": [0.0, 2.0]},
            "features": {"norm": "l2"},
            "scaling": {"gate": "tied_to_erase"},
        },
    )
    assert "CD401" not in levels(report_of(reflecting, needs=["state_tracking"]), "4")


def test_reach_and_rank() -> None:
    window = merged({**SOFTMAX, "heads": HEADS_64}, {"support": {"window": 128}, "rotation": {"source": "constant"}})
    assert levels(report_of(window, depth=4, seq_len=2048), "703") == {"CD703": "warning"}  # 1 + 4 * 127 = 509 < 2048
    assert levels(report_of(window, depth=17, seq_len=2048), "703") == {}  # 1 + 17 * 127 = 2160
    noskip = candidate({"blocks": [{"repeat": 6, "skip": {"lambda": 0.0}, "mixer": {**SOFTMAX, "heads": HEADS_64}}]})
    assert levels(check(noskip), "704") == {"CD704": "warning"}


def test_at_least_fourteen_rules_two_for_p1_p5_p6() -> None:
    found = json.loads(sextant("rules", "--format", "json").stdout)
    rules = found if isinstance(found, list) else found["rules"]
    assert len(rules) >= 14
    count = {family: sum(rule["code"][2] == str(family) for rule in rules) for family in range(1, 10)}
    assert all(count[one] >= 2 for one in (1, 5, 6))
    assert all(count[one] >= 1 for one in (2, 3, 4))
    for rule in rules:
        assert sextant_rule(rule["code"])


def sextant_rule(code: str) -> bool:
    """The rule file gives what, why, exceptions, fix, both examples."""
    rule = next(one for one in all_rules() if one.code == code)
    return bool(rule.what and rule.why and rule.exceptions and rule.fix and rule.passes and rule.fails)
