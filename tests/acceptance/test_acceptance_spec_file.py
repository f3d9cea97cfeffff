"""The spec file: the normative example, accepted values, refused combinations."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from given import Spec, candidate

from checkers import check
from designspace.canonical import fingerprint
from designspace.document import parse
from designspace.errors import SpecError
from designspace.specfile import load, load_document, loads

NORMATIVE = """
sextant: 1
name: my-mixer
target: {seq_len: 2048, dtype: bfloat16, needs: [recall], recall_pairs: 64, linear_time: false,
  provenance: new, task: sequence, parametrisation: standard}
model: {model_dim: 256, vocab_size: 512, positions: none, residual_dtype: float32}
blocks:
  - repeat: 4
    mixer:
      readout: {kind: exponential, softcap: null}
      decay: {granularity: scalar, source: input, map: exp_softplus, range: [0.0, 1.0], initial: [0.9, 0.999]}
      rotation: {source: constant, theta: 10000.0, fraction: 1.0, pairing: half, phase_dtype: float32}
      erase: {direction: none, rank: 1, gain: [0.0, 1.0], per_channel: false, compose: product}
      shear: {source: none, slopes: null, scaled: false, sign: decreasing}
      lift: {kind: none, width: null}
      scaling: {base: n^-1/2, learnable: false, where: score, gate: none, query_schedule: none, initial: null}
      normalization: {kind: sum, eps: 0.0, eps_inside: null, factor: 1.0, length_kind: visible}
      features: {map: identity, map_over: features, norm: none, gain: 1.0, gain_shared: true,
        norm_order: before_rotation, eps: 1.0e-6, eps_kind: sum, q_std: 1.0, k_std: 1.0}
      support: {mask: causal, window: null, chunk: null, read: after, diagonal: none}
      heads: {layout: multi, num_heads: 4, state_dim: 64, head_dim: 64, kv_groups: 4}
      io: {short_conv: {width: 0, on: []}, value_activation: none, value_gate: none, output_norm: none,
        norm_eps: 1.0e-5, gate: none, order: norm_then_gate}
      execution: {form: auto, stabiliser: row_max, dtype: {params: float32, state: float32, scores: float32}}
    skip: {lambda: 1.0}
    norm: {kind: rms, placement: pre}
    channel_mixer: {kind: swiglu, ratio: 2.667}
