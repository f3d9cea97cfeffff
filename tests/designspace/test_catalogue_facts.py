"""Facts of the entries against an independent derivation, and the loading of single files.

`catalogue_facts.json` is the `derived` part of the design catalogue, which was made from published code without this
package. Every disagreement is listed here with its reason.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from designspace import catalogue
from designspace.cost import mixer_cost
from designspace.decay import schedule
from designspace.entry import Entry
from designspace.execution import Execution
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.rotation import Rotation
from designspace.target import Target

FACTS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "catalogue_facts.json").read_text())
NAMES = [name for name in catalogue.names() if name in FACTS]
FLOAT32_BYTES = 4

STRUCTURE_DIFFERS = {"rwkv4": "there exp with a constant query and a shear; here its factorised form, a scalar decay"}
SCORE_DIFFERS = {
    "softmax_relbias": "T5 folds the missing 1/sqrt(n) into the query weights (q_std 1/8): std 1, not 8",
    "performer": "there b = n^-1/2 outside, here n^-1/4 inside the features on both sides",
    "dpfp_fwp": "there not applicable",
    "s4d": "static q and k: q = 2C, k = dt B, not unit variance",
    "h3": "static vectors times a token: q = 2C, k = dt B, not unit variance",
}
STATE_DIFFERS = {
    "based": "there C(n+2,2) p without the column of the row sum",
    "rebased": "there C(n+2,2) p; z^2 alone needs C(n+1,2) rows, and the row sum a column",
    "performer": "there n p before the features; 256 of them here",
    "hedgehog": "there n p before the map, which doubles n",
    "rfa_gate": "there n p before the map, which doubles n",
    "cosformer": "there n p; [relu(x), 0] doubles n",
    "h3": "there n p with n = p = 64; here 64 states for each of the channels",
    "dpfp_fwp": "there n p before the map: 2 nu n rows",
    "longconv_hyena": "symbolic there",
    "lfm2_shortconv": "symbolic there",
    "rwkv4": "symbolic there",
    "log_linear_mamba2": "symbolic there",
}


def structure(mixer: MixerSpec) -> str:
    """The transition in the words of the design catalogue."""
    words = {"none": "", "scalar": "scalar", "diagonal": "diag"}[mixer.decay.granularity]
    erase = "" if mixer.erase.is_identity else "householder"
    if mixer.erase.rank > 1:
        erase += str(mixer.erase.rank)
    if mixer.erase.compose == "additive":
        erase += "(DPLR)"
    rotation = "" if mixer.rotation.is_identity else "rotation"
    shear = "" if mixer.shear.is_identity else "unipotent"
    lift = "" if mixer.lift.kind == "none" else mixer.lift.kind
    return "+".join(word for word in (words, rotation, erase, shear, lift) if word) or "I"


def time_dependence(mixer: MixerSpec) -> str:
    if mixer.evolution_is_identity:
        return "-"
    moving = not mixer.is_time_invariant and (mixer.decay.reads_input or not mixer.erase.is_identity)
    return "input" if moving or "input" in (mixer.rotation.source, mixer.shear.source) else "const"


def score_std(mixer: MixerSpec, width: int) -> float:
    """Standard deviation of the score for q, k of unit variance: factor times sqrt(n), over |q| |k| after the norm."""
    spread = width**-0.5 if mixer.features.norm == "l2" else width**0.5
    return mixer.scaling.factor(width) * spread * mixer.features.q_std * mixer.features.k_std


def at_catalogue_size(name: str) -> MixerSpec:
    """The mixer with one head of the catalogue's sizes, without convolutions."""
    facts, mixer = FACTS[name], catalogue.get(name).mixer
    width = 1 if mixer.heads.layout == "channel" else facts["V"]
    heads = Heads(layout=mixer.heads.layout, num_heads=1, state_dim=facts["K"], head_dim=width)
    return mixer.model_copy(update={"heads": heads, "io": InputOutput(), "execution": Execution()})


@pytest.mark.parametrize("name", NAMES)
def test_structure_of_the_transition(name: str) -> None:
    equal = structure(catalogue.get(name).mixer) == FACTS[name]["A"]
    assert equal != (name in STRUCTURE_DIFFERS)


@pytest.mark.parametrize("name", NAMES)
def test_dependence_of_the_transition_on_the_input(name: str) -> None:
    assert time_dependence(catalogue.get(name).mixer) == FACTS[name]["time"]


@pytest.mark.parametrize("name", NAMES)
def test_linear_readout_and_position(name: str) -> None:
    mixer = catalogue.get(name).mixer
    linear = mixer.is_finite_memory or mixer.lift.kind == "fenwick"
    assert (linear, not mixer.evolution_is_identity) == (FACTS[name]["linear"], FACTS[name]["positional"])


@pytest.mark.parametrize("name", NAMES)
def test_score_scale(name: str) -> None:
    expected = FACTS[name]["score_std"]
    found = score_std(catalogue.get(name).mixer, FACTS[name]["K"])
    equal = expected is not None and found == pytest.approx(expected, rel=0.02)
    assert equal != (name in SCORE_DIFFERS)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_kept_while_decoding(name: str) -> None:
    facts, mixer = FACTS[name], at_catalogue_size(name)
    found = mixer_cost(mixer, model_dim=8, target=Target(dtype="float32"))
    if "T" in facts["state"] and not facts["linear"]:
        log_gate = mixer.shear.source == "input"
        assert found.cache_bytes_per_token == FLOAT32_BYTES * (facts["K"] + facts["V"] + log_gate)
        return
    state = facts["state"].split("=")[-1].replace(" (eta)", "")
    numbers = sum(map(int, state.split("+"))) if state.replace("+", "").isdigit() else None
    assert (found.state_bytes == FLOAT32_BYTES * (numbers or -1)) != (name in STATE_DIFFERS)


def imported_modules(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*(name for name in sys.modules if name.startswith('designspace')))"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


def test_listing_imports_no_entry_and_get_imports_one() -> None:
    listed = imported_modules("from designspace import catalogue; catalogue.names()")
    assert not [name for name in listed if name.startswith("designspace.catalogue.")]
    found = imported_modules("from designspace import catalogue; catalogue.get('mamba')")
    assert [name for name in found if name.startswith("designspace.catalogue.")] == ["designspace.catalogue.mamba"]


def test_missing_heading_is_an_error_of_the_author() -> None:
    with pytest.raises(ValueError, match="lacks Tuple, State"):
        Entry.described(
            "Title.\n\nSource     A, 2020, arXiv 2001.00001\nReference  x\n", catalogue.get("gla").candidate
        )


def test_source_without_a_number_is_an_error_of_the_author() -> None:
    text = "Title.\n\nSource  A, 2020\nTuple  t\nState  s\nReference  r\nKnown for  k\nSizes  s\n"
    with pytest.raises(ValueError, match="`Source` must be"):
        Entry.described(text, catalogue.get("gla").candidate)


def test_retnet_decay_is_the_published_schedule() -> None:
    """1 - 2^(-5-h)."""
    mixer = catalogue.get("retnet").mixer
    expected = [1 - 2.0 ** (-5 - head) for head in range(8)]
    assert schedule(mixer.decay, 8) == pytest.approx(expected)


def test_llama_angles_are_the_published_ones() -> None:
    rotation: Rotation = catalogue.get("softmax_rope").mixer.rotation
    assert rotation.angles(128)[:2] == pytest.approx((1.0, 10000 ** (-2 / 128)))
