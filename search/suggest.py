"""The adviser: an Optuna study in memory that proposes points of a space. It holds no truth: the store rebuilds it.

How outcomes are told (search.md 0.5): a finished candidate by its values; a rejected one by a violated constraint, so
that the sampler learns where the checkers say no; a failed one likewise. `tell(FAIL)` would teach nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

import numpy as np
import optuna
from optuna.distributions import distribution_to_json, json_to_distribution
from optuna.samplers import RandomSampler
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from designspace import units
from designspace.candidate import Candidate
from designspace.errors import SpecError
from search.grammar.full import MARK
from search.grammar.holes import BETWEEN
from search.holes import TAGS, Range
from search.objectives import direction
from search.sampler import Sampler
from search.space import SAMPLERS, Space

HISTORY = 1000  # trials shown to the sampler, so that an ask stays near 15 ms
STREAK = 5  # asks in a row that brought nothing new, after which points are drawn at random until one is new
VIOLATED, FEASIBLE = 1.0, 0.0
CONSTRAINT = "rejected"

Outcome = Literal["measured", "rejected", "failed"]


@dataclass(frozen=True)
class Point:
    """A proposed point: the trial that stands for it, its parameters, and the candidate or why there is none."""

    trial: int
    parameters: Mapping[str, Any]
    distributions: Mapping[str, str]
    candidate: Candidate | None
    error: SpecError | None = None

    @property
    def label(self) -> str:
        """The chosen options in a few words, for the candidate's name."""
        chosen = ((name, value) for name, value in self.parameters.items() if not self._is_usual(name, value))
        return " ".join(_option(name, value) for name, value in chosen)

    def _is_usual(self, name: str, value: object) -> bool:
        """An option of the full grammar that says little: the first one, or that a number follows."""
        if MARK not in name:
            return False
        first, *_ = getattr(json_to_distribution(self.distributions[name]), "choices", (None,))
        return value in (first, BETWEEN)


@dataclass(frozen=True)
class Past:
    """A point of an earlier run as the store kept it; without an outcome it is still in training."""

    number: int
    parameters: Mapping[str, Any]
    distributions: Mapping[str, str]
    outcome: Outcome | None
    values: tuple[float, ...] | None = None


