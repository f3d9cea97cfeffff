"""Measurements confirm, contradict, or say nothing about a finding; faults are of the implementation."""

from collections.abc import Mapping
from typing import Any

import pytest

from checkers.check import check
from checkers.finding import Finding
from checkers.rule import resolved
from designspace.measurement import Measurement

MIXER = "blocks[0].mixer"
UNSCALED = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}, "scaling": {"base": 1.0}}
LINEAR = {"target": {"seq_len": 64}, "mixer": {"readout": {"kind": "identity"}}}


def measurement(quantity: str, value: float, uncertainty: float = 0.0, length: int = 64) -> Measurement:
    return Measurement(
        probe="test",
        quantity=quantity,
        path=MIXER,
        value=value,
        uncertainty=uncertainty,
        draws=8,
        seed=0,
        length=length,
    )


def finding(spec: Mapping[str, Any], code: str, *measurements: Measurement) -> Finding:
    report = check(resolved(spec), measurements=measurements)
    return next(one for one in report.findings if one.code == code)


@pytest.mark.parametrize(
    ("value", "uncertainty", "verdict"),
    [(8.5, 0.1, "confirmed"), (9.1, 0.1, "confirmed"), (9.5, 0.1, "contradicted"), (9.5, 0.4, "confirmed")],
)
def test_score_std_is_held_against_15_percent_and_its_uncertainty(
    value: float, uncertainty: float, verdict: str
) -> None:
    probed = finding({"mixer": UNSCALED}, "CD501", measurement("score_std", value, uncertainty)).probe
    assert probed is not None
    assert (probed.verdict, probed.value, probed.uncertainty) == (verdict, value, uncertainty)
    assert probed.expected == pytest.approx((6.8, 9.2))


@pytest.mark.parametrize(("value", "verdict"), [(8.0, "confirmed"), (20.0, "contradicted")])
def test_gain_is_predicted_at_the_length_that_was_probed(value: float, verdict: str) -> None:
    probed = finding(LINEAR, "CD601", measurement("output_gain", value)).probe
    assert probed is not None
    assert probed.verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [(3.0, "confirmed"), (0.9, "not measured")])
def test_what_declared_ranges_allow_is_not_contradicted_by_the_start(value: float, verdict: str) -> None:
    loose = {"mixer": {"erase": {"direction": "key"}, "scaling": {"gate": "tied_to_erase"}}}
    probed = finding(loose, "CD602", measurement("largest_step_norm", value)).probe
    assert probed is not None
    assert probed.verdict == verdict


def test_another_mixer_is_no_evidence() -> None:
    elsewhere = measurement("score_std", 8.0).model_copy(update={"path": "blocks[1].mixer"})
    probed = finding({"mixer": UNSCALED}, "CD501", elsewhere).probe
    assert probed is not None
    assert probed.verdict == "not measured"


@pytest.mark.parametrize(
    ("quantity", "sound", "broken"),
    [
        ("later_tokens", 0.0, 0.1),
        ("differs_from_recurrent", 1e-12, 0.1),
        ("row_sum_deviation", 1e-12, 0.01),
        ("outside_support", 0.0, 0.1),
        ("response.support.window", 1.0, 0.0),
        ("padding_effect", 1e-14, 0.1),
    ],
)
def test_faults_stand_beside_the_findings(quantity: str, sound: float, broken: float) -> None:
    good, bad = (
        check(resolved({"mixer": UNSCALED}), measurements=[measurement(quantity, value)]) for value in (sound, broken)
    )
    assert good.faults == ()
    assert [fault.quantity for fault in bad.faults] == [quantity]
    assert [one.code for one in good.findings] == [one.code for one in bad.findings]


def test_design_that_reads_ahead_is_a_finding_and_no_fault() -> None:
    leaking = {"mixer": {"features": {"map": "softmax_pm", "map_over": "sequence"}}}
    report = check(resolved(leaking), measurements=[measurement("later_tokens", 0.5)])
    assert report.faults == ()
    probed = next(one for one in report.findings if one.code == "CD901").probe
    assert probed is not None
    assert probed.verdict == "confirmed"
