"""Findings about a config.json stand at the keys behind the fields they name."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkers.check import check
from designspace.document import Document, parse
from designspace.errors import SpecError
from designspace.huggingface.importer import model_types
from designspace.specfile import load_config

CONFIGS = Path(__file__).parents[2] / "configs"


def places(text: str) -> Document:
    return load_config(parse(text, "config.json", special_numbers=True)).document


def at(text: str, path: str) -> str:
    """What stands at a path, from its column to the end of its region."""
    span = places(text).span(path)
    line = text.splitlines()[span.line - 1]
    return line[span.column - 1 : span.end_column - 1 if span.end_line == span.line else None]


def given(file: str, **changes: Any) -> str:
    return json.dumps({**json.loads((CONFIGS / file).read_text()), **changes}, indent=2)


@pytest.mark.parametrize(
    ("file", "path", "key"),
    [
        ("llama-2-7b.json", "blocks", '"num_hidden_layers": 32'),
        ("llama-2-7b.json", "blocks[0].mixer.readout", '"model_type": "llama"'),
        ("llama-3.1-8b.json", "blocks[0].mixer.heads.num_heads", '"num_attention_heads": 32'),
        ("llama-3.1-8b.json", "blocks[0].mixer.heads.kv_groups", '"num_key_value_heads": 8'),
        ("llama-3.1-8b.json", "blocks[0].mixer.rotation", '"rope_theta": 500000.0'),
        ("llama-3.1-8b.json", "blocks[0].mixer.rotation.phase_dtype", '"rope_theta": 500000.0'),
        ("llama-3.1-8b.json", "blocks[0].mixer.rotation.scaling", '"rope_type": "llama3"'),
        ("llama-3.1-8b.json", "target.seq_len", '"max_position_embeddings": 131072'),
        ("llama-3.1-8b.json", "target.dtype", '"torch_dtype": "bfloat16"'),
        ("mistral-7b-v0.1.json", "blocks[0].mixer.support.window", '"sliding_window": 4096'),
        ("gemma-2b.json", "blocks[0].mixer.scaling.base", '"head_dim": 256'),
        ("gpt2.json", "target.seq_len", '"n_positions": 1024'),
        ("gpt2.json", "model.model_dim", '"n_embd": 768'),
        ("redpajama-3b.json", "blocks[0].mixer.rotation.fraction", '"rotary_pct": 1.0'),
        ("qwen3-next-80b.json", "blocks[0].mixer.heads.num_heads", '"linear_num_value_heads": 32'),
        ("qwen3-next-80b.json", "blocks[1].mixer.heads.num_heads", '"num_attention_heads": 16'),
        ("qwen3-next-80b.json", "blocks[0].mixer.io.short_conv", '"linear_conv_kernel_dim": 4'),
        ("mamba-2.8b-hf.json", "blocks[0].mixer.heads.state_dim", '"state_size": 16'),
        ("mamba-2.8b-hf.json", "blocks[0].mixer.scaling.initial", '"time_step_min": 0.001'),
        ("fla-gla-340m.json", "blocks[0].mixer.heads.state_dim", '"expand_k": 0.5'),
        ("deepseek-v2-lite.json", "blocks[0].mixer.heads.latent_dim", '"kv_lora_rank": 512'),
        ("deepseek-v3.2.json", "blocks[0].mixer", '"index_topk": 2048'),
    ],
)
def test_a_field_stands_at_its_key(file: str, path: str, key: str) -> None:
    assert at(given(file), path) == key


def test_a_mixer_stands_at_the_word_of_its_first_layer() -> None:
    text = given("minimax-text-01.json")
    first_full = next(number for number, line in enumerate(text.splitlines(), 1) if "full_attention" in line)
    found = places(text)
    assert [found.span(f"blocks[{index}].mixer").line for index in (0, 7)] == [first_full - 7, first_full]
    assert at(text, "blocks[7].mixer.rotation.theta") == '"rope_theta": 10000000'


def test_a_null_key_counts_only_where_nothing_else_was_read() -> None:
    text = given("fla-gla-340m.json", attn={"layers": [3], "num_heads": 16, "window_size": None})
    assert at(text, "blocks[1].mixer.heads.num_heads") == '"num_heads": 16'
    assert at(text, "blocks[0].mixer.heads.num_heads") == '"num_heads": 4'
    assert at(text, "blocks[1].mixer.support.window") == '"window_size": null'


def test_the_text_part_of_a_larger_model() -> None:
    inner = {**json.loads((CONFIGS / "mistral-7b-v0.1.json").read_text()), "max_position_embeddings": 4096}
    text = json.dumps({"model_type": "llava", "hidden_size": 9, "text_config": inner, "vision_config": {}}, indent=1)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if '"sliding_window"' in line)
    found = places(text)
    assert found.span("blocks[0].mixer.support.window").line == line
    assert at(text, "model.model_dim") == '"hidden_size": 4096'
    assert at(text, "blocks[0].mixer") == '"model_type": "mistral"'


def test_keys_that_are_unknown_or_approximated_stand_at_themselves() -> None:
    text = given("llama-2-7b.json", magic=3)
    assert at(text, "magic") == '"magic": 3'
    hgrn = json.dumps({"model_type": "hgrn", "use_lower_bound": True}, indent=1)
    assert at(hgrn, "approximated[0]") == '"use_lower_bound": true'


def test_an_approximation_of_the_code_stands_at_the_model_type() -> None:
    assert at(given("nemotron-3-nano-30b.json", time_step_min=0.002), "approximated[0]") == '"time_step_min": 0.002'
    assert at(json.dumps({"model_type": "nemotron_h"}, indent=1), "approximated[0]") == '"model_type": "nemotron_h"'


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (
            {"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": 2.0, "beta_magic": 1}},
            "beta_magic",
        ),
        ({"model_type": "gla", "attn": [{"layers": [0], "num_heads": 4, "rope_magic": 1}]}, "rope_magic"),
    ],
)
def test_an_error_about_a_nested_key_stands_at_it(keys: dict[str, Any], name: str) -> None:
    text = json.dumps({"vocab_size": 32000, **keys}, indent=1)
    with pytest.raises(SpecError, match=name) as caught:
        places(text)
    assert caught.value.line == next(number for number, line in enumerate(text.splitlines(), 1) if name in line)


def test_a_file_without_a_model_type_stands_at_what_tells_its_kind() -> None:
    assert at(given("mamba2-2.7b-ss.json"), "blocks[0].mixer.readout") == '"ssm_cfg"'


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M*M-"}, "hybrid_override_pattern"),
        ({"model_type": "lfm2", "full_attn_idxs": [1, 3], "num_hidden_layers": 4}, "full_attn_idxs"),
        ({"model_type": "cohere2", "sliding_window_pattern": 4}, "sliding_window_pattern"),
    ],
)
def test_a_mixer_stands_at_the_key_that_says_which_layers_differ(keys: dict[str, Any], name: str) -> None:
    text = json.dumps(keys, indent=1)
    assert at(text, "blocks[1].mixer.readout").startswith(f'"{name}": ' if name != "full_attn_idxs" else f'"{name}"')


def test_findings_carry_these_places() -> None:
    text = given("falcon-40b.json", torch_dtype="float16")
    loaded = load_config(parse(text, "config.json"))
    report = check(loaded.candidate, document=loaded.document)
    lines = {finding.path: finding.span.line for finding in report.findings if finding.span is not None}
    assert lines
    assert all(places(text).span(path).line == line for path, line in lines.items())


@pytest.mark.parametrize("model_type", ["llama", "mamba2", "gla", "samba", "bert"])
def test_every_field_has_some_place(model_type: str) -> None:
    assert model_type in model_types()
    text = json.dumps({"model_type": model_type, "vocab_size": 32000}, indent=1)
    for path in ("blocks[0].mixer.decay.range[1]", "target.needs", "blocks[0].skip.lambda", "model.positions"):
        assert 1 <= places(text).span(path).line <= 3
