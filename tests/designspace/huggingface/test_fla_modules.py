"""Imported widths against the modules that flash-linear-attention builds from the same configuration.

fla_modules.json was written by tests/golden/generate/fla_modules.py with fla-core 0.6.0: random configurations, and
what the classes say of each layer, or why they refuse; and the file that each class writes at its defaults.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from designspace.candidate import Block
from designspace.document import parse
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.mixer import MixerSpec

DATA = json.loads((Path(__file__).parent / "fla_modules.json").read_text())
RECORDS, SAVED = DATA["records"], DATA["saved"]
BUILT = [record for record in RECORDS if "layers" in record]
REFUSED = [record for record in RECORDS if "error" in record]
IN_ONE_MAP = ("Mamba3",)  # the gate is part of the input projection


def imported(config: dict[str, Any]) -> Imported:
    return import_config(parse(json.dumps(config), "config.json"))


def flat(result: Imported) -> list[Block]:
    return [block for block in result.candidate.blocks for _ in range(block.repeat)]


def name_of(record: dict[str, Any]) -> str:
    return f"{record['config']['model_type']}-{RECORDS.index(record)}"


def convolved_channels(mixer: MixerSpec) -> int:
    """Channels of all convolutions, streams that heads share counted once."""
    heads = mixer.heads
    keys = heads.groups * heads.state_dim
    queries = keys if heads.shared == "qk" else heads.num_heads * heads.state_dim
    values = (heads.num_heads if heads.shared == "qk" else heads.groups) * heads.head_dim
    width = {"q": queries, "k": keys * mixer.erase.rank, "v": values * mixer.erase.rank}
    return sum(width[stream] for stream in mixer.io.short_conv.on)


@pytest.mark.parametrize("record", BUILT, ids=name_of)
def test_widths_are_those_of_the_modules(record: dict[str, Any]) -> None:
    blocks = flat(imported(record["config"]))
    assert len(blocks) == len(record["layers"])
    for block, built in zip(blocks, record["layers"], strict=True):
        (mixer,) = block.mixers
        heads = mixer.heads
        found = (heads.num_heads, heads.groups, heads.state_dim, heads.head_dim)
        assert found == (built["heads"], built["groups"], built["key_dim"], built["value_dim"])
        inner = block.channel_mixer.ratio * record["config"]["hidden_size"] if block.channel_mixer.kind != "none" else 0
        assert inner == pytest.approx(built["inner"])


@pytest.mark.parametrize("record", BUILT, ids=name_of)
def test_convolution_gate_and_scale_are_those_of_the_modules(record: dict[str, Any]) -> None:
    for block, built in zip(flat(imported(record["config"])), record["layers"], strict=True):
        (mixer,) = block.mixers
        if not built["mixer"].startswith("RWKV"):  # a token shift, which is no module
            found = [mixer.io.short_conv.width, convolved_channels(mixer)] if mixer.io.short_conv.on else None
            assert found == built["conv"]
        if built["mixer"] not in IN_ONE_MAP:
            assert (mixer.io.gate != "none") == built["gate"]
        if built["scale"] is not None:
            assert mixer.base == pytest.approx(built["scale"])


@pytest.mark.parametrize("record", REFUSED, ids=name_of)
def test_what_the_classes_refuse_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        imported(record["config"])


@pytest.mark.parametrize("model_type", SAVED)
def test_what_the_configuration_classes_write_holds_no_unknown_key(model_type: str) -> None:
    result = imported(SAVED[model_type])
    assert result.unknown == ()
    assert {key.partition(".")[0] for key in (*result.read, *result.ignored)} == SAVED[model_type].keys()


@pytest.mark.parametrize("model_type", SAVED)
def test_absent_keys_have_the_defaults_of_the_configuration_class(model_type: str) -> None:
    sparse = (
        {"model_type": model_type, "ska_attn": {"num_heads": 8}}
        if model_type == "rodimus"
        else {
            "model_type": model_type,
            "norm_eps": SAVED[model_type]["norm_eps"],  # tells fla from transformers
        }
    )
    assert imported(sparse).candidate == imported(SAVED[model_type]).candidate


def test_the_records_cover_every_kind_of_mixer() -> None:
    assert len({layer["mixer"] for record in BUILT for layer in record["layers"]}) >= 18
    assert len(REFUSED) >= 10
