"""How many bytes does the recurrent form keep between two tokens, for one sequence and layer?

The state is that of the recurrent form at the full sizes. Numbers that are always equal count once: heads that share a
stream, and the permuted entries of a tensor power. They are counted in the declared format of the state; the past
inputs of the short convolution come on top, in the format of the target.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from designspace.cost import DTYPE_BYTES
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.readout import monomials
from designspace.spec import Dtype
from designspace.streams import stream_counts
from workers.forms import recurrent
from workers.initial import normal
from workers.layers import ShortConvolution
from workers.mixer import Mixer
from workers.probe import Probe, Subject
from workers.realise import per_head, random_signals
from workers.signals import Signals

LENGTH = 5  # tokens before the state is looked at
MAX_ROWS = 2**14  # of a tensor power that is probed
MAX_NUMBERS = 2**23  # of a state that is probed
DIGITS = 10  # decimal, to which equal numbers agree: products over a tensor power round differently


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = subject.spec
    if recurrent.form.invalid_reason(spec) is not None or spec.lift.kind == "shift" or spec.support.chunk == 1:
        return  # chunks of one token: no state outlives a step
    if spec.key_dim ** max(monomials(spec.readout), default=1) > MAX_ROWS:
        return
    if (spec.lifted_dim or 1) * spec.heads.num_heads * spec.heads.head_dim > MAX_NUMBERS:
        return
    parts = recurrent.kept_state(spec, _signals(spec, subject.draw_seed(0)))
    numbers = sum(_distinct(part[0]) for part in _needed(spec, parts))
    width = DTYPE_BYTES[spec.execution.dtype.state]
    bytes_kept = numbers * width + _convolution_bytes(subject, spec, subject.candidate.target.dtype)
    yield from subject.largest("state_bytes", [float(bytes_kept)], length=LENGTH, unit="bytes")


def _tokens(spec: MixerSpec) -> int:
    """Tokens that fill the last chunk: after its first one, states that only a decay tells apart are still equal."""
    chunk = min(spec.support.chunk or LENGTH, LENGTH)
    return -(-LENGTH // chunk) * chunk


def _signals(spec: MixerSpec, seed: int) -> Signals:
    """Signals whose keys and gates differ everywhere but between heads that share a stream: equal numbers of the state
    are then equal by its form, not because a key happens to be constant.
    """
    signals, count = random_signals(spec, seed=seed, batch=1, seq_len=_tokens(spec)), stream_counts(spec)
    heads, steps = spec.heads.num_heads, signals.k.shape[1]
    key = normal((1, steps, count.key, signals.k.shape[-1]), seed=seed, name="state key") * signals.k.shape[-1] ** -0.5
    gate = normal((1, steps, count.value), seed=seed, name="state gate").exp()
    has_gate = signals.gate is not None
    return replace(signals, k=per_head(key, heads), gate=per_head(gate, heads) if has_gate else None, log_gate=None)


def _needed(spec: MixerSpec, parts: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Without the running maximum of scores that a constant bounds (the reference keeps one in any case)."""
    if spec.score_is_additive and spec.execution.stabiliser != "running_max":
        return parts[:-1]
    return parts


def _distinct(state: Tensor) -> int:
    """Numbers of a state [num_heads, ...] without copies of heads, and of rows of a tensor power within a head."""
    if state.dim() < 3:
        return int(torch.unique(_rounded(state.reshape(state.shape[0], -1)), dim=0).numel())
    heads = torch.unique(_rounded(state.flatten(1)), dim=0).reshape(-1, *state.shape[1:])
    return sum(_distinct_rows(head) for head in heads)


def _distinct_rows(head: Tensor) -> int:
    """Numbers in the rows [p, rows] of a head, equal rows once; a row that is still 0 will be written and counts."""
    written = head[:, head.abs().amax(0) > 0]
    silent = head.shape[1] - written.shape[1]
    return int(torch.unique(written, dim=-1).numel()) + silent * head.shape[0]


def _rounded(state: Tensor) -> Tensor:
    scale = 10.0**DIGITS / float(state.abs().max().clamp(min=1e-300))
    return torch.round(state * scale)


def _convolution_bytes(subject: Subject, spec: MixerSpec, dtype: Dtype) -> int:
    """Past inputs that the short convolution reads: one per tap and channel but the first."""
    if not spec.io.short_conv.width:
        return 0
    mixer = Mixer(spec, model_dim=1, seed=subject.draw_seed(0), borrows_values=subject.located.borrows_values)
    if not isinstance(mixer.convolution, ShortConvolution):
        return 0
    return mixer.convolution.taps[1:].numel() * DTYPE_BYTES[dtype]


probe = Probe(
    quantities={"state_bytes": "bytes that the recurrent form keeps between two tokens, one sequence and layer"},
    mixer=_mixer,
)
