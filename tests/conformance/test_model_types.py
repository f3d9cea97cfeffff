"""What every model_type of the importer must satisfy, tried on the class defaults alone."""

import importlib
import json
import re
from functools import cache
from typing import Any

import pytest

from checkers.check import check
from designspace import units
from designspace.document import parse
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.huggingface.importer import PACKAGE, Importer, described, model_types
from designspace.specfile import dump, loads

MISSING: dict[str, dict[str, Any]] = {  # what a file must hold, since the class has no default that makes a model
    "glm4_moe": {"head_dim": 128},
    "glm4v_moe_text": {"head_dim": 128},
    "hf_olmo": {"rope": True},
    "lfm2_moe": {"num_hidden_layers": 2, "layer_types": ["conv", "full_attention"]},
    "nemotron_nas": {
        "num_hidden_layers": 1,
        "block_configs": [{"attention": {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 2.5}}],
    },
    "rodimus": {"ska_attn": {"num_heads": 8}},
}


def importer(model_type: str) -> Importer:
    return units.load_unit(PACKAGE, model_type, "importer", Importer)


def imported(data: dict[str, Any]) -> Imported:
    return import_config(parse(json.dumps(data), "config.json"))


@cache
def sparse(model_type: str) -> Imported:
    """The import of a file that says next to nothing."""
    return imported({"model_type": model_type, **MISSING.get(model_type, {})})


@pytest.mark.parametrize("model_type", model_types())
def test_class_defaults_are_a_candidate_that_can_be_written_and_linted(model_type: str) -> None:
    candidate = sparse(model_type).candidate
    assert loads(dump(candidate)) == candidate
    assert check(candidate).verdicts


@pytest.mark.parametrize("model_type", model_types())
def test_every_default_names_its_source(model_type: str) -> None:
    defaulted = sparse(model_type).defaulted
    assert defaulted
    sources = (importer(model_type).source, "our own choice")
    assert all(any(source in text for source in sources) for text in defaulted.values())


@pytest.mark.parametrize("model_type", model_types())
def test_every_key_of_its_table_is_read_or_ignored_with_that_reason(model_type: str) -> None:
    table = {key: reason for key, reason in importer(model_type).ignores.items() if "." not in key}
    held = {"model_type": model_type, **MISSING.get(model_type, {})}
    found = imported(dict.fromkeys(table) | held)
    assert found.unknown == ()
    assert {key: reason for key, reason in found.ignored.items() if key in table}.items() <= table.items()


@pytest.mark.parametrize("model_type", [*MISSING])
def test_what_the_class_does_not_give_is_asked_for(model_type: str) -> None:
    with pytest.raises(SpecError) as caught:
        imported({"model_type": model_type})
    assert caught.value.path not in ("", "model_type")


@pytest.mark.parametrize("model_type", model_types())
def test_the_docstring_says_what_it_is_and_where_that_was_read(model_type: str) -> None:
    text = importlib.import_module(f"{PACKAGE}.{model_type}").__doc__ or ""
    assert re.search(r"(?i)source|transformers \d", text)
    assert described()[model_type]
