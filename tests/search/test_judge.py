"""What never trains, whatever a space rejects: mixers outside the grammar, and mixers that read the answers."""

from typing import Any

import pytest

from checkers import Settings
from checkers.thresholds import Thresholds
from designspace import catalogue
from designspace.candidate import Block, Candidate
from designspace.composition import Parallel
from designspace.errors import SpecError
from designspace.mixer import MixerSpec
from search.judge import judge_for
from search.ledger import Plan
from workers.protocol import TINY


def plan() -> Plan:
    return Plan(tasks=("in_context_recall",), seeds=(0,), protocol="tiny", steps=None)


def bidirectional() -> MixerSpec:
    data: dict[str, Any] = catalogue.get("softmax_nope").mixer.model_dump(mode="json")
    return MixerSpec.model_validate(data | {"support": {"mask": "none"}})


CASES = {
    "outside": catalogue.get("gsa").candidate,
    "four scans": catalogue.get("vmamba").candidate,
    "no mask": Candidate(blocks=(Block(mixer=bidirectional()),)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_candidate_that_cannot_be_compared_is_rejected_even_if_nothing_is(name: str) -> None:
    assert judge_for(plan(), ())(CASES[name]).rejected


@pytest.mark.parametrize("name", CASES)
def test_the_protocol_refuses_it_too(name: str) -> None:
    with pytest.raises(SpecError, match=r"later tokens|outside the grammar"):
        TINY.adapt(CASES[name], vocab_size=16, seq_len=32)


def test_branches_that_read_forward_are_no_reason() -> None:
    mixer = catalogue.get("mamba").mixer
    both = Candidate(blocks=(Block(mixer=Parallel(parallel=(mixer, mixer), orders=("forward", "forward"))),))
    assert both.is_causal
    assert not judge_for(plan(), ())(both).rejected


@pytest.mark.parametrize(
    ("settings", "rejected"),
    [
        (Settings(), True),
        (Settings(ignore=("CD501",)), False),
        (Settings(severity={"score-scale": "warning"}), False),
        (
            Settings(thresholds=Thresholds.model_validate({"score-scale": {"band": (0.5, 9), "wide-band": (0.1, 9)}})),
            False,
        ),
    ],
)
def test_a_judge_obeys_the_settings_of_the_checker(settings: Settings, rejected: bool) -> None:
    candidate = catalogue.get("softmax_unscaled").candidate
    assert judge_for(plan(), ("error",), settings)(candidate).rejected is rejected
