"""A rule: its documentation, its examples and its check in one record; one file of `checkers/rules/` holds one rule."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from checkers.finding import Fix, Quantity
from checkers.severity import Kind
from checkers.thresholds import DEFAULTS, Thresholds
from designspace.candidate import Block, Candidate, Located
from designspace.composition import Parallel
from designspace.cost import MixerCost, mixer_cost
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.target import Target
from designspace.units import discover

if TYPE_CHECKING:
    import networkx as nx

    from designspace.specfile import Loaded

PACKAGE = "checkers.rules"
CODE = re.compile(r"CD[1-9]\d\d")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

Group = Literal["proof", "suspect", "numerics", "advice", "nursery"]
Precision = Literal["very-high", "high", "medium", "low"]
Example = Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class Unused:
    """A suppression that silenced nothing: its path, the rule it names, and why nothing matched."""

    path: str
    rule: str
    why: str


@dataclass(frozen=True)
class Context:
    """What a rule may read: the candidate, measurements of it, and the graph of its stack (built when first asked).

    `unread` are the keys of the config.json the candidate came from that the importer does not know.
    """

    candidate: Candidate
    measurements: tuple[Measurement, ...] = ()
    unused: tuple[Unused, ...] = ()
    unread: tuple[str, ...] = ()
    thresholds: Thresholds = DEFAULTS

    @property
    def target(self) -> Target:
        """The context the candidate is judged in."""
        return self.candidate.target

    @cached_property
    def sites(self) -> "tuple[Site, ...]":
        """Every mixer of the file once, with its path."""
        return tuple(Site(self, located) for located in self.candidate.mixers())

    @cached_property
    def alike(self) -> tuple[int, ...]:
        """For each site the index of the first that stands in an equal block at the same place."""
        first: dict[tuple[Block, str], int] = {}
        blocks = self.candidate.blocks
        places = ((blocks[site.located.block], site.path.partition(".")[2]) for site in self.sites)
        return tuple(first.setdefault(place, index) for index, place in enumerate(places))

    @cached_property
    def graph(self) -> "nx.DiGraph[str]":
        """The stack, `repeat` written out."""
        from designspace.architecture import graph  # networkx takes 80 ms to import, and most candidates need no graph

        return graph(self.candidate)

    def release(self) -> None:
        """Drop what was built: sites refer back to the context, and only the collector of cycles would free the two."""
        for name in ("sites", "alike", "graph"):
            vars(self).pop(name, None)

    def measured(self, quantity: str, path: str) -> Measurement | None:
        """The measurement of `quantity` at the mixer `path`, if a probe made one."""
        return next((one for one in self.measurements if (one.quantity, one.path) == (quantity, path)), None)


@dataclass(frozen=True, slots=True)
class Site:
    """A mixer in its candidate."""

    context: Context
    located: Located

    @property
    def mixer(self) -> MixerSpec:
        """The record of the mixer."""
        return self.located.mixer

    @property
    def target(self) -> Target:
        """The context the candidate is judged in."""
        return self.context.target

    @property
    def thresholds(self) -> Thresholds:
        """The limits that rules compare with."""
        return self.context.thresholds

    @property
    def path(self) -> str:
        """Path of the mixer in the spec file."""
        return self.located.path

    @property
    def norm_divides_row(self) -> bool:
        """A norm of the output takes any positive factor of the row out again (equivalence 4): it sees one head, and
        nothing that lacks the factor was added before it (a D skip, a bonus, another branch that shares the values).
        """
        mixer, merged = self.mixer, self.context.candidate.blocks[self.located.block].mixer
        alone = not (isinstance(merged, Parallel) and merged.shared_values)
        skips = mixer.support.diagonal == "D" or (mixer.support.diagonal == "bonus" and mixer.support.read == "after")
        return mixer.io.norm_is_per_head and alone and not skips

    @property
    def cost(self) -> MixerCost:
        """Work and memory of the layer at the target length."""
        return self.cost_of(self.mixer)

    def cost_of(self, mixer: MixerSpec) -> MixerCost:
        """The same of another mixer in its place."""
        model_dim, borrows = self.context.candidate.model.model_dim, self.located.borrows_values
        return mixer_cost(mixer, model_dim=model_dim, target=self.target, borrows_values=borrows)

    def at(self, field_path: str) -> str:
        """Path of a field of the mixer, such as `readout.kind`."""
        return f"{self.located.path}.{field_path}"


@dataclass(slots=True)  # not frozen: a hundred in each check, in a quarter of the time
class Outcome:
    """What a rule found at one place.

    Attributes:
        answer: pass, fail, unknown (a fact is missing), or inapplicable (reported as unknown).
        path: where it stands in the spec.
        reason: one sentence with the numbers; the message of a finding.
        kind: the row of the severity table; a fail always has one, another answer only with a remark to show.
        evidence: the numbers, of a pass too: the verdict shows those of the outcome that decides it.
        told_by: the code that says this or answers for the stack; a fail is then a verdict without its own finding.
        lowered: one step less serious, because a learnable factor can repair it.
        sources: of the formula; the references of the rule where empty.
    """

    answer: Literal["pass", "fail", "unknown", "inapplicable"]
    path: str
    reason: str
    kind: Kind | None = None
    evidence: Mapping[str, Quantity] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    lowered: bool = False
    fix: Fix | None = None
    told_by: str | None = None

    def __post_init__(self) -> None:
        if self.answer == "fail" and self.kind is None and self.told_by is None:
            raise ValueError(f"a fail needs a `kind` from the severity table: {self.reason}")


Check = Callable[[Context], Iterable[Outcome]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        code: CD, the digit of the family (1-6 the principles, 7 memory, 8 numerics, 9 shape), two digits; never reused.
        name: kebab case, the bad pattern; the file name with dashes.
        group: proof, suspect, numerics, advice, or nursery (off unless selected).
        what, why, fix: prose; `exceptions` are the known false alarms that it must not raise.
        passes, fails: spec mappings, config.json mappings or `catalogue:NAME`, loaded by `loaded`; the conformance test
            runs them.
        kinds: the rows of the severity table that its findings use.
        fields_read: paths in the spec, relative to the mixer unless they start with `model`, `target` or `blocks`.
        check: the logic.
        stage: `report` rules run last and may read which suppressions were used.
        reads_stack: what it says of one layer depends on the others: one layer outside the grammar makes it unknown.
        about_mixers: it judges mixers, so one outside the grammar makes its answer unknown; else files and stacks.
        since: the version of Sextant that it came with.
    """

    code: str
    name: str
    group: Group
    precision: Precision
    what: str
    why: str
    exceptions: tuple[str, ...]
    fix: str
    references: tuple[str, ...]
    passes: tuple[Example, ...]
    fails: tuple[Example, ...]
    kinds: tuple[Kind, ...]
    fields_read: tuple[str, ...]
    check: Check
    stage: Literal["spec", "report"] = "spec"
    reads_stack: bool = False
    about_mixers: bool = True
    since: str = "0.1.0"

    def __post_init__(self) -> None:
        if not CODE.fullmatch(self.code):
            raise ValueError(f"`code` must be CD and three digits, got {self.code!r}.")
        if not NAME.fullmatch(self.name):
            raise ValueError(f"`name` must be kebab case, got {self.name!r}.")

    @property
    def principle(self) -> int:
        """The family digit of the code."""
        return int(self.code[2])

    @property
    def status(self) -> Literal["stable", "preview"]:
        """A preview runs only where it is selected by code or name."""
        return "preview" if self.group == "nursery" else "stable"


