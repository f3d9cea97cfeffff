"""`sextant probe`: what the compiled module measures, with uncertainties; also what `lint --probe` uses."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from search.commands import screen
from search.commands.specs import Spec

if TYPE_CHECKING:
    from designspace.candidate import Candidate
    from designspace.measurement import Measurement

SEEDS = 8
Seeds = Annotated[int, typer.Option("--seeds", min=2, help="Independent weights and tokens of each measurement.")]


def probe(
    spec: Spec,
    only: Annotated[str, typer.Option(help="Probes to run: names, separated by commas; all without it.")] = "",
    seeds: Seeds = SEEDS,
    seed: Annotated[int, typer.Option(min=0, help="Where the random streams of all draws start.")] = 0,
    output_format: screen.Format = screen.DataFormat.TEXT,
) -> None:
    """Measure a candidate: build its mixers and its stack at small sizes and take every probe of theory, section 3.

    A number with ± is a mean over the seeds with the half-width of its 95 % interval; one without is the largest or
    smallest of them. Exit code 1: the implementation does what no sound one can (leaks the future, ignores a key,
    differs from another form).

    \b
    Example: sextant probe catalogue:gated_deltanet
    Example: sextant probe my.yaml --only score_scale,horizon --seeds 4 --format json
    """
    from checkers.confirmation import faults
    from checkers.rule import Context
    from designspace.specfile import load

    candidate = load(spec)
    found = measured(candidate, only=_names(only), seeds=seeds, seed=seed)
    broken = faults(Context(candidate, found))
    if output_format == screen.DataFormat.JSON:
        screen.print_json(
            {
                "schema": "sextant.measurements/1",
                "candidate": candidate.name,
                "measurements": [one.model_dump(mode="json") for one in found],
                "faults": [one.model_dump(mode="json") for one in broken],
            }
        )
    else:
        _print(found, candidate)
        for fault in broken:
            typer.echo(f"fault {fault.code} at {fault.path}: {fault.message}")
        if not broken:
            typer.echo(
                f"no fault in {len(found):,} numbers; `sextant lint {spec} --probe` holds them against the rules"
            )
    if broken:
        raise typer.Exit(1)


def measured(
    candidate: "Candidate", *, only: Sequence[str] = (), seeds: int = SEEDS, seed: int = 0
) -> "tuple[Measurement, ...]":
    """The measurements of a candidate on one thread.

    Raises:
        SpecError: a name that is no probe.
    """
    from designspace import units
    from designspace.errors import SpecError
    from designspace.events import nearest, quoted

    known = units.names("workers.probes")
    for name in only:
        if name not in known:
            close = nearest(name, known)
            remedy = f"did you mean `{close}`?" if close else f"choose from {', '.join(known)}."
            raise SpecError(f"{quoted(name)} is no probe; {remedy}")
    import torch

    from workers.probe import not_probed  # seconds to import
    from workers.probe import probe as run

    _say_not_probed((located.path, not_probed(candidate, located.mixer)) for located in candidate.mixers())
    torch.set_num_threads(1)  # small sizes: more threads wait for each other
    return tuple(run(candidate, seed, only=only, draws=seeds))


def _say_not_probed(reasons: "Iterable[tuple[str, str | None]]") -> None:
    """Say on standard error which mixers are not measured, those of one reason together."""
    from checkers.entries import ranges

    paths: dict[str, list[str]] = {}
    for path, reason in reasons:
        if reason is not None:
            paths.setdefault(reason, []).append(path)
    for reason, found in paths.items():
        typer.echo(f"{', '.join(ranges(found))}: not measured: {reason}", err=True)


def measuring(seeds: int) -> "Callable[[Candidate], tuple[Measurement, ...]]":
    """`measured` that probes a candidate once, however often it is judged."""
    from designspace.canonical import fingerprint

    known: dict[tuple[str, int], tuple[Measurement, ...]] = {}

    def measure(candidate: "Candidate") -> "tuple[Measurement, ...]":
        key = (fingerprint(candidate), candidate.target.seq_len)
        if key not in known:
            known[key] = measured(candidate, seeds=seeds)
        return known[key]

    return measure


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _print(found: "tuple[Measurement, ...]", candidate: "Candidate") -> None:
    """A table for each mixer; of those that differ in numbers alone the first and the last."""
    from checkers.entries import counted
    from checkers.picture import Box, mixer_box
    from designspace.units import discover
    from workers.probe import PACKAGE, Probe

    meanings = {
        name: text for unit in discover(PACKAGE, "probe", Probe).values() for name, text in unit.quantities.items()
    }
    console = screen.console()
    columns = ["probe", "quantity", "value", "unit", "length", "seeds", "what it is"]
    groups = _alike(found)
    looks = {located.path: mixer_box(located.mixer) for located in candidate.mixers()}
    ends: dict[Box | None, list[int]] = {}
    for index, (_, measurements) in enumerate(groups):
        ends.setdefault(looks.get(measurements[0].path), []).append(index)
    shown = sorted({index for indices in ends.values() for index in (indices[0], indices[-1])})
    for place, measurements in (groups[index] for index in shown):
        rows = []
        for name, own in groupby(measurements, key=lambda one: one.probe):
            rows += [[name if first else "", *_row(one, meanings)] for first, one in _first(own)]
        console.print(place)
        console.print(screen.table(columns, rows))
    if len(shown) < len(groups):
        left_out = counted(len(groups) - len(shown), "mixer")
        console.print(f"left out: {left_out} of the same kind, with numbers in between; --format json has all\n")


def _alike(found: "Sequence[Measurement]") -> "list[tuple[str, list[Measurement]]]":
    """The measurements by mixer; mixers with equal numbers together, under one name such as `blocks[0..3].mixer`."""
    from checkers.entries import ranges

    groups: dict[str, tuple[list[str], list[Measurement]]] = {}
    for path, group in groupby(found, key=lambda one: one.path):
        measurements = list(group)
        key = repr([one.model_copy(update={"path": ""}) for one in measurements])
        groups.setdefault(key, ([], measurements))[0].append(path)
    return [(", ".join(ranges(paths)), measurements) for paths, measurements in groups.values()]


def _first(items: "Iterable[Measurement]") -> "Iterable[tuple[bool, Measurement]]":
    return ((index == 0, one) for index, one in enumerate(items))


def _row(one: "Measurement", meanings: "Mapping[str, str]") -> list[object]:
    number = f"{one.value:,.0f}" if one.value.is_integer() else f"{one.value:.4g}"
    value = f"{number} ± {one.uncertainty:.2g}" if one.uncertainty else number
    return [one.quantity, value, one.unit, one.length, one.draws, meanings.get(one.quantity, "")]
