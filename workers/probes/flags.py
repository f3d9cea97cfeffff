"""Does the form read every key of the spec? Each key is set to its plain value: where the function changes by the
definition, the outputs of the form must change as well. A response of 0 is a key that the form ignores.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import coefficients as definition
from workers.probe import Probe, Subject, relative_change

PREFIX = "response"
PLAIN: dict[str, dict[str, Any]] = {  # key by key, the value that does nothing
    "readout.softcap": {"readout": {"softcap": None}},
    "decay": {"decay": {"granularity": "none"}},
    "rotation": {"rotation": {"source": "none"}},
    "erase": {"erase": {"direction": "none"}},
    "erase.compose": {"erase": {"compose": "product"}},
    "shear": {"shear": {"source": "none"}},
    "shear.scaled": {"shear": {"scaled": False}},
    "lift": {"lift": {"kind": "none"}},
    "scaling.base": {"scaling": {"base": 0.5}},
    "scaling.where": {"scaling": {"where": "score"}},
    "normalization": {"normalization": {"kind": "none"}},
    "normalization.factor": {"normalization": {"factor": 1.0}},
    "normalization.length_kind": {"normalization": {"length_kind": "visible"}},
    "support.mask": {"support": {"mask": "causal"}},
    "support.window": {"support": {"window": None}},
    "support.chunk": {"support": {"chunk": None}},
    "support.read": {"support": {"read": "after", "diagonal": "none"}},
    "support.diagonal": {"support": {"diagonal": "none"}},
}
LONGEST = 8  # tokens of a window or chunk: longer ones are cut to it, or nothing would lie outside
NOTICEABLE = 1e-3  # change by the definition, over the rms of the outputs


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = narrowed(subject.small)
    for key, change in PLAIN.items():
        plain = _changed(spec, change)
        if plain is None or plain == spec:
            continue
        responses = [one for draw in range(subject.draws) if (one := _response(subject, spec, plain, draw)) is not None]
        yield from subject.smallest(f"{PREFIX}.{key}", responses, length=subject.length)


def narrowed(spec: MixerSpec) -> MixerSpec:
    """The mixer with a window or chunk that is short beside the sequences probed."""
    cut = {
        name: min(size, LONGEST) for name in ("window", "chunk") if (size := getattr(spec.support, name)) is not None
    }
    return spec.model_copy(update={"support": spec.support.model_copy(update=cut)})


def _changed(spec: MixerSpec, change: dict[str, dict[str, Any]]) -> MixerSpec | None:
    """The mixer with other values; None where they do not fit the rest of it."""
    content = spec.model_dump()
    for part, values in change.items():
        if not set(values) <= set(content[part]):
            return None
        content[part] |= values
    try:
        return MixerSpec.model_validate(content)
    except ValidationError:
        return None


def _response(subject: Subject, spec: MixerSpec, plain: MixerSpec, draw: int) -> float | None:
    """Change of the form's outputs over the change of the definition's; None where the definition hardly changes."""
    signals = subject.signals(spec, draw, subject.length)
    length = subject.mixer(spec, draw).target_len
    due = relative_change(*(definition.outputs(one, signals, target_len=length) for one in (spec, plain)))
    if due < NOTICEABLE:
        return None
    form = subject.mixer(spec, draw).form
    if form.invalid_reason(plain) is not None:
        return None
    made = relative_change(*(form.apply(one, signals, target_len=length) for one in (spec, plain)))
    return made / due


probe = Probe(
    quantities={
        f"{PREFIX}.{key}": f"change of the outputs without `{key}`, over the change it should make; 0 is a key that is"
        " ignored"
        for key in PLAIN
    },
    mixer=_mixer,
)
