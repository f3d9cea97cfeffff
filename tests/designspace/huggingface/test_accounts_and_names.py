"""What an import says of its sources and approximations, duplicates that a model class resolves, and names of types.

Expected values: configuration and modeling files of transformers 5.24, named at each test.
"""

import json
from typing import Any

import pytest

from checkers.check import check
from checkers.finding import Finding
from designspace.candidate import Approximation, Candidate
from designspace.canonical import canonical_json, fingerprint
from designspace.document import parse
from designspace.errors import SpecError
from designspace.huggingface import Imported, import_config
from designspace.mixer import MixerSpec
from designspace.outside import Outside
from designspace.specfile import Loaded, dump, load_config, load_document

SLIDING, FULL = "sliding_attention", "full_attention"
NEMOTRON = {"model_type": "nemotron_h", "hybrid_override_pattern": "M*M-", "time_step_min": 0.002}


def imported(**keys: Any) -> Imported:
    return import_config(parse(json.dumps(keys), "config.json", special_numbers=True))


def mixers(**keys: Any) -> list[MixerSpec]:
    blocks = imported(**keys).candidate.blocks
    return [mixer for block in blocks for _ in range(block.repeat) for mixer in block.mixers]


def of_keys(loaded: Loaded) -> list[Finding]:
    report = check(loaded.candidate, document=loaded.document, unread=loaded.unread)
    return [finding for finding in report.findings if finding.code == "CD905"]


# --- approximations travel with the spec ----------------------------------------------------------------------------


def test_a_written_spec_says_what_its_import_left_out() -> None:
    text = json.dumps(NEMOTRON, indent=1)
    config = load_config(parse(text, "config.json"))
    written = dump(config.candidate)
    spec = load_document(parse(written, "spec.yaml"))
    assert config.candidate.approximated[0].key == "time_step_min"
    assert "0.002" in config.candidate.approximated[0].reason
    ((there,), (here,)) = (of_keys(config), of_keys(spec))
    assert (there.path, there.severity, there.message) == (here.path, here.severity, here.message)
    assert there.path == "approximated[0]"
    assert there.span is not None
    assert here.span is not None
    assert '"time_step_min"' in text.splitlines()[there.span.line - 1]
    assert "time_step_min" in written.splitlines()[here.span.line - 1]


def test_approximations_are_no_function() -> None:
    candidate = imported(**NEMOTRON).candidate
    exact = candidate.model_copy(update={"approximated": ()})
    assert candidate != exact
    assert fingerprint(candidate) == fingerprint(exact)
    assert "approximated" not in json.loads(canonical_json(candidate))


def test_a_candidate_without_approximations_passes() -> None:
    candidate = imported(model_type="llama").candidate
    assert candidate.approximated == ()
    noted = candidate.model_copy(update={"approximated": (Approximation(key="clip_qkv", reason="no clamp"),)})
    assert [_answer(one) for one in (candidate, noted)] == ["pass", "unknown"]


def _answer(candidate: Candidate) -> str:
    return next(verdict.verdict for verdict in check(candidate).verdicts if verdict.code == "CD905")


# --- keys that the model code reads ---------------------------------------------------------------------------------


def test_minimax_softmax_layers_have_the_window() -> None:
    """modeling_minimax, MiniMaxAttention.forward and create_sliding_window_causal_mask."""
    full, lightning = mixers(model_type="minimax", num_hidden_layers=2, sliding_window=64)
    assert (full.support.window, lightning.support.window) == (64, None)
    assert mixers(model_type="minimax", num_hidden_layers=2)[0].support.window is None


def test_widths_of_mamba_that_contradict() -> None:
    keys = {"hidden_size": 2560, "intermediate_size": 5120}
    assert mixers(model_type="mamba", expand=2, **keys)[0].heads.num_heads == 5120
    assert mixers(model_type="mamba", **keys | {"intermediate_size": 7680})[0].heads.num_heads == 7680
    with pytest.raises(SpecError, match=r"10240, `intermediate_size` says 5120"):
        imported(model_type="mamba", expand=4, **keys)


def test_the_published_falcon_mamba_contradicts_itself() -> None:
    """tiiuae/falcon-mamba-7b: expand 16, intermediate_size 8192, hidden size 4096; its weights are 8192 wide."""
    found = imported(model_type="falcon_mamba", hidden_size=4096, expand=16, intermediate_size=8192)
    assert next(found.candidate.mixers()).mixer.heads.num_heads == 8192
    assert "overruled" in found.derived["expand"]


# --- where values come from -----------------------------------------------------------------------------------------


def test_the_number_format_of_a_silent_file_is_our_choice() -> None:
    assert "our own choice" in imported(model_type="llama").defaulted["dtype"]
    assert "dtype" not in imported(model_type="llama", torch_dtype="float16").defaulted


@pytest.mark.parametrize(
    ("model_type", "key", "value"),
    [
        ("gpt2", "head_dim", "64"),
        ("gpt2", "n_inner", "3072"),
        ("bloom", "n_inner", "256"),
        ("deepseek_v3", "qk_head_dim", "192"),
        ("mamba", "max_position_embeddings", "2048"),
        ("llama", "num_key_value_heads", "32"),
    ],
)
def test_what_follows_from_other_keys_is_no_default(model_type: str, key: str, value: str) -> None:
    found = imported(model_type=model_type)
    assert found.derived[key].endswith(f"= {value}")
    assert key not in found.defaulted


