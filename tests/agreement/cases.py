"""Candidates for one rule: random ones, and ones steered to a verdict that random ones seldom have.

Every candidate follows from the rule's name and a number, so a disagreement is drawn again from its number alone.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from random import Random
from typing import Any, Literal, NamedTuple

from checkers.rule import Context, Rule, all_rules
from designspace import catalogue
from designspace.candidate import Candidate, single
from designspace.decay import schedule
from designspace.mixer import MixerSpec
from designspace.target import Target
from tests.strategies import random_candidate, random_mixer

Answer = Literal["pass", "fail", "unknown", "inapplicable"]
Steer = Mapping[str, Any]  # subfields of a mixer by part
Draw = Callable[[int], Candidate]

RANK: tuple[Answer, ...] = ("fail", "unknown", "pass", "inapplicable")
STEERED = 1_000_000  # numbers from here on are steered draws
LENGTHS = (64, 64, 256, 2048)
SHORT = 20  # tokens of a stack whose whole length is probed


class Case(NamedTuple):
    """A candidate and what the rule says of it."""

    number: int
    candidate: Candidate
    answer: Answer
    reason: str


@cache
def rule(name: str) -> Rule:
    """The rule of a name."""
    return next(one for one in all_rules() if one.name == name)


def judged(name: str, number: int, candidate: Candidate) -> Case:
    """The static answer over the candidate: one fail is a fail, one unknown is unknown."""
    outcomes = tuple(rule(name).check(Context(candidate)))
    if not outcomes:
        return Case(number, candidate, "inapplicable", "nothing to judge")
    worst = min(outcomes, key=lambda outcome: RANK.index(outcome.answer))
    return Case(number, candidate, worst.answer, worst.reason)


def mixer_case(number: int, *, seq_len: int | None = None, steer: Steer | None = None) -> Candidate:
    """One layer of a random mixer; every second one has realistic widths.

    Raises:
        ValueError: no valid mixer with what is steered, or one whose outputs do not depend on what it reads.
    """
    rng = Random(number)
    mixer = random_mixer(number, small=number % 2 == 0, fixed=steer)
    nothing = degenerate(mixer)
    if nothing is not None:
        raise ValueError(f"nothing to measure: {nothing}.")
    length = seq_len or rng.choice(LENGTHS)
    return single(mixer, target=Target(seq_len=length, dtype=rng.choice(("bfloat16", "float16", "float32"))))


def degenerate(mixer: MixerSpec) -> str | None:
    """Why the outputs of a mixer are the same whatever it reads; None for all others."""
    support, gain, gate = mixer.support, mixer.erase.gain, mixer.scaling.gate
    norm, width = mixer.io.output_norm, mixer.heads.head_dim
    if support.mask == "strict" and 1 in (support.window, support.chunk):
        return "no query sees a key"
    single = 1 in (support.window, support.chunk) or (support.mask == "strict" and 2 in (support.window, support.chunk))
    if single and mixer.normalization.kind == "sum":
        return "every row is its one key"
    if gate == "tied_to_erase" and gain[1] == 0.0:
        return "an erase gain of 0 writes no key"
    if gate in ("complement", "sqrt_1_minus_a2") and mixer.decay.hull == (1.0, 1.0):
        return "a decay of 1 writes no key"
    if mixer.decay.hull[1] == 0.0:
        return "a decay of 0 keeps no key"
    constant = mixer.decay.granularity != "none" and mixer.decay.source == "constant"
    if constant and set(schedule(mixer.decay, mixer.heads.num_heads)) == {0.0}:
        return "every head forgets at once"
    if mixer.features.map == "one_minus_decay" and mixer.decay.hull[0] == 1.0:
        return "keys of a decay of 1 are 0"
    if mixer.features.norm == "layernorm" and (mixer.key_dim == 1 or mixer.features.map == "ones"):
        return "the norm of equal channels is 0"
    if mixer.features.map == "dpfp" and mixer.heads.state_dim == 1:
        return "the map of one channel is 0"
    if constant and gate != "none" and {0.0, 1.0} >= set(schedule(mixer.decay, mixer.heads.num_heads)):
        return "no head both writes and keeps"
    if (norm == "head_ln" and width <= 2) or (norm == "head_rms" and width == 1):
        return "the output norm leaves signs only"
    return None


def stack_case(number: int) -> Candidate:
    """A random stack at a short target length."""
    found = random_candidate(number, small=True)
    for located in found.mixers():
        nothing = degenerate(located.mixer)
        if nothing is not None:
            raise ValueError(f"nothing to measure: {nothing}.")
    return found.model_copy(update={"target": found.target.model_copy(update={"seq_len": SHORT, "task": "sequence"})})


def cases(name: str, draw: Draw, steers: tuple[Draw, ...], *, specs: range, more: int) -> Iterator[Case]:
    """The random cases of these numbers, then up to `more` steered ones."""
    for number in specs:
        yield from _one(name, number, draw)
    first = STEERED + specs.start
    for number in range(first, first + (more if steers else 0)):
        yield from _one(name, number, steers[number % len(steers)])


def published(name: str, longest: int) -> Iterator[tuple[str, Case]]:
    """One layer of the first mixer of every catalogue entry, at its length or at the longest that is measured."""
    for entry in catalogue.names():
        found = catalogue.get(entry).candidate
        first = next(found.mixers(), None)
        if first is not None:
            target = found.target.model_copy(update={"seq_len": min(found.target.seq_len, longest)})
            yield entry, judged(name, 0, single(first.mixer, target=target))


def _one(name: str, number: int, draw: Draw) -> Iterator[Case]:
    try:
        candidate = draw(number)
    except ValueError:
        return
    yield judged(name, number, candidate)
