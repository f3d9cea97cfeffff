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
from designspace.document import read
from designspace.errors import SpecError
from designspace.huggingface import import_config
from designspace.normalization import Normalization
from designspace.specfile import dump, load, loads

NAMES = catalogue.names()
FOLDER = Path(catalogue.__file__).parent
MINIMAX = Path(__file__).parents[1] / "configs" / "minimax-text-01.json"
FOLLOWS_THE_WRITE = {"longhorn"}  # a = 1 - b k^2: the first range follows from |k|, none is declared
ONE_POINT = {"mlstm_sig_nonorm": "mlstm_sig"}  # equivalence 4: two published names of one function
COMPOSED_OF = {"vmamba": "mamba", "diff": "softmax_rope"}  # the branches are points of other entries
READS_BOTH_WAYS = {"vmamba"}  # four scans of an image
NAMED_IN_THE_ISSUE = {  # issue 3, lists of the catalogue: the words there, and the entry that answers to them
    "softmax": "softmax_nope",
    "RoPE": "softmax_rope",
    "ALiBi": "softmax_alibi",
    "sigmoid attention": "sigmoid_attn",
    "ReLU attention": "relu_attn",
    "sliding window": "softmax_window",
    "sinks": "softmax_sink",
    "softcap": "softmax_softcap",
    "FoX": "fox",
    "PaTH": "path",
    "MLA": "mla",
    "linear attention": "linear",
    "linear attention, elu+1": "linear_elu_norm",
    "fast weight programmers": "dpfp_fwp",
    "DPFP": "dpfp_fwp",
    "Performer": "performer",
    "RFA": "rfa_gate",
    "cosFormer": "cosformer",
    "Based": "based",
    "ReBased": "rebased",
    "Hedgehog": "hedgehog",
    "normalised attention": "dsf_norm",
    "RetNet": "retnet",
    "Lightning": "lightning_minimax",
    "TransNormer": "transnormer",
    "GLA": "gla",
    "HGRN": "hgrn",
    "HGRN2": "hgrn2",
    "RWKV-4": "rwkv4",
    "RWKV-5": "rwkv5",
    "RWKV-6": "rwkv6",
    "RWKV-7": "rwkv7",
    "Mamba": "mamba",
    "Mamba-2": "mamba2",
    "Mamba-3": "mamba3_siso",
    "S4": "s4",
    "S4D": "s4d",
    "S5": "lru_s5",
    "LRU": "lru_s5",
    "H3": "h3",
    "HiPPO": "s4",
    "Hyena": "longconv_hyena",
    "RG-LRU": "rg_lru",
    "Griffin": "rg_lru",
    "minGRU": "mingru",
    "minLSTM": "minlstm",
    "qLSTM": "qlstm",
    "qLSTM reversed": "qlstm_reversed",
    "mLSTM": "mlstm_exp",
    "Longhorn": "longhorn",
    "DeltaNet": "deltanet",
    "Gated DeltaNet": "gated_deltanet",
    "DeltaProduct": "gated_deltaproduct",
    "KDA": "kda",
    "Comba": "comba",
    "GDN-2": "gdn2",
    "log-linear Mamba-2": "log_linear_mamba2",
    "Momentum DeltaNet": "momentum_deltanet",
    "VMamba": "vmamba",
    "DIFF attention": "diff",
    "GRU": "gru",
    "LSTM": "lstm",
    "sLSTM": "slstm",
    "TTT": "ttt_linear",
    "Titans": "titans",
    "GSA": "gsa",
    "ABC": "abc",
    "MesaNet": "mesa_net",
    "stick-breaking": "stick_breaking",
    "top-k sparse attention": "top_k_sparse",
}
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


@pytest.mark.parametrize(("words", "name"), NAMED_IN_THE_ISSUE.items())
def test_every_mixer_that_the_issue_names_is_found_under_that_name(words: str, name: str) -> None:
    entry = catalogue.get(name)
    assert _letters(words) in map(_letters, (entry.name, *entry.also))


def test_no_name_means_two_entries() -> None:
    every = (*NAMES, *catalogue.outside_names())
    further = [other for name in every for other in catalogue.get(name).also]
    assert len({*every, *further}) == len(every) + len(further)


def _letters(name: str) -> str:
    """Without what is written differently: `Mamba-2` is `mamba2`."""
    return re.sub("[^a-z0-9]", "", name.lower())


def test_lightning_minimax_is_the_published_model() -> None:
    entry = catalogue.get("lightning_minimax").candidate
    imported = import_config(read(MINIMAX, special_numbers=True)).candidate
    assert fingerprint(imported) == fingerprint(
        entry.model_copy(update={"model": imported.model, "target": imported.target})
    )


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


@pytest.mark.parametrize(("further", "name"), [("hippo", "s4"), ("ttt", "ttt_linear")])
def test_a_further_name_leads_to_its_entry(further: str, name: str) -> None:
    with pytest.raises(SpecError, match=f"`{further}` is described by the catalogue entry `{name}`"):
        catalogue.get(further)


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
