"""Every given config.json against its entry of truth.json, field by field, from the spec that comes out."""

import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from given import ROOT, sextant

from designspace.candidate import Candidate
from designspace.mixer import MixerSpec
from designspace.outside import Outside
from designspace.specfile import load

CONFIGS = ROOT / "tests" / "configs"
TRUTH = json.loads((CONFIGS / "truth.json").read_text())["entries"]
FILES = [one["file"] for one in TRUTH]
QK_NORMS = {
    None: {"none"},
    "l2": {"l2"},
    "rms per head, before rope": {"rms_weighted"},
    "rms per head (1+w), before rope": {"rms_weighted"},
    "rms over the whole projection, before rope": {"rms_weighted"},
}


@cache
def entry(file: str) -> dict[str, Any]:
    return next(one for one in TRUTH if one["file"] == file)


@cache
def candidate(file: str) -> Candidate:
    return load(CONFIGS / file)


def wanted_layers(file: str) -> list[str]:
    return [run["kind"] for run in entry(file)["layers"] for _ in range(run["count"])]


def found_layers(file: str) -> list[Any]:
    return [block.mixer for block in candidate(file).blocks for _ in range(block.repeat)]


def key_width(mixer: MixerSpec) -> int:
    return mixer.heads.state_dim


def score_scale(mixer: MixerSpec) -> float:
    n = mixer.heads.state_dim
    return {"n^-1/2": n**-0.5, "n^-1": 1.0 / n}.get(mixer.scaling.base, mixer.scaling.base)


def streams(mixer: MixerSpec, which: str) -> int:
    """Distinct key/value heads (`kv`) or query/key streams (`qk`)."""
    return mixer.heads.num_heads if mixer.heads.shared != which else mixer.heads.kv_groups or mixer.heads.num_heads


def structure(mixer: MixerSpec) -> set[str]:
    """Words of the catalogue for what A_t is made of."""
    found = set()
    if mixer.decay.granularity != "none":
        found.add({"scalar": "scalar", "diagonal": "diag"}[mixer.decay.granularity])
    if mixer.rotation.source != "none" and mixer.rotation.fraction > 0:
        found.add("rotation")
    if mixer.erase.direction != "none":
        found.add("householder")
    if mixer.shear.source != "none":
        found.add("unipotent")
    if mixer.lift.kind == "shift":
        found.add("shift")
    return found or {"I"}


def position_matches(mixer: MixerSpec, wanted: dict[str, Any], file: str) -> None:
    rotation, shear = mixer.rotation, mixer.shear
    match wanted["type"]:
        case "rope":
            assert rotation.source == "constant"
            assert rotation.theta == pytest.approx(wanted["theta"])
            assert rotation.fraction == pytest.approx(wanted["fraction"])
            assert rotation.pairing == wanted["pairing"]
            assert rotation.attention_factor == pytest.approx(wanted.get("attention_factor", 1.0))
            scaling = wanted.get("scaling")
            if scaling is None:
                assert rotation.scaling is None
            else:
                assert rotation.scaling is not None
                assert (rotation.scaling.kind, rotation.scaling.factor) == (scaling["kind"], scaling["factor"])
                assert rotation.scaling.original_length == scaling["original_max"]
            assert shear.source == "none"
        case "alibi":
            assert rotation.source == "none"
            assert shear.source == "constant"
            assert shear.scaled == ("before" in wanted["added"])
            heads = mixer.heads.num_heads
            slopes = shear.slopes or [2 ** (-8 * h / heads) for h in range(1, heads + 1)]  # null: 2^(-8h/H)
            assert slopes == pytest.approx([2 ** (-8 * h / heads) for h in range(1, heads + 1)])
            assert shear.sign == "decreasing"
        case "absolute" | "none":
            assert rotation.source == "none"
            assert shear.source == "none"
        case other:
            raise AssertionError(other)
    if wanted["type"] == "absolute":
        assert candidate(file).model.positions == wanted["kind"]


def mixer_matches(mixer: MixerSpec, wanted: dict[str, Any], file: str) -> None:
    soft = wanted["phi"] == "exp"
    assert mixer.readout.kind == ("exponential" if soft else "identity")
    assert mixer.readout.softcap == wanted["softcap"]
    assert mixer.heads.num_heads == wanted["heads"]
    if soft and "mla" not in wanted:
        assert streams(mixer, "kv") == wanted["kv_heads"]
    if not soft:
        assert streams(mixer, "qk") == wanted["qk_heads"]
    assert (key_width(mixer), mixer.heads.head_dim) == (wanted["key_dim"], wanted["value_dim"])
    assert score_scale(mixer) == pytest.approx(wanted["score_scale"], rel=1e-8)
    position_matches(mixer, wanted["position"], file)
    assert mixer.support.window == wanted["window"]
    assert mixer.support.chunk is None
    assert mixer.features.norm in QK_NORMS[wanted["qk_norm"]]
    whole = wanted["qk_norm"] is not None and "whole projection" in wanted["qk_norm"]
    assert (mixer.features.norm_over == "all_heads") == whole
    assert mixer.features.norm_order == "before_rotation"
    sink = wanted.get("sink", False)
    if soft:
        assert mixer.normalization.kind == ("sum_with_sink" if sink else "sum")
    assert structure(mixer) == set(wanted["A_structure"].split("+"))
    if "short_conv" in wanted:
        assert mixer.io.short_conv.width == wanted["short_conv"]["kernel"]
        assert conv_channels(mixer) == wanted["short_conv"]["channels"]
    elif mixer.lift.kind != "shift":
        assert mixer.io.short_conv.width == 0
    if "kernel" in wanted["extra"]:
        assert mixer.lift.width == wanted["extra"]["kernel"]
    if "output_gate" in wanted:
        assert mixer.io.gate == "sigmoid"
    if "mla" in wanted:
        heads, mla = mixer.heads, wanted["mla"]
        assert heads.latent_dim == mla["kv_lora_rank"]
        assert heads.shared_key_dim == mla["rope_dim"]
        assert heads.state_dim - heads.shared_key_dim == mla["nope_dim"]


