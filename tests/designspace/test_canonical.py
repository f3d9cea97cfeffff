"""The canonical form and the fingerprint: what is one candidate, what is another, and what has no say in it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from designspace.candidate import Candidate, single
from designspace.canonical import canonical, canonical_json, fingerprint, function, mixer_fingerprint
from designspace.mixer import MixerSpec
from designspace.specfile import loads
from tests.strategies import candidates, mixers, random_candidate

STORED = Path(__file__).parent.parent / "golden_fingerprints.json"
Fields = dict[str, Any]


def mixer(**fields: Fields) -> MixerSpec:
    """A mixer from its fields."""
    return MixerSpec.model_validate(fields)


def stack(*blocks: Fields, **fields: Any) -> Candidate:
    """A candidate from its blocks."""
    return Candidate.model_validate({"blocks": list(blocks), **fields})


def shuffled(value: Any, rng: Random) -> Any:
    """The same data with the keys of every mapping in another order."""
    if isinstance(value, dict):
        items = list(value.items())
        rng.shuffle(items)
        return {key: shuffled(item, rng) for key, item in items}
    return [shuffled(item, rng) for item in value] if isinstance(value, list | tuple) else value


@settings(max_examples=200)
@given(mixers())
def test_the_canonical_form_is_a_valid_fixpoint(spec: MixerSpec) -> None:
    form = canonical(spec)
    assert canonical(form) == form
    assert MixerSpec.model_validate(form.model_dump()) == form
    assert mixer_fingerprint(form) == mixer_fingerprint(spec)


@pytest.mark.parametrize(
    "fields",
    [
        {"features": {"gain": 1e30, "norm": "l2"}},
        {"features": {"gain": 1e30}, "scaling": {"base": 1e30}},
        {"features": {"gain": 1e-30}, "readout": {"kind": "polynomial", "coefficients": [1e30, 0.0, 1e-30]}},
        {"features": {"gain": 1e30}, "readout": {"kind": "polynomial", "coefficients": [1.0, 0.0, 0.0, 0.0, 1e30]}},
        {"scaling": {"base": 1e30, "where": "after"}, "normalization": {"kind": "learned", "factor": 1e-30}},
        {
            "readout": {"kind": "polynomial", "coefficients": [1e30, 1e-30]},
            "normalization": {"kind": "sum", "factor": 1e-30},
        },
        {
            "readout": {"kind": "polynomial", "coefficients": [1e30, 0.0, 1e-30]},
            "io": {"output_norm": "head_rms"},
        },
        {"features": {"map": "taylor2", "gain": 1e30}},
    ],
    ids=str,
)
def test_numbers_at_the_ends_have_a_valid_canonical_form(fields: Fields) -> None:
    form = canonical(mixer(**fields))
    assert canonical(form) == form
    assert MixerSpec.model_validate(form.model_dump()) == form


@settings(max_examples=50)
@given(candidates())
def test_the_canonical_stack_is_a_valid_fixpoint(spec: Candidate) -> None:
    form = canonical(spec)
    assert canonical(form) == form
    assert Candidate.model_validate(form.model_dump()) == form
    assert fingerprint(form) == fingerprint(spec)


@settings(max_examples=50)
@given(candidates())
def test_what_stands_outside_the_function_is_kept_but_not_counted(spec: Candidate) -> None:
    form = canonical(spec)
    assert (form.name, form.target, form.lint) == (spec.name, spec.target, spec.lint)
    assert fingerprint(function(spec)) == fingerprint(spec)


def test_stored_fingerprints() -> None:
    stored = json.loads(STORED.read_text())
    assert len(stored) == 20
    found = {name: fingerprint(Candidate.model_validate(entry["spec"])) for name, entry in stored.items()}
    assert found == {name: entry["fingerprint"] for name, entry in stored.items()}


@pytest.mark.parametrize(
    ("fields", "reads"),
    [
        ({"normalization": {"kind": "length", "length_kind": "target"}}, True),
        ({"readout": {"kind": "sigmoid", "offset": "-log_length"}, "normalization": {"length_kind": "target"}}, True),
        ({"normalization": {"kind": "length"}}, False),
        ({"normalization": {"length_kind": "target"}}, False),
        ({"normalization": {"kind": "length", "length_kind": "target"}, "io": {"output_norm": "head_rms"}}, False),
    ],
    ids=str,
)
def test_the_length_of_the_target_counts_where_a_mixer_reads_it(fields: Fields, reads: bool) -> None:
    short, long = (stack({"mixer": fields}, target={"seq_len": seq_len}) for seq_len in (64, 4096))
    assert (fingerprint(short) != fingerprint(long)) == reads
    again = stack({"mixer": fields}, target={"seq_len": 64, "dtype": "float16"}, name="again")
    assert fingerprint(again) == fingerprint(short)


@pytest.mark.parametrize("hash_seed", ["0", "1", "12345"])
def test_the_hash_seed_of_python_has_no_say(hash_seed: str) -> None:
    program = (
        "import json; from designspace.canonical import fingerprint; from designspace.candidate import Candidate;"
        f"stored = json.load(open({str(STORED)!r}));"
        "assert all(fingerprint(Candidate.model_validate(e['spec'])) == e['fingerprint'] for e in stored.values())"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"PYTHONHASHSEED": hash_seed})


@pytest.mark.parametrize("seed", range(20))
def test_key_order_and_syntax_have_no_say(seed: int) -> None:
    candidate = random_candidate(seed)
    data = json.loads(function(candidate).model_dump_json(by_alias=True))
    for order in range(3):
        mixed = shuffled(data, Random(order))
        assert fingerprint(loads(json.dumps(mixed), "a.json")) == fingerprint(candidate)
        assert fingerprint(loads(yaml.safe_dump(mixed, sort_keys=False), "a.yaml")) == fingerprint(candidate)


def test_one_number_has_many_spellings() -> None:
    texts = ["1", "1.0", "1e0", "1.00", "10e-1", "1.0000000000000002", "0.9999999999999999"]
    spelled = [f"mixer: {{readout: {{kind: exponential}}, scaling: {{base: {text}}}}}" for text in texts]
    assert len({fingerprint(loads(text)) for text in spelled}) == 1
    noise = mixer(scaling={"base": 0.1 + 0.2})
    assert mixer_fingerprint(noise) == mixer_fingerprint(mixer(scaling={"base": 0.3}))


def test_numbers_enter_with_twelve_significant_digits() -> None:
    base, thirteenth, eleventh = (
        mixer(readout={"kind": "exponential"}, scaling={"base": number})
        for number in (0.123456789012, 0.1234567890121, 0.12345678902)
    )
    assert mixer_fingerprint(base) == mixer_fingerprint(thirteenth)
    assert mixer_fingerprint(base) != mixer_fingerprint(eleventh)


@pytest.mark.parametrize(
    "fields",
    [
        {"execution": {"form": "recurrent", "stabiliser": "none", "dtype": {"state": "bfloat16"}}},
        {"lint": {"ignore": [{"rule": "CD101", "reason": "short"}]}},
        {"rotation": {"source": "constant", "phase_dtype": "bfloat16"}},
        {"normalization": {"kind": "sum", "eps": 1e-6, "eps_inside": True}},
        {"features": {"norm": "rms", "eps_kind": "mean"}},
    ],
)
def test_execution_makes_no_new_candidate(fields: Fields) -> None:
    plain = json.loads(json.dumps(fields))
    for name, drop in {"rotation": "phase_dtype", "normalization": "eps_inside", "features": "eps_kind"}.items():
        plain.get(name, {}).pop(drop, None)
    plain.pop("execution", None)
    plain.pop("lint", None)
    assert mixer_fingerprint(mixer(**fields)) == mixer_fingerprint(mixer(**plain))


def test_name_target_lint_and_residual_dtype_make_no_new_candidate() -> None:
    plain = stack({"repeat": 2})
    other = stack(
        {"repeat": 2, "lint": {"ignore": [{"rule": "CD101", "reason": "short"}]}},
        name="other",
        target={"seq_len": 64, "dtype": "float32"},
        model={"residual_dtype": "bfloat16"},
        lint={"ignore": [{"rule": "CD101", "reason": "short"}]},
    )
    assert fingerprint(plain) == fingerprint(other)
    assert json.loads(canonical_json(other)).keys() == {"sextant", "model", "blocks"}


HEAD_NORM = {"output_norm": "head_rms"}
SOFTMAX = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
ALIBI = {"source": "constant"}
SCALAR = {"granularity": "scalar", "source": "constant", "map": "fixed", "range": [0.9, 0.9]}
KEY = {"direction": "key"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            {**SOFTMAX, "features": {"map": "ones"}, "scaling": {"base": 3.0}},
            {**SOFTMAX, "features": {"map": "static"}},
            id="1: what every key adds alike is void under softmax",
        ),
        pytest.param(
            {"features": {"map": "taylor2"}, "scaling": {"base": 1.0}, "heads": {"state_dim": 16}},
            {
                "readout": {"kind": "polynomial", "coefficients": [1, 1, 0.5]},
                "scaling": {"base": 0.25},
                "heads": {"state_dim": 16},
            },
            id="3: Taylor features are a polynomial",
        ),
        pytest.param({"io": HEAD_NORM, "scaling": {"base": 7.0}}, {"io": HEAD_NORM}, id="4: base"),
        pytest.param({"io": HEAD_NORM, "scaling": {"learnable": True}}, {"io": HEAD_NORM}, id="4: learned base"),
        pytest.param({"io": HEAD_NORM, "normalization": {"kind": "learned"}}, {"io": HEAD_NORM}, id="4: eta"),
        pytest.param({"io": HEAD_NORM, "features": {"gain": 3.0}}, {"io": HEAD_NORM}, id="4: gain"),
        pytest.param(
            {"io": HEAD_NORM, "erase": KEY, "features": {"norm": "l2"}, "scaling": {"base": 1.0}},
            {"io": HEAD_NORM, "erase": KEY, "features": {"norm": "l2"}},
            id="4: base in the delta family",
        ),
        pytest.param(
            {"io": HEAD_NORM, "features": {"map": "elu+1"}, "normalization": {"kind": "sum"}},
            {"io": HEAD_NORM, "features": {"map": "elu+1"}},
            id="4: a row sum of positive features",
        ),
        pytest.param(
            {"heads": {"state_dim": 1}, "decay": {"granularity": "diagonal"}},
            {"heads": {"state_dim": 1}, "decay": {"granularity": "scalar"}},
            id="5: one channel",
        ),
        pytest.param(
            {"rotation": {"source": "constant"}, "features": {"norm": "rms", "norm_order": "after_rotation"}},
            {"rotation": {"source": "constant"}, "features": {"norm": "rms"}},
            id="6: a weightless norm commutes with rotation",
        ),
        pytest.param({"decay": {**SCALAR, "range": [1, 1]}}, {}, id="decay 1"),
        pytest.param({"decay": {"granularity": "diagonal", "range": [1, 1]}}, {}, id="decay range 1"),
        pytest.param({"rotation": {"source": "learned", "fraction": 0}}, {}, id="rotation fraction 0"),
        pytest.param({"erase": {**KEY, "gain": [0, 0]}}, {}, id="erase gain 0"),
        pytest.param({**SOFTMAX, "shear": {**ALIBI, "slopes": 0}}, SOFTMAX, id="slope 0"),
        pytest.param({**SOFTMAX, "shear": {**ALIBI, "slopes": [0] * 4}}, SOFTMAX, id="slopes 0"),
        pytest.param(
            {**SOFTMAX, "shear": {**ALIBI, "slopes": [-0.25, -0.0625, -(2**-6), -(2**-8)], "sign": "increasing"}},
            {**SOFTMAX, "shear": ALIBI},
            id="signs and ALiBi's slopes",
        ),
        pytest.param(
            {"readout": {"kind": "exponential", "softcap": float("inf")}}, {"readout": {"kind": "exponential"}}
        ),
        pytest.param({"readout": {"kind": "polynomial", "coefficients": [0, 1, 0, 0]}}, {}, id="trailing zeros"),
        pytest.param(
            {"readout": {"kind": "polynomial", "coefficients": [0, 2]}, "scaling": {"base": 1.0}},
            {"scaling": {"base": 2.0}},
            id="polynomial (0, c)",
        ),
        pytest.param({"scaling": {"base": 0.125}, "heads": {"state_dim": 64}}, {}, id="n^-1/2 as a number"),
        pytest.param({"heads": {"kv_groups": 4, "shared": "qk"}}, {}, id="as many groups as heads"),
        pytest.param({"support": {"chunk": 1}}, {"support": {"window": 1}}, id="a window of one key"),
        pytest.param(
            {**SOFTMAX, "scaling": {"where": "q"}}, {**SOFTMAX, "scaling": {"where": "k"}}, id="place of the base"
        ),
        pytest.param(
            {"decay": {"granularity": "scalar", "map": "sigmoid_floor"}},
            {"decay": {"granularity": "scalar", "map": "sigmoid"}},
            id="two names of one map",
        ),
    ],
)
def test_one_function_has_one_fingerprint(first: Fields, second: Fields) -> None:
    assert canonical_json(mixer(**first)) == canonical_json(mixer(**second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"scaling": {"base": 7.0}}, {}, id="4 without a norm"),
        pytest.param(
            {"io": HEAD_NORM, "scaling": {"base": 7.0}, "support": {"diagonal": "D"}},
            {"io": HEAD_NORM, "support": {"diagonal": "D"}},
            id="4 with a D skip",
        ),
        pytest.param(
            {"io": HEAD_NORM, "normalization": {"kind": "learned"}, "support": {"diagonal": "bonus"}},
            {"io": HEAD_NORM, "support": {"diagonal": "bonus"}},
            id="4 with a bonus outside eta",
        ),
        pytest.param(
            {"io": HEAD_NORM, "normalization": {"kind": "sum"}}, {"io": HEAD_NORM}, id="4: eta can be negative"
        ),
        pytest.param(
            {"io": {"output_norm": "full_rms"}, "scaling": {"base": 7.0}},
            {"io": {"output_norm": "full_rms"}},
            id="4 with a norm over several heads",
        ),
        pytest.param(
            {"io": {**HEAD_NORM, "gate": "silu", "order": "gate_then_norm"}, "scaling": {"base": 7.0}},
            {"io": {**HEAD_NORM, "gate": "silu", "order": "gate_then_norm"}},
            id="4 behind a gate",
        ),
        pytest.param(
            {"io": HEAD_NORM, "erase": KEY, "features": {"norm": "l2", "gain": 0.5}},
            {"io": HEAD_NORM, "erase": KEY, "features": {"norm": "l2"}},
            id="4: the length of k where A holds it",
        ),
        pytest.param(
            {"rotation": {"source": "constant"}, "features": {"norm": "rms_weighted", "norm_order": "after_rotation"}},
            {"rotation": {"source": "constant"}, "features": {"norm": "rms_weighted"}},
            id="6 with a gain per channel",
        ),
        pytest.param({"decay": SCALAR}, {}, id="2 is a fact, not a rewriting"),
        pytest.param(
            {"decay": {"granularity": "diagonal"}}, {"decay": {"granularity": "scalar"}}, id="5 with channels"
        ),
        pytest.param({**SOFTMAX, "scaling": {"base": 1.0}}, SOFTMAX, id="scale under softmax"),
        pytest.param(
            {"readout": {"kind": "exponential", "softcap": 50}}, {"readout": {"kind": "exponential"}}, id="softcap"
        ),
        pytest.param(
            {"decay": {**SCALAR, "range": [1, 1]}, "scaling": {"gate": "complement"}},
            {},
            id="decay 1 that a gate is computed from",
        ),
        pytest.param({"support": {"window": 2048}}, {}, id="a window that a target might not reach"),
        pytest.param(
            {"decay": {"granularity": "scalar", "initial": [0.9, 0.99]}},
            {"decay": {"granularity": "scalar", "initial": [0.5, 0.99]}},
            id="where training starts",
        ),
    ],
)
def test_two_functions_have_two_fingerprints(first: Fields, second: Fields) -> None:
    assert mixer_fingerprint(mixer(**first)) != mixer_fingerprint(mixer(**second))


A: Fields = {"mixer": {"decay": {"granularity": "scalar"}}}
B: Fields = {"mixer": {"rotation": {"source": "constant"}}}
NOTHING: Fields = {"mixer": None, "channel_mixer": {"kind": "none"}}


def branches(*inner: Fields, merge: str) -> Fields:
    """A block of parallel mixers."""
    return {"mixer": {"parallel": [one["mixer"] for one in inner], "merge": merge}}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(stack(A, A, B), stack({**A, "repeat": 2}, B), id="repeat"),
        pytest.param(stack({**A, "repeat": 2}, A), stack({**A, "repeat": 3}), id="repeats add up"),
        pytest.param(stack(A, NOTHING, A), stack({**A, "repeat": 2}), id="a block that does nothing"),
        pytest.param(
            stack(branches(A, B, merge="sum")), stack(branches(B, A, merge="sum")), id="branches that are summed"
        ),
        pytest.param(
            stack(branches(A, B, merge="mean")), stack(branches(B, A, merge="mean")), id="branches that are averaged"
        ),
        pytest.param(
            stack({"mixer": None, "skip": {"lambda": 0.5}}), stack({"mixer": None}), id="the skip around no mixer"
        ),
        pytest.param(
            stack({**A, "channel_mixer": {"kind": "none", "ratio": 4}}),
            stack({**A, "channel_mixer": {"kind": "none"}}),
            id="the width of no channel mixer",
        ),
    ],
)
def test_one_stack_has_one_fingerprint(first: Candidate, second: Candidate) -> None:
    assert canonical_json(first) == canonical_json(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(stack(A, B), stack(B, A), id="order of blocks"),
        pytest.param(stack(A, B, A), stack(A, A, B), id="only neighbours are merged"),
        pytest.param(stack(branches(A, B, merge="concat")), stack(branches(B, A, merge="concat")), id="concat"),
        pytest.param(stack(branches(A, B, merge="sum")), stack(branches(A, B, merge="mean")), id="merge"),
        pytest.param(stack({**A, "skip": {"lambda": 0.5}}), stack(A), id="lambda"),
        pytest.param(stack(A, model={"model_dim": 128}), stack(A), id="width"),
        pytest.param(stack(A, model={"positions": "learned"}), stack(A), id="positions"),
    ],
)
def test_two_stacks_have_two_fingerprints(first: Candidate, second: Candidate) -> None:
    assert fingerprint(first) != fingerprint(second)


def test_merging_blocks_keeps_suppressions_and_execution() -> None:
    suppressed = {**A, "lint": {"ignore": [{"rule": "CD101", "reason": "short"}]}}
    assert len(canonical(stack(A, suppressed)).blocks) == 2
    assert fingerprint(stack(A, suppressed)) == fingerprint(stack({**A, "repeat": 2}))


def test_a_fingerprint_is_twelve_hexadecimal_digits() -> None:
    name = fingerprint(single(MixerSpec()))
    assert len(name) == 12
    assert int(name, 16) >= 0
