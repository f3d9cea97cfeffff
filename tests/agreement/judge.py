"""How a rule is held against probes: what is drawn for it, what is measured, and how the numbers are read as a verdict.

A reading applies the rule's own definition to measured numbers and knows nothing of the rule's logic. A number within
its uncertainty of a limit leaves the verdict undecided; where theory allows a predicted quantity a tolerance, that
tolerance counts as uncertainty too.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from designspace.candidate import Candidate, Located, single
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from tests.agreement.cases import Draw, Steer, mixer_case
from workers.probe import WHOLE, Subject, probe

Verdict = Literal["pass", "fail", "undecided"]

SEED = 0
DRAWS = 3
EXACT = 1e-12  # float64 rounding, relative


class Reading(NamedTuple):
    """A measured verdict and its numbers."""

    verdict: Verdict
    numbers: str


@dataclass(frozen=True)
class Found:
    """The measurements of the first mixer of a candidate, and of its stack."""

    candidate: Candidate
    mixer: Mapping[str, Measurement]
    stack: Mapping[str, Measurement]

    @property
    def located(self) -> Located:
        """The first mixer with its place."""
        return next(self.candidate.mixers())

    @property
    def spec(self) -> MixerSpec:
        """The first mixer."""
        return self.located.mixer

    @property
    def seq_len(self) -> int:
        """The target length."""
        return self.candidate.target.seq_len

    @property
    def subject(self) -> Subject:
        """The first mixer, to measure what no probe does."""
        return subject(self.candidate)

    def value(self, quantity: str) -> float | None:
        """A measured number of the mixer; None where the probe made none."""
        one = self.mixer.get(quantity)
        return None if one is None else one.value


def subject(candidate: Candidate) -> Subject:
    """The first mixer of a candidate, to measure what no probe does."""
    located = next(candidate.mixers())
    return Subject("agreement", located.path, SEED, DRAWS, candidate, located)


Read = Callable[[Found], Reading]


@dataclass(frozen=True)
class Judge:
    """What to draw, what to probe, how to read it; `steers` reach verdicts that random draws seldom have."""

    read: Read
    probes: tuple[str, ...] = ()
    draw: Draw = mixer_case
    steers: tuple[Draw, ...] = ()
    draws: int = DRAWS
    longest: int = 2048  # target length of a catalogue entry, at most


def found(candidate: Candidate, judge: Judge) -> Found:
    """The measurements that a judge reads."""
    return measured(candidate, probes=judge.probes, draws=judge.draws)


def measured(candidate: Candidate, *, probes: tuple[str, ...], draws: int) -> Found:
    """What the probes measure of the first mixer and of the stack."""
    taken = probe(candidate, SEED, only=probes, draws=draws) if probes else []
    path = next((one.path for one in candidate.mixers()), WHOLE)
    return Found(
        candidate,
        {one.quantity: one for one in taken if one.path == path},
        {one.quantity: one for one in taken if one.path == WHOLE},
    )


def ends(candidate: Candidate) -> Iterator[Candidate]:
    """One layer of the first mixer with all heads at the low end of its initial range, and at the high end."""
    spec = next(candidate.mixers()).mixer
    initial = spec.decay.initial_range
    if spec.decay.source == "constant" or spec.decay.granularity == "none":
        return  # heads lie on a schedule, which is what is measured
    if initial is None or initial[0] == initial[1]:
        return
    for end in initial:
        decay = spec.decay.model_copy(update={"initial": (end, end)})
        yield single(spec.model_copy(update={"decay": decay}), target=candidate.target)


def missing(quantity: str) -> Reading:
    """No number, no verdict."""
    return Reading("undecided", f"no {quantity}")


def band(value: float, low: float, high: float, slack: float) -> Verdict:
    """Inside or outside [low, high]; undecided within `slack` of an end."""
    if any(abs(value - limit) <= slack for limit in (low, high)):
        return "undecided"
    return "pass" if low <= value <= high else "fail"


def fails_where(is_bad: bool, numbers: str) -> Reading:
    """A verdict without a grey zone."""
    return Reading("fail" if is_bad else "pass", numbers)


def mixers(*, seq_len: int | None = None) -> Draw:
    """Draws of one layer of a random mixer."""
    return lambda number: mixer_case(number, seq_len=seq_len)


def steered(*steers: Steer, seq_len: int | None = None) -> tuple[Draw, ...]:
    """Draws of random mixers with these subfields."""

    def draw(steer: Steer) -> Draw:
        return lambda number: mixer_case(number, steer=steer, seq_len=seq_len)

    return tuple(draw(steer) for steer in steers)
