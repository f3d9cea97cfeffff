"""Compositions, latent keys, scaled angles and steps: costs, canonical forms, bounds and messages of random specs."""

from random import Random
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from checkers import check
from designspace.candidate import Candidate
from designspace.canonical import REWRITINGS, canonical, fingerprint
from designspace.composition import Parallel, positions
from designspace.cost import cost
from designspace.errors import SpecError
from designspace.features import Features
from designspace.mixer import MixerSpec
from designspace.specfile import dump, loads
from tests.strategies import random_mixer
from workers.coefficients import coefficients
from workers.model import build
from workers.protocol import TINY
from workers.realise import random_signals

COMPOSITIONS = 40
TWO = "blocks:\n- mixer:\n    parallel:\n    - {use: softmax_rope}\n    - {use: softmax_rope}\n"


def beside(rng: Random, first: MixerSpec) -> MixerSpec:
    """A random mixer of the sizes of `first`, so that the two can share values."""
    while True:
        data = random_mixer(rng).model_dump(mode="json", by_alias=True)
        data["heads"] = first.heads.model_dump(mode="json")
        data["erase"]["rank"] = first.erase.rank
        try:
            return MixerSpec.model_validate(data)
        except ValidationError:
            continue


def composition(seed: int) -> Candidate:
    """A layer of two or three mixers with weights, and either shared values or orders of reading."""
    rng = Random(seed)
    count, shared = rng.choice((2, 3)), rng.random() < 0.5
    first = random_mixer(rng)
    while first.heads.latent_dim is not None:
        first = random_mixer(rng)
    mixers = [first, *(beside(rng, first) if shared else random_mixer(rng) for _ in range(count - 1))]
    fields: dict[str, Any] = {"parallel": mixers, "shared_values": shared}
    if rng.random() < 0.7:
        fields |= {"weights": [rng.choice((1.0, -0.5, 2.0)) for _ in mixers], "learnable_weights": rng.random() < 0.5}
    if not shared:
        fields |= {"orders": [rng.choice(("columns", "backward")) for _ in mixers[1:]] + ["columns"], "row_length": 3}
    return Candidate.model_validate(
        {"model": {"model_dim": 8, "vocab_size": 11}, "target": {"seq_len": 7}, "blocks": [{"mixer": fields}]}
    )


def mixer(**fields: Any) -> MixerSpec:
    return MixerSpec.model_validate(fields)


def candidate(one: Any) -> Candidate:
    return Candidate.model_validate({"model": {"model_dim": 8, "vocab_size": 11}, "blocks": [{"mixer": one}]})


@pytest.mark.parametrize("seed", range(COMPOSITIONS))
def test_parameters_of_compositions_are_those_of_the_built_model(seed: int) -> None:
    torch.set_num_threads(1)
    spec = composition(seed)
    assert cost(spec).parameters.total == sum(one.numel() for one in build(spec, seed=0).parameters())


@pytest.mark.parametrize("seed", range(COMPOSITIONS))
def test_compositions_have_a_canonical_form_a_file_and_a_report(seed: int) -> None:
    spec = composition(seed)
    form = canonical(spec)
    assert canonical(form) == form
    assert fingerprint(form) == fingerprint(spec) == fingerprint(loads(dump(spec)))
    assert Candidate.model_validate(form.model_dump(by_alias=True)) == form
    assert all("nan" not in one.message and "None" not in one.message for one in check(spec).findings)


@pytest.mark.parametrize(
    "fields",
    [
        {"support": {"window": 1}},
        {"heads": {"state_dim": 1}},
        {"decay": {"range": (0.5, 0.5)}},
        {"decay": {"range": (1.0, 1.0)}},
    ],
    ids=str,
)
def test_a_step_on_the_keys_keeps_the_decay_it_is_made_of(fields: dict[str, Any]) -> None:
    decay = {"granularity": "diagonal", "map": "exp_softplus_tau"} | fields.pop("decay", {})
    before = mixer(**fields, decay=decay, scaling={"gate": "step_power"})
    assert canonical(before).decay.map == "exp_softplus_tau"
    assert MixerSpec.model_validate(canonical(before).model_dump()) == canonical(before)


def test_the_attention_factor_stays_where_no_rotation_is_read() -> None:
    turned = {"source": "constant", "fraction": 0.5, "attention_factor": 2.0}
    before = mixer(rotation=turned, support={"window": 1}, heads={"state_dim": 8, "head_dim": 4})
    alphas = [coefficients(one, random_signals(one, seed=1, batch=1, seq_len=4)) for one in (before, canonical(before))]
    torch.testing.assert_close(alphas[0], alphas[1])


@pytest.mark.parametrize(
    "fields",
    [
        {"rotation": {"source": "learned", "initial": (0.1, 1.0)}, "support": {"window": 1}},
        {"rotation": {"source": "constant", "scaling": {"kind": "linear", "factor": 2.0}}, "support": {"window": 1}},
        {
            "decay": {
                "granularity": "scalar",
                "source": "constant",
                "map": "fixed",
                "spacing": "rate",
                "range": (0.5, 0.5),
            }
        },
    ],
    ids=["initial", "scaling", "spacing"],
)
def test_every_single_rewriting_leaves_a_valid_spec(fields: dict[str, Any]) -> None:
    before = mixer(**fields)
    for rewriting in REWRITINGS:
        after = rewriting(before)
        assert MixerSpec.model_validate(after.model_dump()) == after


def test_a_head_norm_of_added_coefficients_does_not_make_the_scale_of_one_void() -> None:
    """The norm divides alpha_1 + alpha_2, so a base of one of them is a weight between the two."""
    names = []
    for base in (1.0, 4.0):
        normed = {"io": {"output_norm": "head_rms"}}
        both = (mixer(**normed), mixer(**normed, rotation={"source": "constant"}, scaling={"base": base}))
        names.append(fingerprint(candidate(Parallel(parallel=both, shared_values=True))))
    assert names[0] != names[1]


