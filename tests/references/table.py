"""docs/catalogue.md: every entry with its source, its tuple and how it was verified.

python -m tests.references.table    measures all errors and writes the file
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from designspace import catalogue
from designspace.canonical import mixer_fingerprint
from designspace.entry import Entry
from designspace.outside import Outside
from tests.references.harness import formula_error, reference
from tests.workers import test_golden as golden
from workers.coefficients import outputs

PATH = Path(__file__).parents[2] / "docs" / "catalogue.md"
SEEDS = (0, 1, 2)
LENGTHS = (1, 2, 19)
VERSIONS = {  # of the packages whose tensors came without one (design page catalogue, first paragraph)
    "fla": "fla-core 0.6.0",
    "transformers": "transformers 5.24",
    "x_transformers": "x-transformers 2.31",
    "mlstm_kernels": "mlstm_kernels 2.0.6",
    "state-spaces": "state-spaces/mamba, no version recorded",
}
ENTRIES = golden.CATALOGUE_NAMES | {"taylor_features": "based"}  # Based as a finite lift (equivalence 3)
HEAD = """# Catalogue

Written by `python -m tests.references.table`; `tests/conformance/test_references.py` compares it with the entries.

A mixer is alpha_ij = phi(q_i . A_i ... A_(j+1) b_j k_j) / eta_i; n is the width of a key, p of a value, T the length.
Two kinds of verification, both of the float64 definition (`workers.coefficients`) and both independent of it:

- *golden*: outputs of a published implementation, stored as data with the inputs (`tests/golden`); computed there in
  float32, so differences up to {golden} of the largest output are allowed. {count} entries have such files.
- *formula*: the equations of the paper in another form (`tests/references/formulas`), in float64, on random numbers of
  {seeds} seeds and lengths {lengths}; differences up to {formula} of the largest output are allowed, where a file
  gives no other bound with its reason.

The last column is the largest difference measured, golden first, relative to the largest output.

| entry | tuple | state | reference | golden tensors | formula | largest error |
|---|---|---|---|---|---|---|
"""
SECOND_HEAD = """
## Not representable

These have no tuple: their entry says why, the linter answers `unknown` with the same reason, and the nearest point of
the grammar is only a comparison.