def conv_channels(mixer: MixerSpec) -> int:
    heads, on = mixer.heads, mixer.io.short_conv.on
    n, p = heads.state_dim, heads.head_dim
    per_stream = {"q": n * streams(mixer, "qk"), "k": n * streams(mixer, "qk"), "v": p * streams(mixer, "kv")}
    return sum(per_stream[stream] for stream in on)


def state_values(mixer: MixerSpec) -> int:
    """Values of the recurrent state with those of the short convolution."""
    heads = mixer.heads
    if mixer.readout.kind == "exponential":
        return 0
    if mixer.lift.kind == "shift":
        return heads.num_heads * (mixer.lift.width - 1)
    conv = mixer.io.short_conv
    return heads.num_heads * heads.state_dim * heads.head_dim + conv_channels(mixer) * max(conv.width - 1, 0)


def cache_values(mixer: MixerSpec) -> int:
    heads = mixer.heads
    if mixer.readout.kind != "exponential":
        return 0
    if heads.latent_dim is not None:
        return heads.latent_dim + heads.shared_key_dim
    return streams(mixer, "kv") * (heads.state_dim + heads.head_dim)


@pytest.mark.parametrize("file", FILES)
def test_file_imports_to_its_entry(file: str) -> None:
    one, found = entry(file), candidate(file)
    assert found.model.model_dim == one["d_model"]
    assert found.num_layers == one["num_layers"]
    layers = found_layers(file)
    for index, (name, mixer) in enumerate(zip(wanted_layers(file), layers, strict=True)):
        wanted = one["kinds"][name]
        if wanted["mixer"] == "none":
            assert mixer is None, index
        elif one["expected"] != "ok":
            assert isinstance(mixer, Outside), index
            assert mixer.nearest is not None
            mixer_matches(mixer.nearest, wanted, file)
        else:
            assert isinstance(mixer, MixerSpec), index
            mixer_matches(mixer, wanted, file)
    assert found.target.provenance == "checkpoint"


@pytest.mark.parametrize("file", [one["file"] for one in TRUTH if one["expected"] == "ok"])
def test_state_and_cache_bytes_are_those_of_the_entry(file: str) -> None:
    one = entry(file)
    layers = [mixer for mixer in found_layers(file) if mixer is not None]
    assert 2 * sum(state_values(mixer) for mixer in layers) == one["state_bytes_per_sequence_bf16"]["total"]
    assert 2 * sum(cache_values(mixer) for mixer in layers) == one["kv_cache_bytes_per_token_bf16"]
    unbounded = [mixer for mixer in layers if mixer.support.window is None]
    assert 2 * sum(cache_values(mixer) for mixer in unbounded) == one["kv_cache_bytes_per_token_bf16_unbounded_layers"]


@pytest.mark.parametrize("file", ["deepseek-v2-lite.json", "qwen3-next-80b.json", "nemotron-3-nano-30b.json"])
def test_the_command_cost_says_the_same(file: str, tmp_path: Path) -> None:
    """`sextant cost` in bfloat16 throughout equals truth; windows and float32 states are what it adds."""
    spec = tmp_path / "spec.yaml"
    assert sextant("import", str(CONFIGS / file), "-o", str(spec)).returncode == 0
    text = re.sub(r"\n    execution:.*", "", spec.read_text())  # a format that the file declares
    text = text.replace("- mixer:\n", "- mixer:\n    execution: {dtype: {state: bfloat16}}\n")
    text = text.replace("\n  mixer:\n", "\n  mixer:\n    execution: {dtype: {state: bfloat16}}\n")
    spec.write_text(text)
    found = sextant("cost", str(spec), "--seq-len", "4096", "--format", "json")
    assert found.returncode == 0, found.stderr
    data, one = json.loads(found.stdout), entry(file)
    assert data["state_bytes"] == one["state_bytes_per_sequence_bf16"]["total"]
    assert data["cache_bytes_per_token"] == one["kv_cache_bytes_per_token_bf16"]
    assert data["cache_bytes"] == 4096 * one["kv_cache_bytes_per_token_bf16"]


def test_lightning_layers_decay_as_minimax_says() -> None:
    """exp(-2^(-8h/64) (1 - i/(L-1) + 1e-5)), h = 1..64, weaker with depth i."""
    layers = found_layers("minimax-text-01.json")
    for index, mixer in enumerate(layers):
        if mixer.readout.kind == "identity":
            depth = 1 - index / (len(layers) - 1 + 1e-5) + 1e-5
            ends = [math.exp(-(2 ** (-8 * h / 64)) * depth) for h in (1, 64)]
            assert list(mixer.decay.initial) == pytest.approx(ends, rel=1e-3), index


def test_unsupported_and_not_applicable_are_told_apart() -> None:
    for file, reason, word in (
        ("deepseek-v3.2.json", "sparse_support", "unsupported"),
        ("bert-arctic-embed-m.json", "bidirectional", "not_applicable"),
        ("llama-2-7b.json", "", "ok"),
    ):
        found = sextant("import", str(CONFIGS / file), "--format", "json")
        assert found.returncode == 0, found.stderr
        assert f'"{word}"' in found.stdout
        for _, outside in candidate(file).outside():
            assert outside.outside == reason
