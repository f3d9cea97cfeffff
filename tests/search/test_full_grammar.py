"""The full grammar as a space: it has every key, reaches every published mixer, and proposes nothing invalid."""

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args, get_origin

import pytest
import yaml
from fabricate import claim, result, space
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from checkers.check import check
from designspace import catalogue, units
from designspace.candidate import Candidate
from designspace.document import Document
from designspace.errors import SpecError
from designspace.mixer import MixerSpec
from designspace.specfile import Loaded, load_document, merged, record
from search import leases, ledger
from search.grammar.full import Grammar
from search.grammar.holes import BETWEEN, SIZES, GrammarHole
from search.grammar.known import OUTSIDE, at, has, plain, resized
from search.holes import Range
from search.judge import judge_for
from search.space import SAMPLERS
from search.status import status
from search.store import Store
from search.study import INVALID, Search
from search.suggest import Adviser, Past
from workers.protocol import TINY, ModelSizes

TEXT = """
name: everything
mixer: {grammar: full}
tasks: [in_context_recall]
seeds: 1
budget: {trials: 6}
"""
DRAWS = 100
LISTS = {("rotation.scaling<given>.kind", "longrope")}  # needs two lists, which no entry publishes
TINY_GRAMMAR = Grammar(TINY.sizes)
PUBLISHED = {
    f"{name}-{one.path}": one.mixer for name in catalogue.names() for one in catalogue.get(name).candidate.mixers()
}
each_published = pytest.mark.parametrize("mixer", PUBLISHED.values(), ids=PUBLISHED)


class Drawing:
    """Fills holes by chance and notes what was offered and drawn."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.offered: dict[str, tuple[str, ...]] = {}
        self.drawn: dict[str, str | float] = {}

    def label(self, name: str, labels: tuple[str, ...]) -> str:
        self.offered[name] = labels
        self.drawn[name] = self.rng.choice(labels)
        return str(self.drawn[name])

    def number(self, name: str, bounds: Range) -> float:
        low, high = (math.log(bounds.low), math.log(bounds.high)) if bounds.log else (bounds.low, bounds.high)
        value = self.rng.uniform(low, high)
        value = min(max(math.exp(value) if bounds.log else value, bounds.low), bounds.high)
        self.drawn[name] = round(value) if bounds.integer else value
        return float(self.drawn[name]) if not bounds.integer else int(self.drawn[name])


class Given:
    """Fills the holes of a space with the values of encoded mixers."""

    def __init__(self, values: dict[str, str | float]) -> None:
        self.values = values

    def label(self, name: str, labels: tuple[str, ...]) -> str:
        assert self.values[name] in labels
        return str(self.values[name])

    def number(self, name: str, bounds: Range) -> float:
        value = float(self.values[name])
        assert bounds.low <= value <= bounds.high
        return int(value) if bounds.integer else value


def own_sizes(mixer: MixerSpec) -> ModelSizes:
    """The sizes of a mixer as those of a protocol."""
    heads = mixer.heads
    width = heads.num_heads * heads.head_dim
    return ModelSizes(model_dim=width, num_layers=1, channel_state_dim=heads.state_dim, **{
        size: getattr(heads, size) for size in SIZES
    })  # fmt: skip


@each_published
def test_the_space_reaches_every_published_mixer_exactly(mixer: MixerSpec) -> None:
    grammar = Grammar(own_sizes(mixer))
    values = grammar.encode(mixer)
    assert plain(grammar.decode(values)) == plain(mixer)
    assert grammar.encode(grammar.decode(values)) == values


@pytest.mark.parametrize("name", catalogue.names())
def test_a_space_file_reaches_every_entry_of_the_catalogue(name: str) -> None:
    """The entry with `{grammar: full}` in place of each mixer, which keep all but the sizes that training sets."""
    published = catalogue.get(name).candidate
    holes: dict[str, str | float] = {}
    for one in published.mixers():
        holes |= {f"{one.path}<full>.{key}": value for key, value in TINY_GRAMMAR.encode(one.mixer).items()}
    text = yaml.safe_dump({"name": name, "tasks": ["in_context_recall"], **_opened(published)})
    made = [one.mixer for one in space(text).candidate(Given(holes)).mixers()]
    wanted = [one.mixer for one in published.mixers()]
    assert [plain(mixer) for mixer in made] == [plain(resized(mixer, TINY.sizes)) for mixer in wanted]
    sized = {"heads": None, "shear": None}
    assert [plain(mixer) | sized for mixer in made] == [plain(mixer) | sized for mixer in wanted]


def _opened(candidate: Candidate) -> dict[str, Any]:
    """The spec of a candidate with `{grammar: full}` in place of each mixer."""
    data: dict[str, Any] = record(candidate)
    for block in data["blocks"]:
        mixer = block.get("mixer", {})
        if mixer and "parallel" in mixer:
            block["mixer"] = mixer | {"parallel": [{"grammar": "full"} for _ in mixer["parallel"]]}
        elif mixer is not None and "outside" not in mixer:
            block["mixer"] = {"grammar": "full"}
    return data


@given(st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_a_random_mixer_is_valid_and_comes_back(rng: Random) -> None:
    mixer = MixerSpec.model_validate(TINY_GRAMMAR.fill(Drawing(rng)))
    trained = resized(mixer, TINY.sizes)
    assert plain(TINY_GRAMMAR.decode(TINY_GRAMMAR.encode(mixer))) == plain(trained)


@cache
def draws() -> list[tuple[Drawing, MixerSpec]]:
    drawings = [Drawing(Random(seed)) for seed in range(DRAWS)]
    return [(one, MixerSpec.model_validate(TINY_GRAMMAR.fill(one))) for one in drawings]


def test_most_random_draws_are_valid_as_they_are() -> None:
    """An impossible number is replaced; a draw of options alone never is."""
    replaced = Counter(_is_replaced(drawing, mixer) for drawing, mixer in draws())
    assert replaced[False] > 0.6 * DRAWS
    assert not [
        mixer for drawing, mixer in draws() if BETWEEN not in drawing.drawn.values() and _is_replaced(drawing, mixer)
    ]


def _is_replaced(drawing: Drawing, mixer: MixerSpec) -> bool:
    data = plain(mixer)
    by_name = {hole.name: hole for hole in TINY_GRAMMAR.holes}
    for name, value in drawing.drawn.items():
        hole = by_name.get(name.split("<not ")[0])
        if hole is None:
            continue
        wanted = hole.value([drawing.drawn[one] for one in hole.numbers]) if value == BETWEEN else None  # type: ignore[misc]
        found = at(data, hole.path)
        if value == BETWEEN and found != wanted:
            return True
        if value != BETWEEN and not has(found, hole.values[hole.labels.index(str(value))]):
            return True
    return False


class First:
    """Takes the first option and the least number."""

    def label(self, name: str, labels: tuple[str, ...]) -> str:  # noqa: ARG002
        return labels[0]

    def number(self, name: str, bounds: Range) -> float:  # noqa: ARG002
        return bounds.low


WORDS = [
    (hole, label, value)
    for hole in TINY_GRAMMAR.holes
    for label, value in zip(hole.labels, hole.values, strict=False)
    if isinstance(value, str | bool | dict)
]


@pytest.mark.parametrize(("hole", "label", "value"), WORDS, ids=[f"{hole.name}-{label}" for hole, label, _ in WORDS])
def test_every_word_of_the_grammar_is_in_a_mixer(hole: GrammarHole, label: str, value: Any) -> None:
    """Lists and numbers are those of the catalogue, which the tests above reach."""
    pins: dict[str, Any] = {}
    for path, fragment in (*hole.under, (hole.path, value)):
        for part in reversed(path):
            fragment = {part: fragment}
        pins = merged(pins, fragment)
    if (hole.name, label) in LISTS:
        with pytest.raises(ValueError, match="no valid mixer is known"):
            TINY_GRAMMAR.fill(First(), pins=pins)
        return
    made = TINY_GRAMMAR.fill(First(), pins=pins)
    assert MixerSpec.model_validate(made)
    assert has(at(made, hole.path), value)


def _leaves(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Literal or not get_args(annotation):
        yield annotation
    else:
        for member in get_args(annotation):
            yield from _leaves(member)


def _keys(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Path and leaf of every key, read off the annotations."""
    for name, field in model.model_fields.items():
        for leaf in _leaves(field.rebuild_annotation()):
            if isinstance(leaf, type) and issubclass(leaf, BaseModel):
                yield from _keys(leaf, (*path, name))
            else:
                yield (*path, name), leaf