def test_gpt_oss_lists_one_kind_of_angles() -> None:
    found = imported(model_type="gpt_oss", rope_scaling=None)
    listed = {**found.read, **found.defaulted, **found.derived}
    assert [key for key in listed if "rope_type" in key] == []
    assert "YaRN" in found.derived["rope_parameters"]


@pytest.mark.parametrize("model_type", ["exaone4", "lara_mini", "cohere2"])
def test_layers_without_positions_have_no_base(model_type: str) -> None:
    unrotated = [mixer for mixer in mixers(model_type=model_type, rope_theta=5e6) if mixer.rotation.source == "none"]
    assert unrotated
    assert all("theta" not in mixer.rotation.model_dump(exclude_defaults=True) for mixer in unrotated)


# --- names ----------------------------------------------------------------------------------------------------------


def test_a_file_without_a_model_type_is_told_what_its_architecture_is() -> None:
    with pytest.raises(SpecError, match=r"LlamaForCausalLM, which is `model_type: llama`"):
        imported(architectures=["LlamaForCausalLM"], hidden_size=64)
    with pytest.raises(SpecError, match=r"which is `model_type: qwen3_moe`"):
        imported(model_type="mine", architectures=["Qwen3MoeForCausalLM"])
    with pytest.raises(SpecError, match="nearest: llama"):
        imported(model_type="lama", architectures=[3])


@pytest.mark.parametrize("outer", ["qwen4_exp", "glm5_next", "emu3", "minimax_m3_vl"])
def test_a_text_part_without_a_type_has_that_of_its_wrapper(outer: str) -> None:
    own = "emu3_text_model" if outer == "emu3" else f"{outer}_text"
    inner = {"num_hidden_layers": 4, "hidden_size": 1024}
    wrapped = imported(model_type=outer, text_config=inner, vision_config={"hidden_size": 7})
    assert wrapped.candidate.blocks == imported(model_type=own, **inner).candidate.blocks
    assert wrapped.model_type == own


def test_trocr_is_a_causal_decoder() -> None:
    found = imported(model_type="trocr", decoder_layers=2, is_decoder=True)
    assert found.verdict == "ok"
    assert (found.candidate.num_layers, found.candidate.model.positions) == (2, "learned")
    assert "cross-attention" in found.approximated["is_decoder"]
    sinusoidal = imported(model_type="trocr", use_learned_position_embeddings=False).candidate.model.positions
    assert sinusoidal == "sinusoidal"


def test_fuyu_is_persimmon_flat_or_nested() -> None:
    keys = {"hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "rope_theta": 25000.0}
    flat = imported(model_type="fuyu", patch_size=30, text_model_type="persimmon", **keys)
    nested = imported(model_type="fuyu", text_config={"model_type": "persimmon", **keys})
    assert flat.candidate.blocks == nested.candidate.blocks
    assert flat.candidate.blocks == imported(model_type="persimmon", **keys).candidate.blocks


def test_beam_rotates_under_a_window_and_gates_its_output() -> None:
    found = mixers(model_type="beam", num_hidden_layers=8)
    assert [mixer.support.window for mixer in found] == [512] * 5 + [None, 512, None]
    assert [mixer.rotation.source for mixer in found] == ["constant"] * 5 + ["none", "constant", "none"]
    assert {(mixer.io.gate, mixer.features.norm) for mixer in found} == {("sigmoid", "rms_weighted")}
    parameters = {SLIDING: {"rope_theta": 3e4}, FULL: {"rope_theta": 7e4}}
    rotated = imported(model_type="beam", num_hidden_layers=8, rope_parameters=parameters)
    assert {one.mixer.rotation.theta for one in rotated.candidate.mixers()} == {3e4, 7e4}
    assert rotated.approximated == {}
    assert "2048" in imported(model_type="beam").approximated["rope_parameters"]


def test_hy_v4_keeps_its_dense_part() -> None:
    found = imported(model_type="hy_v4", num_hidden_layers=3, index_topk=512)
    outside = found.candidate.blocks[0].mixer
    assert found.verdict == "unsupported"
    assert isinstance(outside, Outside)
    assert outside.nearest is not None
    assert "512" in outside.reason
    heads, rotation = outside.nearest.heads, outside.nearest.rotation
    assert (heads.state_dim, heads.head_dim, heads.latent_dim, heads.shared_key_dim) == (256, 256, 512, 64)
    assert (rotation.pairing, rotation.fraction) == ("half", 0.25)
    assert (outside.nearest.normalization.kind, outside.nearest.io.gate) == ("sum_with_sink", "sigmoid")


@pytest.mark.parametrize(("name", "same"), [("MiniMaxText01", "minimax_text_01"), ("deepseek_ref", "deepseek_v4")])
def test_other_names_of_published_files(name: str, same: str) -> None:
    assert imported(model_type=name).candidate.blocks == imported(model_type=same).candidate.blocks
