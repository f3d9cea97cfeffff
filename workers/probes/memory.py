"""Does what a decoder must remember grow with the length? (P1)

Three views of it, none of which looks at the readout. How many numbers the recurrent form keeps. How many keys the last
query reads at all. And the rank of the coefficients of the future to the past: everything that later queries can learn
of the tokens before them passes through the block alpha[i > m, j <= m], whose rank is at most the rows of a recurrent
state, and grows with m where every key has to be kept. Narrow or fading scores make any smooth readout nearly one of
low rank, so a low rank counts only where the singular values end at once (`memory_gap`).
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import terms
from workers.forms import recurrent
from workers.probe import TINY, Probe, Subject, resized
from workers.signals import Signals

LENGTHS = (64, 128, 256)
LASTING = 1e-3  # of log a and of what a shear adds
WIDTH = 4  # key channels: as many as powers of them stay few
TOLERANCE = 1e-11  # of the largest singular value, rows and columns scaled to 1
CLEAR = 1e-8  # singular values above it are no rounding
SPREAD = 8.0  # standard deviation of the scores: narrow ones make any smooth readout nearly a polynomial
DRAWS = 2
KEPT_PART = 16  # the recurrence runs for a sixteenth of the length: it is slow


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = resized(subject.small, state_dim=min(WIDTH, subject.small.heads.state_dim)) or subject.small
    for length in LENGTHS:
        blocks = [_block(subject, spec, draw, length) for draw in range(min(subject.draws, DRAWS))]
        if not all(one.isfinite().all() for one in blocks):
            return  # 0 / 0 of a norm without eps
        ranks = [_ranks(one) for one in blocks]
        yield from subject.largest(memory_rank(length), [float(rank) for rank, _ in ranks], length=length, unit="rows")
        gaps = [float(rank - clear) for rank, clear in ranks]
        yield from subject.largest(memory_gap(length), gaps, length=length, unit="rows")
        read = [float((one != 0).sum(-1).max()) for one in blocks]
        yield from subject.largest(keys_read(length), read, length=length, unit="keys")
        if recurrent.form.invalid_reason(spec) is None:
            yield from subject.largest(kept(length), [_kept(subject, spec, length)], length=length, unit="numbers")


def _block(subject: Subject, spec: MixerSpec, draw: int, length: int) -> Tensor:
    """The coefficients of the queries of the second half to the keys of the first [num_heads, half, steps]."""
    signals = _spread(spec, _lasting(subject.signals(spec, draw, length, batch=1)))
    alpha = subject.coefficients(spec, draw, signals)
    half = length // 2
    return alpha[0, :, half:, : half * spec.erase.rank]


def _ranks(block: Tensor) -> tuple[int, int]:
    """Largest numerical rank of any head, and how many of its singular values are clearly none of rounding."""
    block = block / block.abs().amax(2, keepdim=True).clamp(min=TINY)
    values = torch.linalg.svdvals(block / block.abs().amax(1, keepdim=True).clamp(min=TINY))
    counts = [(values > tolerance * values[:, :1]).sum(1) for tolerance in (TOLERANCE, CLEAR)]
    head = int(counts[0].argmax())
    return int(counts[0][head]), int(counts[1][head])


def _kept(subject: Subject, spec: MixerSpec, length: int) -> float:
    """Numbers that the recurrent form keeps after `length` tokens."""
    signals = subject.signals(spec, 0, length // KEPT_PART, batch=1)
    return float(sum(part.numel() for part in recurrent.kept_state(spec, signals)))


def _lasting(signals: Signals) -> Signals:
    """The same signals with steps that keep nearly everything: a key that has faded below rounding has no rank."""
    faded = {"log_decay": signals.log_decay, "shear": signals.shear}
    return replace(
        signals, **{name: LASTING * value.clamp(min=-1.0) for name, value in faded.items() if value is not None}
    )


def _spread(spec: MixerSpec, signals: Signals) -> Signals:
    """The same signals with queries as long as wide scores need."""
    key = signals.k * terms.gate(spec, signals)[..., None] * terms.score_base(spec, signals)[:, None]
    std = float(torch.einsum("bthn,bshn->bhts", signals.q, key).std())
    return replace(signals, q=signals.q * (SPREAD / std)) if std > 0 and math.isfinite(std) else signals


def memory_gap(length: int) -> str:
    """Name of the singular values between rounding and what is clearly there."""
    return f"memory_gap_{length}"


def keys_read(length: int) -> str:
    """Name of the number of keys that a query reads."""
    return f"keys_read_{length}"


def kept(length: int) -> str:
    """Name of the size of the recurrent state."""
    return f"kept_numbers_{length}"


def memory_rank(length: int) -> str:
    """Name of the rank at one length."""
    return f"memory_rank_{length}"


probe = Probe(
    quantities={
        **{
            memory_rank(n): f"rank of the coefficients of the last {n // 2} queries to the keys before" for n in LENGTHS
        },
        **{memory_gap(n): "singular values of the same between 1e-11 and 1e-8 of the largest" for n in LENGTHS},
        **{
            keys_read(n): f"keys among the first {n // 2} whose coefficient is not 0 for the last query"
            for n in LENGTHS
        },
        **{kept(n): f"numbers that the recurrent form keeps after {n // KEPT_PART} tokens" for n in LENGTHS},
    },
    mixer=_mixer,
)
