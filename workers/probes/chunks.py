"""Does the form equal a chunked computation? Inside a chunk in parallel, between chunks by a state (before eta).

    y_i = sum of the chunk + q_i (A_i ... A_s) S_s,   S_s the sum over all keys before the first token s of the chunk

A_t and b_j k_j are those of the definition, so nothing of the form under test computes the state. Source: catalogue.md,
section 2.6; arXiv 2405.21060, section 6.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.readout import is_linear
from workers import coefficients as definition
from workers import terms
from workers.probe import Probe, Subject, relative_change
from workers.signals import Signals

CHUNK = 8  # tokens


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = bare(subject.small)
    if not has_chunks(spec) or subject.length <= CHUNK:
        return
    changes = [_difference(subject, spec, draw) for draw in range(subject.draws)]
    yield from subject.largest("differs_from_chunked", changes, length=subject.length)


def has_chunks(spec: MixerSpec) -> bool:
    """A linear phi and a state of n x p that every query reads after its own step."""
    support = spec.support
    plain = support.mask == "causal" and support.read == "after" and support.window is None and support.chunk is None
    return is_linear(spec.readout) and spec.lift.kind == "none" and plain


def bare(spec: MixerSpec) -> MixerSpec:
    """The sum over the keys alone: without eta, D and bonus."""
    diagonal = "none" if spec.support.read == "after" else spec.support.diagonal
    return spec.model_copy(
        update={
            "normalization": spec.normalization.model_copy(update={"kind": "none", "factor": 1.0}),
            "support": spec.support.model_copy(update={"diagonal": diagonal}),
        }
    )


def _difference(subject: Subject, spec: MixerSpec, draw: int) -> float:
    signals = subject.signals(subject.small, draw, subject.length)
    made = subject.outputs(subject.small, draw, signals, of=spec)
    return relative_change(chunked(spec, signals), made)


def chunked(spec: MixerSpec, signals: Signals) -> Tensor:
    """Outputs [batch, seq_len, num_heads, head_dim], chunk by chunk."""
    rank, length = spec.erase.rank, signals.q.shape[1]
    query = terms.query(spec, signals)
    after = terms.base(spec, signals)[:, None] if spec.scaling.where == "after" else 1.0
    key = terms.written_key(spec, signals) * terms.score_base(spec, signals)[:, None]
    state = key.new_zeros(*key.shape[:1], key.shape[2], key.shape[3], signals.v.shape[-1])
    chunks = []
    for start in range(0, length, CHUNK):
        tokens = range(start, min(start + CHUNK, length))
        inner = torch.zeros_like(state)  # of the keys of this chunk alone
        outputs = []
        for token in tokens:
            for step in range(token * rank, (token + 1) * rank):
                moving = definition.transition(spec, signals, step)
                state = moving @ state
                inner = moving @ inner + key[:, step, :, :, None] * signals.v[:, step, :, None, :]
            outputs.append((query[:, token, :, None] @ (inner + state)).squeeze(-2))
        state = state + inner
        chunks.append(torch.stack(outputs, dim=1))
    return torch.cat(chunks, dim=1) * after


probe = Probe(
    quantities={
        "differs_from_chunked": "largest difference from a computation in chunks of 8 tokens, before eta, over its rms"
    },
    mixer=_mixer,
)
