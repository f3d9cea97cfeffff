"""Config files of checkpoints: every key is accounted for."""

import json
from pathlib import Path

import pytest
from given import ROOT, sextant

from designspace.document import read
from designspace.specfile import imported, load

IMPORTED = (
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "gpt2",
    "gpt_neo",
    "bloom",
    "mamba",
    "mamba2",
    "jamba",
    "falcon_h1",
    "qwen3_next",
    "rwkv",
)


@pytest.mark.parametrize("model_type", IMPORTED)
def test_class_defaults_of_each_model_type_import_with_an_account_of_every_key(model_type: str, tmp_path: Path) -> None:
    defaults = json.loads((ROOT / "tests" / "configs" / "hf_defaults.json").read_text())[model_type]
    defaults["model_type"] = model_type
    path = tmp_path / "config.json"
    path.write_text(json.dumps(defaults))
    found = imported(read(path, special_numbers=True))
    text = json.dumps(found.account, default=str) if hasattr(found, "account") else str(found)
    for key in defaults:
        assert key in text, key
    one = load(path)
    assert one.target.provenance == "checkpoint"
    assert one.target.seq_len <= 1_048_576


def test_an_unknown_key_of_a_config_is_reported_by_import_and_by_lint(tmp_path: Path) -> None:
    data = json.loads((ROOT / "tests" / "configs" / "llama-2-7b.json").read_text()) | {"attention_magic": 3}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(data))
    found = sextant("import", str(path))
    assert "attention_magic" in found.stdout + found.stderr
    found = sextant("lint", str(path))
    assert "attention_magic" in found.stdout + found.stderr