def test_every_key_and_every_word_of_the_grammar_is_in_the_space() -> None:
    options: dict[tuple[Any, ...], list[Any]] = {}
    for hole in TINY_GRAMMAR.holes:
        for value in hole.values:
            for key, one in value.items() if isinstance(value, dict) else [(None, value)]:
                options.setdefault((*hole.path, key) if key else hole.path, []).append(one)
    for path, leaf in _keys(MixerSpec):
        if path[0] in OUTSIDE:
            continue
        assert path in options, path
        words = get_args(leaf) if get_origin(leaf) is Literal else (True, False) if leaf is bool else ()
        flat = [word for one in options[path] for word in (one if isinstance(one, list) else [one])]
        assert set(words) <= set(flat), path


def test_the_sizes_of_a_protocol_are_no_holes() -> None:
    for _, mixer in draws():
        heads = mixer.heads
        assert (heads.num_heads, heads.head_dim) == ((64, 1) if heads.layout == "channel" else (4, 16))
        assert heads.state_dim in (1, 4 if heads.layout == "channel" else 16)


@pytest.mark.parametrize("sampler", units.names(SAMPLERS))
def test_a_study_over_the_full_grammar_trains_valid_and_linted_candidates_only(store: Store, sampler: str) -> None:
    one = space(TEXT, sampler={"name": sampler, "seed": 1})
    ledger.create_study(store, "s", space=one.record(), budget=one.settings.limits)
    search = Search(store, "s", one, judge_for(one.settings.plan, one.settings.reject))
    trained: list[Candidate] = []
    while search.step():
        jobs = claim(store, most=64).jobs
        trained += [Candidate.model_validate(job.spec) for job in jobs]
        leases.complete(store, [result(job) for job in jobs])
    assert status(store, "s").counts.results == len(trained) == 6
    assert not [finding for candidate in trained for finding in check(candidate).active if finding.severity == "error"]
    proposals = ledger.proposals(store, ledger.study(store, "s").id)
    assert INVALID not in {finding["code"] for one in proposals for finding in one.report["findings"]}
    assert all(Candidate.model_validate(one.spec) for one in proposals)


