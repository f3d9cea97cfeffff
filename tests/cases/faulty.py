"""Faulty implementations of sound designs (class K): design rules stay silent, and a probe sees the fault."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from torch import Tensor

from checkers.check import check
from checkers.finding import Report
from designspace.candidate import Candidate
from designspace.mixer import MixerSpec
from designspace.units import discover
from tests.cases.record import loaded
from workers.form import Form
from workers.probe import probe
from workers.signals import Signals

PACKAGE = "tests.cases.forms"
DRAWS = 2
SEED = 0
Outputs = Callable[[MixerSpec, Signals], Tensor]


@dataclass(frozen=True)
class Faulty:
    """One record of class K.

    Attributes:
        record: number in lint_cases.md.
        title: what the implementation does wrong.
        spec: the sound design, a mapping as in a spec file or `catalogue:NAME`.
        outputs: what a faulty form makes of the signals; None where the fault lies outside of the form.
        replaces: parts of the module by dotted name, and what a faulty build has in their place.
        quantity: the measurement that shows the fault.
        probes: the probes that are run, on the faulty and on the sound form.
        names: findings at warning or error that are true of the design.
    """

    record: str
    title: str
    spec: Mapping[str, Any] | str
    quantity: str
    probes: tuple[str, ...]
    outputs: Outputs | None = None
    replaces: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @property
    def candidate(self) -> Candidate:
        """The sound design."""
        return loaded(self.spec, None).candidate

    def report(self, *, is_faulty: bool) -> Report:
        """The report with the probes of the faulty build, or of the sound one."""
        candidate = self.candidate
        with ExitStack() as build:
            for name, part in self.replaces.items() if is_faulty else ():
                build.enter_context(patch(name, part))
            form = self._form(self.outputs) if is_faulty and self.outputs is not None else None
            return check(candidate, measurements=probe(candidate, SEED, only=self.probes, draws=DRAWS, form=form))

    def _form(self, outputs: Outputs) -> Form:
        def apply(spec: MixerSpec, signals: Signals, *, target_len: int | None = None) -> Tensor:
            del target_len
            return outputs(spec, signals)

        return Form(self.title, lambda _spec: None, apply)

    def problems(self) -> tuple[str, ...]:
        """What is not as it should be: an alarm about the design, a sound form with faults, a fault that is missed."""
        static = check(self.candidate)
        alarms = [
            f"{one.code} {one.severity} about a sound design: {one.message}"
            for one in static.active
            if one.severity != "info" and one.code not in self.names
        ]
        sound = [f"the sound form has a fault: {one.message}" for one in self.report(is_faulty=False).faults]
        found = [one.quantity for one in self.report(is_faulty=True).faults]
        missed = [] if self.quantity in found else [f"no fault in `{self.quantity}`, only in {found}"]
        return (*alarms, *sound, *missed)


def faulty_forms() -> dict[str, Faulty]:
    """Every faulty form by file name."""
    return discover(PACKAGE, "faulty", Faulty)