def test_what_a_branch_says_about_values_it_does_not_have_is_no_function() -> None:
    plain, noisy = mixer(), mixer(io={"value_activation": "silu", "short_conv": {"width": 3, "on": ["v"]}})
    first = mixer(rotation={"source": "constant"})
    specs = [candidate(Parallel(parallel=(first, one), shared_values=True)) for one in (plain, noisy)]
    assert fingerprint(specs[0]) == fingerprint(specs[1])
    models = [build(spec, seed=0) for spec in specs]
    tokens = torch.arange(6)[None]
    assert torch.equal(models[0](tokens), models[1](tokens))


def test_rules_read_the_output_stage_that_a_branch_uses() -> None:
    """Only the first branch declares the norm that divides the sum of both."""
    normed, bare = mixer(io={"output_norm": "head_rms"}), mixer()
    for shared, expected in ((True, "pass"), (False, "fail")):
        report = check(candidate(Parallel(parallel=(normed, bare), shared_values=shared)))
        assert next(one.verdict for one in report.verdicts if one.code == "CD601") == expected


@pytest.mark.parametrize(
    ("fields", "key", "product"),
    [
        ({"features": {"norm": "l2"}}, 1.0, 1.0),
        ({"features": {"norm": "l2", "norm_on": "k"}}, 1.0, None),
        ({"features": {"norm": "rms", "norm_over": "all_heads"}}, 64.0 * 4, 64.0 * 4),
        ({"features": {"norm": "l2"}, "rotation": {"source": "constant", "attention_factor": 2.0}}, 4.0, 4.0),
        ({"features": {"norm": "l2"}, "rotation": {"source": "constant", "attention_factor": 0.5}}, 0.25, 0.25),
        (
            {
                "features": {"norm": "l2"},
                "decay": {"granularity": "diagonal", "map": "exp_softplus_tau"},
                "scaling": {"gate": "step_power"},
            },
            None,
            1.0,
        ),
    ],
)
def test_bounds_of_keys_and_products(fields: dict[str, Any], key: float | None, product: float | None) -> None:
    spec = mixer(**fields)
    assert (spec.key_norm_bound, spec.product_bound) == (key, product)
    signals = random_signals(spec, seed=0, batch=2, seq_len=16)
    if key is not None:
        assert float(signals.k.square().sum(-1).max()) <= key * (1 + 1e-9)
    if product is not None and key is not None:
        assert float((signals.q[:, :, None] * signals.k[:, None]).sum(-1).abs().max()) <= product * (1 + 1e-9)


@pytest.mark.parametrize(
    ("lines", "line", "says"),
    [
        ("    weights: [1.0]\n", 6, "`weights` needs one item per branch: 2, got 1."),
        ("    weights: [1.0, 1e31]\n", 6, "`weights[1]` must be a number from -1e+30 to 1e+30"),
        ("    weight: [1.0, 1.0]\n", 6, "unknown key `weight`; did you mean `weights`?"),
        ("    orders: [forward, sideways]\n", 6, "`orders[1]` must be 'forward', 'backward'"),
        ("    merge: sum\n    row_length: 0\n", 7, "`row_length` must be greater than or equal to 1"),
        ("    orders: [forward, columns]\n    row_length: 1\n", 7, "a single column, read forward"),
        ("    shared_values: true\n    merge: concat\n", 6, "use `merge: sum`"),
    ],
)
def test_messages_about_compositions_name_the_key_and_the_line(lines: str, line: int, says: str) -> None:
    with pytest.raises(SpecError) as caught:
        loads(TWO + lines, "two.yaml")
    assert str(caught.value).startswith(f"two.yaml:{line}: ")
    assert says in str(caught.value)


def test_messages_about_mixers_outside_name_the_key_and_the_line() -> None:
    text = "blocks:\n- mixer:\n    outside: sparse_support\n    reason: ''\n"
    with pytest.raises(SpecError, match=r"top\.yaml:4: `reason` must be text of at least 1 character"):
        loads(text, "top.yaml")


def test_rows_longer_than_the_sequence_are_read_at_once() -> None:
    assert positions("columns", 4, 2**31 - 1) == [0, 1, 2, 3]


def test_a_convolution_takes_the_latent_vector_for_keys_and_values() -> None:
    heads = {"num_heads": 2, "state_dim": 4, "head_dim": 3, "latent_dim": 5, "shared_key_dim": 2}
    spec = candidate(mixer(heads=heads, io={"short_conv": {"width": 4, "on": ["q", "k", "v"]}}))
    plain = candidate(mixer(heads=heads))
    assert cost(spec).parameters.total - cost(plain).parameters.total == 4 * (2 * 4 + 5 + 2)
    assert cost(spec).parameters.total == sum(one.numel() for one in build(spec, seed=0).parameters())
    with pytest.raises(ValidationError, match="convolve both or neither"):
        mixer(heads=heads, io={"short_conv": {"width": 4, "on": ["k"]}})


def test_a_protocol_keeps_one_rotating_pair() -> None:
    few = candidate(mixer(rotation={"source": "constant", "fraction": 0.05}))
    resized = TINY.adapt(few, vocab_size=16, seq_len=32).blocks[0].mixers[0]
    assert resized.rotation.pairs(resized.key_dim) == 1


def test_static_branches_need_no_projection_of_their_own() -> None:
    static = mixer(features=Features(map="static").model_dump())
    spec = candidate(Parallel(parallel=(mixer(), static), shared_values=True))
    model = build(spec, seed=0)
    model(torch.arange(6)[None]).square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
