"""Space files: a candidate with holes, and how to search it.

```yaml
name: demo
model: {model_dim: 64}
blocks:
  - repeat: 2
    mixer: {choice: [{use: softmax_rope}, {use: gated_deltanet}, {use: linear, scaling: {base: {choice: [1, n^-1/2]}}}]}
tasks: [in_context_recall, selective_copying]
objectives: [accuracy]                    # also parameters, state_bytes, decode_macs, which are made small
seeds: 2                                  # or a list
budget: {trials: 12}                      # also jobs (training runs) and seconds (of training)
sampler: {name: tpe, seed: 0}             # a file of search/samplers
protocol: tiny
reject: [error]                           # severities, principles, rules: such a finding rejects
checker: {ignore: [CD401]}                # settings of the checker, in place of the nearest settings file
start: [softmax_rope]                     # catalogue entries to measure first
```

`mixer: {grammar: full}` stands for any mixer, and `mixer: {grammar: full, readout: {kind: identity}}` for any with an
identity readout; see `search.grammar`.
"""

import json
import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from checkers.rule import all_rules
from checkers.settings import Settings as CheckerSettings
from checkers.settings import fits
from checkers.settings_file import Resolver, resolver
from designspace import catalogue, units
from designspace.candidate import Candidate
from designspace.document import Document, Node, parse, read
from designspace.entry import PACKAGE as CATALOGUE
from designspace.errors import SpecError
from designspace.events import KeyPath, nearest, quoted, split_path
from designspace.job import MAX_STEPS
from designspace.spec import Spec
from designspace.specfile import load_document
from designspace.validation import validate
from search.grammar.full import MARK, expanded
from search.holes import Chooser, Range, fill
from search.judge import SEVERITIES
from search.ledger import Budget, Plan
from search.objectives import Objective
from workers.protocol import PROTOCOLS, SET_BY_PROTOCOL

TASKS = "workers.tasks"
SAMPLERS = "search.samplers"
CANDIDATE_KEYS = frozenset({*Candidate.model_fields, "mixer"})
MAX_FILLS = 500  # of the first look, one per option; fewer in a large file, so that it takes seconds
MAX_LOOKED_AT = 100_000  # values in all of them together
MAX_UNITS = 1_000_000_000  # of a budget
LABELS = re.compile(r"<[^>]*>")  # of the choices above a hole, in its name
TRIES = 32  # random fillings of the other holes before an option counts as wrong by itself

Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]


class SamplerChoice(Spec):
    """Which sampler proposes, and the seed of all it draws."""

    name: str = "tpe"
    seed: Seed = 0


class BudgetSpec(Spec):
    """What the search may spend; see `ledger.Budget`."""

    trials: Annotated[int, Field(ge=1, le=MAX_UNITS)] = 20
    jobs: Annotated[int | None, Field(ge=0, le=MAX_UNITS)] = None
    seconds: Annotated[float | None, Field(gt=0, le=MAX_UNITS)] = None


class Settings(Spec):
    """The keys of a space file that are not the candidate's."""

    tasks: Annotated[tuple[str, ...], Field(min_length=1)]
    objectives: Annotated[tuple[Objective, ...], Field(min_length=1)] = ("accuracy",)
    seeds: Annotated[int, Field(ge=1, le=1000)] | Annotated[tuple[Seed, ...], Field(min_length=1, max_length=1000)] = 2
    budget: BudgetSpec = BudgetSpec()
    sampler: SamplerChoice = SamplerChoice()
    protocol: str = "tiny"
    steps: Annotated[int | None, Field(ge=1, le=MAX_STEPS)] = None
    reject: tuple[str, ...] = ("error",)
    checker: CheckerSettings = CheckerSettings()
    start: tuple[str, ...] = ()

    @property
    def plan(self) -> Plan:
        """The jobs of every candidate."""
        seeds = tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds
        return Plan(tasks=self.tasks, seeds=seeds, protocol=self.protocol, steps=self.steps)

    @property
    def limits(self) -> Budget:
        """The budget as the store keeps it."""
        return Budget(trials=self.budget.trials, jobs=self.budget.jobs, seconds=self.budget.seconds)