| entry | what it is | why not | nearest point |
|---|---|---|---|
"""
NONE = "-"


@dataclass(frozen=True)
class Row:
    """One representable entry: the texts of its cells, and the measured errors where they were measured."""

    name: str
    texts: tuple[str, ...]
    errors: tuple[tuple[str, float], ...] = ()

    def line(self) -> str:
        """The row in Markdown."""
        measured = ", ".join(f"{kind} {value:.1e}" for kind, value in self.errors)
        return f"| {' | '.join((*self.texts, measured))} |"


def golden_files() -> dict[str, list[str]]:
    """The golden files of each entry."""
    found: dict[str, list[str]] = {}
    for file in golden.FILES:
        architecture = golden.read(file)[1]["architecture"]
        found.setdefault(ENTRIES.get(architecture, architecture), []).append(file)
    return found


def row(name: str, files: list[str], *, measured: bool) -> Row:
    """The row of an entry, with its errors if `measured`."""
    entry, formula = catalogue.get(name), reference(name)
    texts = (
        _linked(entry),
        entry.equation,
        entry.state,
        entry.reference,
        _golden_text(files),
        f"{formula.verified.removeprefix('Verified by ')} ({formula.source.rstrip('.')})",
    )
    errors: tuple[tuple[str, float], ...] = ()
    if measured:
        worst = max(formula_error(formula, seed=seed, seq_len=length) for seed in SEEDS for length in LENGTHS)
        errors = ((("golden", max(map(_golden_error, files))),) if files else ()) + (("formula", worst),)
    return Row(name=name, texts=tuple(map(_cell, texts)), errors=errors)


def rows(*, measured: bool) -> list[Row]:
    """All rows, by name."""
    files = golden_files()
    return [row(name, files.get(name, []), measured=measured) for name in catalogue.names()]


def outside_lines() -> list[str]:
    """The rows of the entries that are not representable."""
    return [
        f"| {' | '.join(map(_cell, (_linked(entry), entry.title, _reason(outside), _nearest(outside))))} |"
        for entry in map(catalogue.get, catalogue.outside_names())
        for outside in [entry.outside]
        if outside is not None
    ]


def recorded(text: str) -> tuple[dict[str, tuple[str, ...]], dict[str, dict[str, float]]]:
    """The cells of each row of the first table but the last, and the errors in the last, as a file holds them."""
    first, _, _ = text.partition("\n## ")
    cells: dict[str, tuple[str, ...]] = {}
    errors: dict[str, dict[str, float]] = {}
    for line in first.splitlines():
        match = re.match(r"\| \[(\w+)\]", line)
        if match:
            *texts, last = line.removeprefix("| ").removesuffix(" |").split(" | ")
            cells[match[1]] = tuple(texts)
            errors[match[1]] = {kind: float(value) for kind, value in map(str.split, last.split(", "))}
    return cells, errors


def tolerance(name: str, kind: str) -> float:
    """The bound of an error in the table."""
    return golden.DEFINITION_TOLERANCE if kind == "golden" else reference(name).tolerance


def page() -> str:
    """The whole file; measures every error."""
    head = HEAD.format(
        golden=f"{golden.DEFINITION_TOLERANCE:.0e}",
        formula=f"{reference('linear').tolerance:.0e}",
        count=len(golden_files()),
        seeds=len(SEEDS),
        lengths=", ".join(map(str, LENGTHS)),
    )
    first = "".join(f"{one.line()}\n" for one in rows(measured=True))
    second = outside_lines()
    return head + first + (SECOND_HEAD + "".join(f"{line}\n" for line in second) if second else "")


def _linked(entry: Entry) -> str:
    also = f", also {', '.join(entry.also)}" if entry.also else ""
    return f"[{entry.name}]({entry.url}){also}"


def _cell(text: str) -> str:
    """Text that cannot end a cell or a row."""
    return " ".join(text.replace("|", "\\|").split()).replace(" \\| ", "\\|") or NONE


def _golden_text(files: list[str]) -> str:
    metas = {meta["architecture"]: meta for _, meta in map(golden.read, files)}
    return "; ".join(_golden_source(meta) for _, meta in sorted(metas.items()))


def _golden_source(meta: dict[str, Any]) -> str:
    """What computed the tensors, in which version, and where it was run unlike the entry."""
    changed = [
        f"{part}.{key} = {value}"
        for part, keys in golden.AS_RUN.get(meta["architecture"], {}).items()
        for key, value in keys.items()
    ]
    run = f"; run with {', '.join(changed)}" if changed else ""
    return f"{meta['reference']} ({_versions(meta)}{run})"


def _versions(meta: dict[str, Any]) -> str:
    """Of the packages that the reference names; fla-core calls itself fla."""
    named = re.sub("[-_.]", "", meta["reference"].lower())
    found = {
        package: version
        for package, version in meta.get("versions", {}).items()
        if re.sub("-core$|[-_.]", "", package.lower()) in named
    }
    if not found:
        return VERSIONS[re.split(r"[ .]", meta["reference"])[0]]
    return ", ".join(f"{package} {version}" for package, version in found.items())


def _golden_error(file: str) -> float:
    spec, signals, expected = golden.case(file)
    return golden.error(outputs(spec, signals), expected)


def _reason(outside: Outside) -> str:
    return f"{outside.outside.replace('_', ' ')}: {outside.reason}"


def _nearest(outside: Outside) -> str:
    """The entry whose mixer it is, where there is one."""
    if outside.nearest is None:
        return NONE
    wanted = mixer_fingerprint(outside.nearest)
    same = [name for name in catalogue.names() if mixer_fingerprint(catalogue.get(name).mixer) == wanted]
    return ", ".join(same) or "a mixer without an entry of its own"


if __name__ == "__main__":
    PATH.write_text(page())
