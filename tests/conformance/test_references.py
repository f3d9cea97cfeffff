"""Every entry of the catalogue against an independent formula (tests/references/formulas), and the table of them."""

import pytest

from designspace import catalogue
from tests.references import table
from tests.references.harness import draw, error, formula_error, formulas, reference, small
from workers.initial import initial_parameters

NAMES = catalogue.names()
VISIBLE = 1e-6  # change of the output when one input changes
VOID = {"rwkv4": ["gate_bias"]}  # exp(bias) of a channel is a factor of the row and of its sum
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
    mixer = small(name, **reference(name).small)
    first, drawn = initial_parameters(mixer, seed=0), draw(mixer, seed=0)[1]
    assert not any(bool((drawn[one] == value).any()) for one, value in first.items() if one not in DRAWN_FIRST)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_that_the_formula_is_given_matters(name: str) -> None:
    found = reference(name)
    mixer = small(name, **found.small)
    (raw, parameters), (other_raw, other) = draw(mixer, seed=0), draw(mixer, seed=1)
    before = found.formula(mixer, raw, parameters)
    changed = {one: found.formula(mixer, raw | {one: value}, parameters) for one, value in other_raw.items()}
    changed |= {one: found.formula(mixer, raw, parameters | {one: value}) for one, value in other.items()}
    assert [one for one, after in changed.items() if error(after, before) < VISIBLE] == VOID.get(name, [])
