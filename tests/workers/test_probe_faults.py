"""Faulty forms: the design is sound and its rules stay silent, and a probe sees what the implementation does wrong."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from checkers.check import check
from designspace.candidate import Candidate, single
from designspace.mixer import MixerSpec
from designspace.target import Target
from workers.form import Form
from workers.forms import quadratic, recurrent
from workers.probe import probe
from workers.signals import Signals

MIXER = "blocks[0].mixer"
HEADS = {"num_heads": 2, "state_dim": 8, "head_dim": 8}
ROTARY: dict[str, Any] = {"rotation": {"source": "constant"}}
SOFTMAX: dict[str, Any] = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}, **ROTARY}
RETENTION: dict[str, Any] = {
    "decay": {"granularity": "scalar", "source": "constant", "map": "fixed", "initial": [0.9, 0.99]},
    "io": {"output_norm": "head_rms"},
}
GATED: dict[str, Any] = {
    "decay": {"granularity": "scalar", "map": "sigmoid", "initial": [0.5, 0.999]},
    "io": {"output_norm": "head_rms"},
}
TRUE_OF_THE_DESIGN = {"CD101", "CD202", "CD703"}  # a cache that grows, a softcap's floor, a chunk's reach
FORM_PROBES = ("causality", "linearity", "row_sums", "forms", "flags", "support", "padding")

Outputs = Callable[[MixerSpec, Signals], Tensor]


def candidate(fields: dict[str, Any]) -> Candidate:
    mixer = MixerSpec.model_validate({"heads": HEADS, **fields})
    return single(mixer, depth=32, target=Target(seq_len=64))


def faulty(name: str, outputs: Outputs) -> Form:
    def apply(spec: MixerSpec, signals: Signals, *, target_len: int | None = None) -> Tensor:
        del target_len
        return outputs(spec, signals)

    return Form(name, lambda _spec: None, apply)


def changed(spec: MixerSpec, part: str, **values: Any) -> MixerSpec:
    return spec.model_copy(update={part: getattr(spec, part).model_copy(update=values)})


def reads_next_value(spec: MixerSpec, signals: Signals) -> Tensor:
    """The diagonal is one column too far to the right."""
    return quadratic.apply(spec, replace(signals, v=signals.v.roll(-1, dims=1)))


def reads_all_keys_for_the_maximum(spec: MixerSpec, signals: Signals) -> Tensor:
    """The row sum runs over all keys, the mask is applied after it."""
    score = torch.einsum("bthn,bshn->bhts", signals.q, signals.k) * spec.base
    return torch.einsum("bhts,bshd->bthd", score.softmax(-1).tril(), signals.v)


def ignores_window(spec: MixerSpec, signals: Signals) -> Tensor:
    return quadratic.apply(changed(spec, "support", window=None), signals)


def ignores_chunk(spec: MixerSpec, signals: Signals) -> Tensor:
    return quadratic.apply(changed(spec, "support", chunk=None), signals)


def ignores_softcap(spec: MixerSpec, signals: Signals) -> Tensor:
    return quadratic.apply(changed(spec, "readout", softcap=None), signals)


def ignores_skip(spec: MixerSpec, signals: Signals) -> Tensor:
    return quadratic.apply(changed(spec, "support", diagonal="none"), signals)


def ignores_strict_mask(spec: MixerSpec, signals: Signals) -> Tensor:
    return quadratic.apply(changed(spec, "support", mask="causal"), signals)


def counts_one_key_too_many(spec: MixerSpec, signals: Signals) -> Tensor:
    """eta is the number of visible keys plus one."""
    count = torch.arange(1, signals.q.shape[1] + 1, dtype=signals.q.dtype)[None, :, None, None]
    return quadratic.apply(spec, signals) * count / (count + 1.0)


def adds_a_constant_to_eta(spec: MixerSpec, signals: Signals) -> Tensor:
    """The eps of the row sum is 1e-3 where the spec has none: rows sum to less than 1."""
    return quadratic.apply(changed(spec, "normalization", eps=1e-3), signals)


def decays_before_the_write(spec: MixerSpec, signals: Signals) -> Tensor:
    """The recurrence takes the decay of the previous step."""
    assert signals.log_decay is not None
    late = signals.log_decay.expand(signals.q.shape[0], -1, -1, -1).roll(1, dims=1)
    return recurrent.apply(spec, replace(signals, log_decay=late))


def forgets_the_state_between_chunks(spec: MixerSpec, signals: Signals) -> Tensor:
    """Chunks of 8 tokens are computed, and the state between them is lost."""
    return quadratic.apply(changed(spec, "support", chunk=8), signals)


def gates_by_the_value(spec: MixerSpec, signals: Signals) -> Tensor:
    return quadratic.apply(spec, replace(signals, v=signals.v.tanh()))


def divides_by_the_padded_length(spec: MixerSpec, signals: Signals) -> Tensor:
    return quadratic.apply(spec, signals) * signals.q.shape[1] / 24.0


def shares_the_maximum_of_the_batch(spec: MixerSpec, signals: Signals) -> Tensor:
    y = quadratic.apply(spec, signals)
    return y * (1.0 + 0.01 * y.abs().amax(0, keepdim=True))


CASES: list[tuple[str, dict[str, Any], Outputs, str]] = [
    ("leaks a value", SOFTMAX, reads_next_value, "later_tokens"),
    ("leaks a key", SOFTMAX, reads_all_keys_for_the_maximum, "later_tokens"),
    ("window", {**SOFTMAX, "support": {"window": 4}}, ignores_window, "outside_support"),
    ("long window", {**SOFTMAX, "support": {"window": 16}}, ignores_window, "response.support.window"),
    ("chunk", {**SOFTMAX, "support": {"chunk": 4}}, ignores_chunk, "outside_support"),
    (
        "softcap",
        {**SOFTMAX, "readout": {"kind": "exponential", "softcap": 1.0}},
        ignores_softcap,
        "response.readout.softcap",
    ),
    ("skip", {**RETENTION, "support": {"diagonal": "D"}}, ignores_skip, "response.support.diagonal"),
    ("strict mask", {**RETENTION, "support": {"mask": "strict"}}, ignores_strict_mask, "response.support.mask"),
    ("row sums", SOFTMAX, adds_a_constant_to_eta, "row_sum_deviation"),
    (
        "counted row",
        {"readout": {"kind": "relu"}, "normalization": {"kind": "length"}, **ROTARY},
        counts_one_key_too_many,
        "row_sum_deviation",
    ),
    ("recurrent", GATED, decays_before_the_write, "differs_from_quadratic"),
    ("chunked", RETENTION, forgets_the_state_between_chunks, "differs_from_recurrent"),
    ("value", SOFTMAX, gates_by_the_value, "deviation"),
    ("padding", RETENTION, divides_by_the_padded_length, "padding_effect"),
    ("batch", SOFTMAX, shares_the_maximum_of_the_batch, "batch_effect"),
]


@pytest.mark.parametrize(("name", "fields", "outputs", "quantity"), CASES)
def test_faulty_form_is_caught_while_the_design_stays_clean(
    name: str, fields: dict[str, Any], outputs: Outputs, quantity: str
) -> None:
    sound = candidate(fields)
    static = check(sound)
    assert {finding.code for finding in static.findings if finding.severity != "info"} <= TRUE_OF_THE_DESIGN
    measured = probe(sound, 0, only=FORM_PROBES, draws=2, form=faulty(name, outputs))
    report = check(sound, measurements=measured)
    assert quantity in {fault.quantity for fault in report.faults if fault.path == MIXER}
    assert [finding.code for finding in report.findings] == [finding.code for finding in static.findings]


@pytest.mark.parametrize(
    "fields",
    [{**case[1]} for case in CASES] + [{"features": {"map": "softmax_pm", "map_over": "sequence"}}],
)
def test_sound_forms_have_no_fault(fields: dict[str, Any]) -> None:
    sound = candidate(fields)
    assert check(sound, measurements=probe(sound, 0, only=FORM_PROBES, draws=2)).faults == ()