lint: {ignore: [{rule: CD101, reason: "short contexts only"}]}
"""


def test_the_normative_example_loads_as_written(tmp_path: Path) -> None:
    one = loads(NORMATIVE)
    mixer = one.blocks[0].mixers[0]
    assert (one.name, one.num_layers, mixer.readout.kind, mixer.rotation.theta) == (
        "my-mixer",
        4,
        "exponential",
        10000.0,
    )
    (tmp_path / "n.yaml").write_text(NORMATIVE)
    assert load(tmp_path / "n.yaml") == one
    as_json = tmp_path / "n.json"
    as_json.write_text(json.dumps(parse(NORMATIVE, "n.yaml").data))
    assert fingerprint(load(as_json)) == fingerprint(one)
    report = check(one)
    assert [f.suppressed for f in report.findings if f.code == "CD101"] == ["short contexts only"]


def every_key(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*path, key)
            yield from every_key(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from every_key(value, (*path, index))


def test_every_key_of_the_normative_example_has_a_default_and_a_span() -> None:
    """All have defaults except `blocks` (or `mixer`): each alone may be left out, and each has its line."""
    data = parse(NORMATIVE, "n.yaml").data
    needed = {
        ("blocks",),
        ("lint", "ignore", 0, "rule"),
        ("lint", "ignore", 0, "reason"),
        ("blocks", 0, "mixer", "readout", "kind"),
    }
    for path in every_key(data):
        copy = json.loads(json.dumps(data))
        record = copy
        for key in path[:-1]:
            record = record[key]
        del record[path[-1]]
        if path not in needed:
            candidate(copy)
    document = parse(NORMATIVE, "n.yaml")
    load_document(document)
    span = document.span("blocks[0].mixer.normalization.eps")
    line = next(i for i, text in enumerate(NORMATIVE.splitlines(), 1) if "normalization:" in text)
    assert span.line == line
    assert span.file == "n.yaml"


ALTERNATIVES: list[Spec] = [  # the values that the comments of the example and the grammar table name
    {"target": {"needs": ["recall", "copying", "state_tracking", "long_memory", "compression"]}},
    {"target": {"provenance": "checkpoint"}},
    {"target": {"task": "set"}},
    {"target": {"parametrisation": "mup"}},
    {"model": {"positions": "learned"}},
    {"model": {"positions": "sinusoidal"}},
    {"mixer": {"use": "gated_deltanet", "heads": {"num_heads": 8}}},
    {"mixer": {"readout": {"kind": "polynomial", "coefficients": [1, 1, 0.5]}}},
    {"mixer": {"readout": {"kind": "sigmoid", "offset": "-log_length"}}},
    {"mixer": {"readout": {"kind": "sigmoid", "offset": -2.5}}},
    {"mixer": {"readout": {"kind": "relu", "power": 2}}},
    {"mixer": {"readout": {"kind": "softplus"}}},
    *[{"mixer": {"scaling": {"where": where}}} for where in ("q", "k", "score", "after")],
    {"mixer": {"lint": {"ignore": [{"rule": "CD601", "reason": "r"}]}}},
    {"blocks": [{"lint": {"ignore": [{"rule": "CD601", "reason": "r"}]}, "mixer": {}}]},
    *[
        {"blocks": [{"mixer": {"parallel": [{"use": "gla"}, {"use": "softmax_rope"}], "merge": merge}}]}
        for merge in ("sum", "mean", "concat")
    ],
    {"mixer": {"features": {"map": "dpfp", "width": 2}}},
    {"mixer": {"erase": {"direction": "free", "rank": 4}}},
    {"mixer": {"lift": {"kind": "shift", "width": 64}}},
    {"mixer": {"shear": {"source": "table", "width": 16}, "readout": {"kind": "exponential"}}},
    {"mixer": {"scaling": {"query_schedule": "log"}}},
    {"mixer": {"scaling": {"base": 0.25, "learnable": True}}},
]


@pytest.mark.parametrize("spec", ALTERNATIVES, ids=[json.dumps(one)[:60] for one in ALTERNATIVES])
def test_values_that_the_contract_names_are_accepted(spec: Spec) -> None:
    if "blocks" not in spec and "mixer" not in spec:
        spec = {**spec, "mixer": {}}
    check(candidate(spec))


def test_a_file_that_holds_only_mixer_is_one_layer_and_an_unused_suppression_is_a_finding() -> None:
    assert candidate({"mixer": {}}).num_layers == 1
    one = candidate({"mixer": {"use": "gla"}, "lint": {"ignore": [{"rule": "CD101", "reason": "r"}]}})
    assert any(f.code.startswith("CD9") and "CD101" in f.message for f in check(one).findings)


INVALID: list[Spec] = [  # the validity rules of theory.md, section 1
    {"shear": {"source": "constant"}},  # shear needs a nonlinear phi
    {"readout": {"kind": "exponential"}, "features": {"map": "taylor2"}},
    {"readout": {"kind": "exponential"}, "features": {"map": "rff", "width": 8}},
    {"features": {"map": "static"}, "decay": {"granularity": "scalar", "source": "input"}},
    {"lift": {"kind": "shift", "width": 4}, "decay": {"granularity": "scalar", "source": "input"}},
    {"erase": {"direction": "none", "rank": 2}},
    {"erase": {"direction": "key", "rank": 2, "per_channel": True}},
    {"scaling": {"gate": "tied_to_erase"}},
    {"scaling": {"gate": "complement"}},
    {"scaling": {"gate": "sqrt_1_minus_a2"}},
    {"support": {"read": "before"}},
    {"heads": {"num_heads": 4, "kv_groups": 3}},
    {"readout": {"kind": "polynomial", "coefficients": [0, 0, 0, 0, 0, 1]}},
]


@pytest.mark.parametrize("spec", INVALID, ids=json.dumps)
def test_invalid_tuples_are_refused(spec: Spec) -> None:
    with pytest.raises(SpecError):
        candidate({"mixer": spec})


@pytest.mark.parametrize(
    "spec",
    [
        {"normalization": {"kind": "sum"}},
        {"scaling": {"gate": "exp"}},
        {"erase": {"direction": "key"}},
    ],
    ids=json.dumps,
)
def test_valid_but_findings(spec: Spec) -> None:
    assert check(candidate({"mixer": spec})).summary.errors + check(candidate({"mixer": spec})).summary.warnings > 0