@dataclass
class Adviser:
    """Proposes points and learns from outcomes; points are drawn from the space's seed and their number alone."""

    space: Space
    study: optuna.Study = field(init=False)
    sampler: Sampler = field(init=False)
    streak: int = 0

    def __post_init__(self) -> None:
        self.sampler = units.load_unit(SAMPLERS, self.space.settings.sampler.name, "sampler", Sampler)
        self.study = self._empty()

    def ask(self, number: int) -> Point:
        """A new point; `number` is the number of asks before it, in this study from its start."""
        seed = _seed(self.space.settings.sampler.seed, number)
        self.study.sampler = RandomSampler(seed=seed) if self.streak >= STREAK else self.sampler.make(seed)
        trial = self.study.ask()
        try:
            candidate, error = self.space.candidate(_Asking(trial)), None
        except SpecError as problem:
            candidate, error = None, problem
        distributions = {name: distribution_to_json(one) for name, one in trial.distributions.items()}
        return Point(trial.number, dict(trial.params), distributions, candidate, error)

    def tell(self, trial: int, outcome: Outcome, values: Sequence[float] | None = None) -> None:
        """Learn what became of the point of `trial`.

        Raises:
            ValueError: a measured point without values.
        """
        if outcome == "measured" and values is None:
            raise ValueError("A measured point needs its values.")
        open_trial = Trial(self.study, self.study.get_trials(deepcopy=False)[trial]._trial_id)
        open_trial.set_constraint(CONSTRAINT, FEASIBLE if outcome == "measured" else VIOLATED)
        state, told = self._told(outcome, values)
        self.study.tell(trial, values=told, state=state)

    def note(self, *, is_new: bool) -> None:
        """Count asks in a row that brought no candidate to train."""
        self.streak = 0 if is_new else self.streak + 1

    def rebuild(self, history: Sequence[Past]) -> dict[int, int]:
        """Forget all and learn `history` again; the trial of each number still in training.

        At most HISTORY trials are kept: everything in training, then the best and the newest in equal parts.
        """
        self.study = self._empty()
        kept = self._kept(history)
        self.study.add_trials([self._trial(past, index) for index, past in enumerate(kept)])
        return {past.number: index for index, past in enumerate(kept) if past.outcome is None}

    def _empty(self) -> optuna.Study:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        directions = [direction(objective) for objective in self.space.settings.objectives]
        return optuna.create_study(directions=directions, sampler=RandomSampler(seed=0))

    def _told(self, outcome: Outcome, values: Sequence[float] | None) -> tuple[TrialState, list[float] | None]:
        if outcome == "measured" and values is not None:
            return TrialState.COMPLETE, list(values)
        if self.sampler.rejected == "complete":
            return TrialState.COMPLETE, self._neutral()
        return TrialState.PRUNED, None

    def _neutral(self) -> list[float]:
        """The median of each objective so far: neither praise nor blame, the constraint says enough."""
        complete = [trial.values for trial in self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))]
        columns = zip(*complete, strict=True) if complete else [(0.0,) for _ in self.space.settings.objectives]
        return [median(column) for column in columns]

    def _trial(self, past: Past, index: int) -> FrozenTrial:
        distributions = {name: json_to_distribution(text) for name, text in past.distributions.items()}
        state, values = (TrialState.RUNNING, None) if past.outcome is None else self._told(past.outcome, past.values)
        constraint = FEASIBLE if past.outcome == "measured" else VIOLATED
        return create_trial(
            state=state,
            values=values,
            params=dict(past.parameters),
            distributions=distributions,
            system_attrs=dict(self.sampler.replayed(index)),
            constraints=None if past.outcome is None else {CONSTRAINT: constraint},
        )

    def _kept(self, history: Sequence[Past]) -> list[Past]:
        points = [past for past in history if past.parameters]
        if len(points) <= HISTORY:
            return points
        sign = 1 if direction(self.space.settings.objectives[0]) == "maximize" else -1
        measured = [past for past in points if past.values]
        best = sorted(measured, key=lambda past: sign * past.values[0] if past.values else 0.0)[-HISTORY // 2 :]
        keep = {past.number for past in points if past.outcome is None} | {past.number for past in best}
        for past in reversed(points):
            if len(keep) >= HISTORY:
                break
            keep.add(past.number)
        return [past for past in points if past.number in keep]


@dataclass(frozen=True)
class _Asking:
    """Fills holes with what a trial suggests."""

    trial: Trial

    def label(self, name: str, labels: tuple[str, ...]) -> str:
        try:
            return str(self.trial.suggest_categorical(name, labels))
        except ValueError:  # a study that began with another version of the grammar, which offered other options
            return str(self.trial.suggest_categorical(f"{name}<{len(labels)} options>", labels))

    def number(self, name: str, bounds: Range) -> float:
        if bounds.integer:
            return self.trial.suggest_int(name, int(bounds.low), int(bounds.high), log=bounds.log)
        return self.trial.suggest_float(name, bounds.low, bounds.high, log=bounds.log)


def _seed(seed: int, number: int) -> int:
    """Seed of the draw at `number`, independent of all others, so that a proposal can be repeated from its row."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _option(name: str, value: object) -> str:
    """`readout=relu` for the hole `blocks[0].mixer.readout.kind`; a whole mixer is called by its label alone."""
    keys = [key for key in re.sub(r"<[^>]*>|\[\d+\]", "", name).split(".") if key not in TAGS]
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return text if not keys or keys[-1] == "mixer" else f"{keys[-1]}={text}"
