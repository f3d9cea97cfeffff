"""What every catalogue entry must satisfy."""

import importlib
import re
from pathlib import Path

import pytest

from designspace import catalogue
from designspace.candidate import Candidate
from designspace.canonical import fingerprint, mixer_fingerprint
from designspace.errors import SpecError
from designspace.normalization import Normalization
from designspace.specfile import dump, load, loads

NAMES = catalogue.names()
FOLDER = Path(catalogue.__file__).parent
FOLLOWS_THE_WRITE = {"longhorn"}  # a = 1 - b k^2: the first range follows from |k|, none is declared


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
    assert f"arXiv {entry.arxiv}" in text
    assert entry.year in range(1991, 2100)
    assert entry.year - 2000 - int(entry.arxiv[:2]) in (0, 1)  # a paper may count by the year of its venue
    assert "\n" not in entry.equation
    assert re.match(r"phi = .+; A_t = .+; b_j = .+; eta_i = .+", entry.equation)
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


def test_fingerprints_are_distinct() -> None:
    candidates = [catalogue.get(name).candidate for name in NAMES]
    assert len({fingerprint(candidate) for candidate in candidates}) == len(NAMES)


def test_mixers_are_distinct_points() -> None:
    assert len({mixer_fingerprint(catalogue.get(name).mixer) for name in NAMES}) == len(NAMES)


def test_an_eta_before_a_norm_per_head_is_no_point_of_its_own() -> None:
    """Why the catalogue has no `mlstm_sig_nonorm` (docs/corrections.md): equivalence 4."""
    mixer = catalogue.get("mlstm_sig").mixer
    without = mixer.model_copy(update={"normalization": Normalization()})
    assert mixer_fingerprint(without) == mixer_fingerprint(mixer)


def test_catalogue_has_the_names_of_its_files() -> None:
    assert set(NAMES) == {path.stem for path in FOLDER.glob("[!_]*.py")}


def test_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecError, match=r"`gated_deltanets` is not in the catalogue; did you mean `gated_deltanet`\?"):
        catalogue.get("gated_deltanets")