@dataclass(frozen=True)
class Space:
    """A space file, checked: its settings, and the candidate's part with its holes."""

    name: str
    document: Document
    holey: Node
    settings: Settings

    def candidate(self, chooser: Chooser, *, name: str | None = None) -> Candidate:
        """The candidate with the holes as `chooser` fills them.

        Raises:
            SpecError: these choices do not go together.
        """
        root = fill(self.document, self.holey, chooser)
        root = expanded(self.document, root, chooser, PROTOCOLS[self.settings.protocol].sizes)
        built = load_document(Document(self.document.file, root)).candidate
        return built.model_copy(update={"name": name or self.name})

    def start(self, index: int) -> Candidate:
        """The catalogue entry to measure at `index` of the list."""
        return catalogue.get(self.settings.start[index]).candidate

    def record(self) -> dict[str, Any]:
        """The space as plain data, which `from_record` reads back.

        The settings of the checker are part of it wherever they came from, so that a study goes on as it began.
        """
        checker = self.settings.checker.model_dump(mode="json", exclude_defaults=True)
        data: dict[str, Any] = self.document.data | {"name": self.name, "checker": checker}
        return data


def load_space(source: str | os.PathLike[str], *, settings_of: Resolver | None = None) -> Space:
    """The space in the file `source`, YAML or JSON, or `-` for standard input.

    Args:
        settings_of: the settings of the checker for a space without the key `checker`; by default those of the nearest
            settings file upwards of it, as `sextant lint` takes them.

    Raises:
        SpecError: it or a settings file cannot be read, or an option of it makes no valid candidate.
    """
    space = space_of(read(source))
    if "checker" in space.document.data:
        return space
    found = (settings_of or resolver())(space.document.file).settings
    return replace(space, settings=space.settings.model_copy(update={"checker": found}))


def from_record(record: dict[str, Any]) -> Space:
    """The space that `Space.record` wrote down."""
    return space_of(parse(json.dumps(record), "<stored space>"))


def space_of(document: Document) -> Space:
    """The space that `document` holds."""
    entries = document.root.content if isinstance(document.root.content, dict) else {}
    _refuse_unknown_keys(document)
    holey = document.root._replace(content={key: one for key, one in entries.items() if key in CANDIDATE_KEYS})
    own = {key: value for key, value in document.data.items() if key not in CANDIDATE_KEYS}
    _refuse_wrong_checker(document)
    settings = validate(document, Settings, own)
    _refuse_unknown_names(document, settings)
    _refuse_repeats(document, settings)
    name = document.data.get("name") or os.path.splitext(os.path.basename(document.file))[0]
    space = Space(str(name), document, holey, settings)
    for hole in _try_every_option(space):
        _refuse_if_set_by_protocol(space, hole)
    return space


def _refuse_unknown_keys(document: Document) -> None:
    known = CANDIDATE_KEYS | Settings.model_fields.keys()
    for key in document.data:
        if key not in known:
            close = nearest(key, known)
            remedy = f"did you mean `{close}`?" if close else f"known keys are {', '.join(sorted(known))}."
            raise document.error(f"{quoted(key)} is not a key of a space file; {remedy}", (key,))


def _refuse_wrong_checker(document: Document) -> None:
    """Mistakes in the settings of the checker stand at their own keys, also those that only they know of."""
    entries = document.root.content if isinstance(document.root.content, dict) else {}
    if "checker" in entries:
        validate(Document(document.file, entries["checker"].node), CheckerSettings)


def _refuse_unknown_names(document: Document, settings: Settings) -> None:
    named = (("tasks", settings.tasks, TASKS), ("start", settings.start, CATALOGUE))
    places: list[tuple[KeyPath, str, str]] = [
        ((key, index), name, folder) for key, names, folder in named for index, name in enumerate(names)
    ]
    places.append((("sampler", "name"), settings.sampler.name, SAMPLERS))
    for path, name, folder in places:
        _refuse_unless_in(document, path, name, units.names(folder))
    _refuse_unless_in(document, ("protocol",), settings.protocol, sorted(PROTOCOLS))
    rules = [text for rule in all_rules() for text in (rule.code, rule.name)]
    for index, selector in enumerate(settings.reject):
        if not any(fits(selector, rule) for rule in all_rules()):
            _refuse_unless_in(document, ("reject", index), selector, [*SEVERITIES, *rules])


