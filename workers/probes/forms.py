"""Does the form compute the function of the spec? Against the other forms and the float64 definition, before the output
stage. Parallel and recurrent forms of one spec must agree.
"""

from collections.abc import Iterator

from torch import Tensor

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.units import discover
from workers import coefficients as definition
from workers.form import Form
from workers.probe import Probe, Subject, relative_change
from workers.signals import Signals


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = subject.small
    others = {name: one for name, one in _forms().items() if one.invalid_reason(spec) is None}
    found: dict[str, list[float]] = {}
    for draw in range(subject.draws):
        signals = subject.signals(spec, draw, subject.length)
        made = subject.outputs(spec, draw, signals)
        for name, one in others.items():
            other = one.apply(spec, signals, target_len=subject.mixer(spec, draw).target_len)
            found.setdefault(f"differs_from_{name}", []).append(relative_change(other, made))
        due = _defined(subject, spec, draw, signals)
        found.setdefault("differs_from_definition", []).append(relative_change(due, made))
    for quantity, changes in found.items():
        yield from subject.largest(quantity, changes, length=subject.length)


def _forms() -> dict[str, Form]:
    return discover("workers.forms", "form", Form)


def _defined(subject: Subject, spec: MixerSpec, draw: int, signals: Signals) -> Tensor:
    return definition.outputs(spec, signals, target_len=subject.mixer(spec, draw).target_len)


probe = Probe(
    quantities={
        **{f"differs_from_{name}": f"largest difference from the {name} form, over its rms" for name in _forms()},
        "differs_from_definition": "largest difference from the float64 definition, over its rms",
    },
    mixer=_mixer,
)