def per_mixer(check: Callable[[Site], Outcome]) -> Check:
    """The check that asks `check` about every mixer of the candidate.

    `check` reads the target, the block that the mixer stands in and measurements of it, nothing else of the stack: it
    is asked once about equal blocks (not where something was measured, for each layer has its own draw).
    """

    def outcomes(context: Context) -> list[Outcome]:
        sites = context.sites
        if len(sites) == 1 or context.measurements:
            return [check(site) for site in sites]
        found: list[Outcome] = []
        for index, (site, first) in enumerate(zip(sites, context.alike, strict=True)):
            found.append(check(site) if first == index else _at_another(found[first], sites[first].path, site.path))
        return found

    return outcomes


def _at_another(outcome: Outcome, old: str, new: str) -> Outcome:
    """The outcome about an equal mixer at another path."""

    def moved(path: str) -> str:
        return new + path.removeprefix(old) if path.startswith(old) else path

    fix = outcome.fix
    if fix is not None and fix.edits:
        edits = tuple(edit.model_copy(update={"path": moved(edit.path)}) for edit in fix.edits)
        fix = fix.model_copy(update={"edits": edits})
    return Outcome(
        outcome.answer,
        moved(outcome.path),
        outcome.reason,
        kind=outcome.kind,
        evidence=outcome.evidence,
        assumptions=outcome.assumptions,
        sources=outcome.sources,
        lowered=outcome.lowered,
        fix=fix,
        told_by=outcome.told_by,
    )


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    return tuple(sorted(discover(PACKAGE, "rule", Rule).values(), key=lambda rule: rule.code))


def resolved(example: Example) -> Candidate:
    """The candidate of an example: `catalogue:NAME`, or a spec mapping that may hold only `mixer`."""
    return loaded(example).candidate


def loaded(example: Example) -> "Loaded":
    """The candidate of an example with its places; a mapping with `model_type` is a config.json."""
    from designspace.document import parse  # examples are for documentation and tests, not for checking
    from designspace.specfile import Loaded, dump, load_config, load_with_places

    if isinstance(example, str):
        return load_with_places(example)
    if "model_type" in example:
        return load_config(parse(json.dumps(example), "config.json"))
    data = dict(example)
    if "mixer" in data:
        data["blocks"] = [{"mixer": data.pop("mixer")}]
    candidate = Candidate.model_validate({"name": "example", **data})
    return Loaded(candidate, parse(dump(candidate), "example.yaml"))