def _refuse_unless_in(document: Document, path: KeyPath, name: str, known: Sequence[str]) -> None:
    if name not in known:
        close = nearest(name, known)
        remedy = f"did you mean `{close}`?" if close else f"choose from {', '.join(known)}."
        raise document.error(f"{quoted(name)} is not known here; {remedy}", path)


def _refuse_repeats(document: Document, settings: Settings) -> None:
    """Refuse a task, seed, objective or start that is listed twice: it is one run, and would be counted twice."""
    seeds = settings.seeds if isinstance(settings.seeds, tuple) else ()
    listed: dict[str, tuple[object, ...]] = {
        "tasks": settings.tasks,
        "seeds": seeds,
        "objectives": settings.objectives,
        "start": settings.start,
    }
    for key, items in listed.items():
        for index, item in enumerate(items):
            if item in items[:index]:
                raise document.error(f"`{key}` lists {quoted(item)} twice; remove one.", (key, index))


class _Trying:
    """Fills holes as it was told, the others with their first option or by chance, and notes every option it met.

    Holes of the full grammar are not tried: what it offers is valid.
    """

    def __init__(self, wanted: dict[str, str | float], rng: random.Random | None = None) -> None:
        self.wanted = wanted
        self.rng = rng
        self.met: dict[str, tuple[str | float, ...]] = {}
        self.is_free = False  # another try may fill a hole in another way

    def label(self, name: str, labels: tuple[str, ...]) -> str:
        return str(self._pick(name, labels))

    def number(self, name: str, bounds: Range) -> float:
        value = float(self._pick(name, (bounds.low, bounds.high)))
        return int(value) if bounds.integer else value

    def _pick(self, name: str, options: tuple[str | float, ...]) -> str | float:
        if MARK in name:
            return options[0]
        self.met[name] = options
        self.is_free |= len(options) > 1 and name not in self.wanted
        return self.wanted.get(name, self.rng.choice(options) if self.rng else options[0])


def _refuse_if_set_by_protocol(space: Space, hole: str) -> None:
    """A hole over a size that the protocol replaces would train one model under many names."""
    if hole.endswith(SET_BY_PROTOCOL):
        field = hole.rsplit(".", 1)[-1]
        raise space.document.error(
            f"the hole at {quoted(hole)} changes nothing: protocol `{space.settings.protocol}` sets `{field}` itself;"
            " put one value there.",
            split_path(LABELS.sub("", hole)),
        )


def _try_every_option(space: Space) -> set[str]:
    """The names of all holes, after building a candidate with each option of each hole once.

    An option that fails with the first options of the other holes, and with TRIES random ones, is an error here.
    Options that only do not go together are the search's business.
    """
    waiting: list[dict[str, str | float]] = [{}]
    seen: set[str] = set()
    for _ in range(min(MAX_FILLS, 1 + MAX_LOOKED_AT // _count(space.holey))):
        if not waiting:
            break
        wanted = waiting.pop(0)
        trying = _try(space, wanted)
        for name, options in trying.met.items():
            if name not in seen:
                seen.add(name)
                waiting += [wanted | {name: option} for option in options[1:]]
    return seen


def _count(node: Node) -> int:
    """How many values stand in `node`, itself included."""
    match node.content:
        case dict() as entries:
            return 1 + sum(_count(entry.node) for entry in entries.values())
        case list() as items:
            return 1 + sum(_count(item) for item in items)
        case _:
            return 1


def _try(space: Space, wanted: dict[str, str | float]) -> _Trying:
    rng = random.Random(0)
    first: SpecError | None = None
    for number in range(1 + TRIES):
        trying = _Trying(wanted, rng if number else None)
        try:
            space.candidate(trying)
        except SpecError as error:
            first = first or error
            if not trying.is_free:
                break
        else:
            return trying
    raise first or ValueError("TRIES must not be negative.")
