"""Every entry of the catalogue against an independent formula (tests/references/formulas), and the table of them."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from designspace import catalogue
from designspace.composition import Parallel
from designspace.decay import schedule
from designspace.mixer import MixerSpec
from designspace.streams import projections
from tests.references import table
from tests.references.draws import draw
from tests.references.harness import (
    SEQ_LEN,
    TOLERANCE,
    Inputs,
    error,
    formula_error,
    formulas,
    inputs,
    ours,
    reference,
    small,
)
from tests.references.latent import absorbed
from tests.references.parts import for_heads, rotary
from workers.initial import initial_parameters
from workers.mixer import LatentMap

NAMES = catalogue.names()
VISIBLE = 1e-6  # change of the output when one input changes
VOID = {name: ["gate_bias"] for name in ("rwkv4", "slstm_R0")}  # exp(bias) is a factor of a row and of its sum
DRAWN_FIRST = ("q_static", "k_static", "taps")  # random from the start


def test_every_entry_has_a_formula_and_every_formula_an_entry() -> None:
    assert formulas() == NAMES


@pytest.mark.parametrize("seq_len", table.LENGTHS)
@pytest.mark.parametrize("name", NAMES)
def test_the_definition_equals_the_formula_of_the_paper(name: str, seq_len: int) -> None:
    found = reference(name)
    assert max(formula_error(found, seed=seed, seq_len=seq_len) for seed in table.SEEDS) <= found.tolerance


def test_every_golden_file_belongs_to_an_entry() -> None:
    assert set(table.golden_files()) <= set(NAMES)


def test_the_table_lists_the_entries_as_they_are() -> None:
    cells, _ = table.recorded(table.PATH.read_text())
    assert cells == {row.name: row.texts for row in table.rows(measured=False)}


def test_no_recorded_error_exceeds_its_tolerance() -> None:
    _, errors = table.recorded(table.PATH.read_text())
    assert all(value <= table.tolerance(name, kind) for name, kinds in errors.items() for kind, value in kinds.items())
    assert [name for name, kinds in errors.items() if "golden" in kinds] == sorted(table.golden_files())


def test_the_table_says_why_an_entry_is_not_representable() -> None:
    text = table.PATH.read_text()
    assert [line for line in text.partition("\n## ")[2].splitlines() if line.startswith("| [")] == table.outside_lines()


@pytest.mark.parametrize("name", NAMES)
def test_no_parameter_of_the_comparison_stays_where_it_starts(name: str) -> None:
    given = inputs(reference(name), seed=0)
    first = first_parameters(given.mixer)
    assert not [one for one, value in first.items() if bool((given.parameters[one] == value).any())]


@pytest.mark.parametrize("name", NAMES)
def test_every_number_that_the_formula_is_given_matters(name: str) -> None:
    found = reference(name)
    given, other = inputs(found, seed=0), inputs(found, seed=1)
    raws = [given.raw | {one: value} for one, value in other.raw.items()]
    parameters = [given.parameters | {one: value} for one, value in other.parameters.items()]
    changed = [found.formula(given.mixer, raw, given.parameters) for raw in raws]
    changed += [found.formula(given.mixer, given.raw, one) for one in parameters]
    before = found.formula(given.mixer, given.raw, given.parameters)
    silent = [
        one
        for one, after in zip((*other.raw, *other.parameters), changed, strict=True)
        if error(after, before) < VISIBLE
    ]
    assert silent == VOID.get(name, [])


def first_parameters(mixer: MixerSpec | Parallel) -> dict[str, Tensor]:
    """The initial parameters that are no random draws already."""
    branches = {f"{at}.": one for at, one in enumerate(mixer.parallel)} if isinstance(mixer, Parallel) else {"": mixer}
    return {
        prefix + name: value
        for prefix, one in branches.items()
        for name, value in initial_parameters(one, seed=0).items()
        if name not in DRAWN_FIRST
    }


def test_the_layers_of_softmax_sink_without_a_window_equal_the_formula_too() -> None:
    second = list(catalogue.get("softmax_sink").candidate.mixers())[1].mixer
    assert second.support.window is None
    found = replace(reference("softmax_sink"), small={"support": {"window": None}})
    assert formula_error(found, seed=0, seq_len=19) <= found.tolerance


def test_layer_l_of_transnormer_decays_by_its_share_of_the_first() -> None:
    layers = [located.mixer.decay for located in catalogue.get("transnormer").candidate.mixers()]
    for layer, decay in enumerate(layers):
        rates = [-math.log(factor) for factor in schedule(decay, 8)]
        assert rates == pytest.approx([head * (1.0 - layer / len(layers)) for head in reversed(range(8))], abs=1e-12)


def test_layer_l_of_lightning_attention_decays_by_its_share_of_the_first_and_every_eighth_is_softmax() -> None:
    layers = [located.mixer for located in catalogue.get("lightning_minimax").candidate.mixers()]
    assert len(layers) == 80
    softmax = [layer for layer, mixer in enumerate(layers) if mixer.readout.kind == "exponential"]
    assert softmax == list(range(7, 80, 8))
    for layer in set(range(80)) - set(softmax):
        rates = [-math.log(factor) for factor in schedule(layers[layer].decay, 64)]
        share = 1.0 - layer / (79 + 1e-5) + 1e-5
        assert rates == pytest.approx([share * 2.0 ** (-(head + 1) / 8) for head in range(64)], rel=1e-9)


def test_the_softmax_layers_of_lightning_minimax_equal_attention_with_a_partial_rotation() -> None:
    """torch's attention after a rotation of half of the channels with theta = 1e7."""
    layers = list(catalogue.get("lightning_minimax").candidate.mixers())
    mixer = small(layers[7].mixer)
    raw, parameters = draw(mixer, seed=0, seq_len=SEQ_LEN)
    heads = mixer.heads.num_heads
    half = mixer.heads.state_dim // 2
    q, k = (rotary(for_heads(raw[name], heads), theta=1e7, channels=half).transpose(1, 2) for name in ("q", "k"))
    v = for_heads(raw["v"], heads).transpose(1, 2)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
    assert not parameters
    assert error(ours(Inputs(mixer, raw, parameters)), expected) <= TOLERANCE


def test_latent_attention_equals_attention_over_the_latent_vectors_themselves() -> None:
    spec = inputs(reference("mla"), seed=0).mixer
    assert isinstance(spec, MixerSpec)
    latent_map, generator = LatentMap(spec, seed=0, name="latent").double(), torch.Generator().manual_seed(0)
    shapes = projections(spec)
    raw = {
        name: torch.randn(2, 9, shape.heads, shape.width, generator=generator, dtype=torch.float64)
        for name, shape in shapes.items()
    }
    with torch.no_grad():
        found = ours(Inputs(spec, latent_map(raw), {}))
        expected = absorbed(raw, latent_map.up.weight, head_dim=spec.heads.head_dim)
    assert set(shapes) == {"q", "latent", "shared_key"}
    assert error(found, expected) <= TOLERANCE