PINNED = """{grammar: full, readout: {kind: sigmoid, offset: 0.25}, heads: {num_heads: 8, layout: multi},
  lift: {kind: momentum}}"""


def test_pinned_keys_stay() -> None:
    pinned = space(TEXT.replace("{grammar: full}", PINNED))
    for seed in range(10):
        mixer = pinned.candidate(Drawing(Random(seed))).blocks[0].mixers[0]
        assert (mixer.readout.kind, getattr(mixer.readout, "offset", None), mixer.lift.kind) == (
            "sigmoid",
            0.25,
            "momentum",
        )
        assert (mixer.heads.num_heads, mixer.heads.layout) == (8, "multi")


def test_pins_may_be_holes_and_a_grammar_an_item() -> None:
    decay = "{granularity: scalar, source: {choice: [input, learned]}}"
    items = f"{{choice: [{{use: softmax_rope}}, {{grammar: full, decay: {decay}}}]}}"
    found = space(TEXT.replace("{grammar: full}", items))
    drawings = [Drawing(Random(seed)) for seed in range(20)]
    mixers = [found.candidate(one).blocks[0].mixers[0] for one in drawings]
    assert {mixer.decay.source for mixer in mixers if mixer.decay.granularity == "scalar"} == {"input", "learned"}
    assert any(mixer == catalogue.get("softmax_rope").mixer for mixer in mixers)


@pytest.mark.parametrize(
    ("mixer", "words"),
    [
        ("{grammar: fully}", "must be `full`"),
        ("{grammar: full, use: mamba2}", "exclude each other"),
        ("{grammar: full, decay: {granularty: scalar}}", "did you mean `granularity`"),
        ("{grammar: full, decay: {granularity: some}}", "`granularity` must be"),
        ("{grammar: full, readout: {kind: identity}, shear: {source: input}}", "identity readout"),
        ("{grammar: full, heads: {state_dim: {choice: [8, 16]}}}", "sets `state_dim` itself"),
    ],
)
def test_a_wrong_pin_is_named_with_its_line(mixer: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        space(TEXT.replace("{grammar: full}", mixer))
    assert words in caught.value.message
    assert caught.value.line == 1


def test_the_example_of_the_page_is_such_a_space() -> None:
    page = Path(__file__).parents[2] / "docs" / "search.md"
    example = page.read_text().split("### Any mixer of the grammar")[1].split("```yaml\n")[1].split("```")[0]
    mixer = space(example).candidate(Drawing(Random(0))).blocks[0].mixers[0]
    assert (mixer.readout.kind, mixer.io.short_conv.width) == ("identity", 4)


def test_a_mixer_beyond_the_space_is_refused_with_the_key() -> None:
    far = MixerSpec.model_validate({"rotation": {"source": "constant", "theta": 1e20}})
    with pytest.raises(ValueError, match=r"`rotation\.theta`"):
        TINY_GRAMMAR.encode(far)


def test_the_first_look_at_the_full_grammar_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def building(document: Document) -> Loaded:
        built.append(document.file)
        return load_document(document)

    monkeypatch.setattr("search.space.load_document", building)
    space(TEXT)
    assert len(built) == 1


def test_the_name_of_a_candidate_lists_what_is_unusual() -> None:
    label = Adviser(space(TEXT, sampler={"name": "random", "seed": 0})).ask(0).label
    assert BETWEEN not in label
    assert "layout=multi " not in f"{label} "


@cache
def history() -> list[Past]:
    """Points of a study that an earlier version of the grammar searched, with one layout less."""
    one = Adviser(space(TEXT, sampler={"name": "random", "seed": 0}))
    points = [
        point for number in range(20) if "channel, state_dim 1" not in (point := one.ask(number)).parameters.values()
    ]
    older = [
        {name: text.replace(', "channel, state_dim 1"', "") for name, text in point.distributions.items()}
        for point in points
    ]
    assert [point.distributions for point in points] != older
    return [
        Past(number, point.parameters, before, "measured", (0.5,))
        for number, (point, before) in enumerate(zip(points, older, strict=True))
    ]


@pytest.mark.parametrize("sampler", units.names(SAMPLERS))
def test_a_study_goes_on_after_the_grammar_has_grown(sampler: str) -> None:
    adviser = Adviser(space(TEXT, sampler={"name": sampler, "seed": 0}))
    adviser.rebuild(history())
    points = [adviser.ask(number) for number in range(30, 35)]
    assert all(point.candidate is not None for point in points)
    renamed = {name for point in points for name in point.parameters if name.endswith(" options>")}
    assert renamed == ({"mixer<full>.heads.layout<4 options>"} if sampler == "tpe" else set())
