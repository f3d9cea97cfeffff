"""What every catalogue entry must satisfy."""

import importlib
import json
import re
from pathlib import Path

import pytest

from checkers.check import check
from designspace import catalogue
from designspace.candidate import Candidate, Parallel
from designspace.canonical import fingerprint, mixer_fingerprint
from designspace.errors import SpecError
from designspace.normalization import Normalization
from designspace.specfile import dump, load, loads

NAMES = catalogue.names()
FOLDER = Path(catalogue.__file__).parent
FOLLOWS_THE_WRITE = {"longhorn"}  # a = 1 - b k^2: the first range follows from |k|, none is declared
ONE_POINT = {"mlstm_sig_nonorm": "mlstm_sig"}  # equivalence 4: two published names of one function
COMPOSED_OF = {"vmamba": "mamba", "diff": "softmax_rope"}  # the branches are points of other entries
READS_BOTH_WAYS = {"vmamba"}  # four scans of an image
DESIGN_NAMES = json.loads((Path(__file__).parents[1] / "designspace" / "catalogue_names.json").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_entry_is_named_after_its_file(name: str) -> None:
    entry = catalogue.get(name)
    assert entry.name == name
    assert load(f"catalogue:{name}") == entry.candidate


@pytest.mark.parametrize("name", NAMES)
def test_candidate_survives_the_spec_file(name: str) -> None:
    candidate = catalogue.get(name).candidate
    assert Candidate.model_validate(candidate.model_dump(mode="json", by_alias=True)) == candidate
    assert loads(dump(candidate)) == candidate


@pytest.mark.parametrize("name", NAMES)
def test_docstring_gives_source_tuple_and_reference(name: str) -> None:
    entry, text = catalogue.get(name), importlib.import_module(f"designspace.catalogue.{name}").__doc__ or ""
    assert entry.source in text
    assert entry.year in range(1991, 2100)
    if number := re.fullmatch(r"arXiv (\d\d)\d\d\.\d+", entry.source):
        assert entry.year - 2000 - int(number[1]) in (0, 1)  # a paper may count by the year of its venue
    assert "\n" not in entry.equation
    parts = [entry.equation.find(part) for part in ("phi = ", "A_t = ", "b_j = ", "eta_i = ")]
    assert -1 < parts[0] < parts[1] < parts[2] < parts[3]
    assert all((entry.title, entry.authors, entry.state, entry.reference, entry.known_for, entry.sizes))


@pytest.mark.parametrize("name", NAMES)
def test_every_changing_decay_declares_where_it_starts(name: str) -> None:
    for located in catalogue.get(name).candidate.mixers():
        decay = located.mixer.decay
        if decay.granularity != "none" and name not in FOLLOWS_THE_WRITE:
            low, high = decay.initial_range or (-1.0, -1.0)
            assert decay.hull[0] <= low <= high <= decay.hull[1]
            assert 0 <= low <= high <= 1


@pytest.mark.parametrize("name", NAMES)
def test_entry_is_a_causal_stack(name: str) -> None:
    candidate = catalogue.get(name).candidate
    assert candidate.num_layers >= 2
    assert all(located.mixer.support.mask == "causal" for located in candidate.mixers())
    orders = [block.mixer.orders for block in candidate.blocks if isinstance(block.mixer, Parallel)]
    assert any(orders) == (name in READS_BOTH_WAYS)


def test_fingerprints_are_distinct() -> None:
    candidates = [catalogue.get(name).candidate for name in NAMES if name not in ONE_POINT]
    assert len({fingerprint(candidate) for candidate in candidates}) == len(NAMES) - len(ONE_POINT)
    for name, same in ONE_POINT.items():
        assert fingerprint(catalogue.get(name).candidate) == fingerprint(catalogue.get(same).candidate)


def test_mixers_are_distinct_points() -> None:
    different = [catalogue.get(name).mixer for name in NAMES if name not in ONE_POINT and name not in COMPOSED_OF]
    assert len({mixer_fingerprint(mixer) for mixer in different}) == len(different)


def test_every_name_of_the_design_catalogue_has_an_entry() -> None:
    assert set(DESIGN_NAMES) <= set(NAMES)


@pytest.mark.parametrize("name", catalogue.outside_names())
def test_entry_outside_the_grammar_says_why_and_what_is_nearest(name: str) -> None:
    entry = catalogue.get(name)
    assert entry.name == name
    assert entry.outside is not None
    assert entry.outside.nearest is not None
    assert loads(dump(entry.candidate)) == entry.candidate
    report = check(entry.candidate)
    about_mixers = [verdict for verdict in report.verdicts if verdict.principle < 9]
    assert about_mixers
    assert all(verdict.verdict == "unknown" and entry.outside.reason in verdict.reason for verdict in about_mixers)
    with pytest.raises(SpecError, match="outside the grammar"):
        _ = entry.mixer


def test_a_further_name_of_a_point_leads_to_its_entry() -> None:
    with pytest.raises(SpecError, match=r"`hippo` is described by the catalogue entry `s4`"):
        catalogue.get("hippo")


def test_an_eta_before_a_norm_per_head_is_no_point_of_its_own() -> None:
    """Why `mlstm_sig_nonorm` is no point of its own (docs/corrections.md): equivalence 4."""
    mixer = catalogue.get("mlstm_sig").mixer
    without = mixer.model_copy(update={"normalization": Normalization()})
    assert mixer_fingerprint(without) == mixer_fingerprint(mixer)


def test_catalogue_has_the_names_of_its_files() -> None:
    assert set(NAMES) == {path.stem for path in FOLDER.glob("[!_]*.py")}


def test_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecError, match=r"`gated_deltanets` is not in the catalogue; did you mean `gated_deltanet`\?"):
        catalogue.get("gated_deltanets")
