"""The behavioural hash: a mixer named by its coefficients on fixed random signals, to check the symbolic fingerprint.

Where the two disagree there is a bug, or a rewriting nobody listed (theory.md section 1). It sees coefficients only, so
io, sizes of values and what shows beyond the lengths below (long windows, the query schedule) do not enter.
"""

import hashlib

import torch
from jaxtyping import Float
from torch import Tensor

from designspace.canonical import canonical, function
from designspace.mixer import MixerSpec
from designspace.rewritings.equivalences import amplitude_is_void
from workers.coefficients import coefficients
from workers.realise import random_signals

SIGNAL_SETS = ((101, 4), (102, 7), (103, 11))  # (seed, seq_len)
STEPS = 100_000  # of the quantisation between 0 and the largest coefficient of a row
OFFSET = 0.1234567  # of a step: halves, quarters, ... of the largest coefficient would lie on a boundary
NOISE = 1.0e-12  # relative size, within one head, below which a row is rounding
SCALE_DIGITS = 5  # significant digits of that largest coefficient
HASH_DIGITS = 12  # hexadecimal


def behavioural_hash(mixer: MixerSpec) -> str:
    """12 hexadecimal digits of the float64 coefficients on three signal sets.

    Rows whose positive factor is void (equivalence 4) are hashed without their scale.
    """
    spec = function(mixer)
    has_scale = not amplitude_is_void(canonical(spec))
    digest = hashlib.sha256()
    for seed, seq_len in SIGNAL_SETS:
        alpha = coefficients(spec, random_signals(spec, seed=seed, batch=1, seq_len=seq_len))
        steps, scale = quantised(alpha)
        digest.update(repr((tuple(alpha.shape), steps.tolist())).encode())
        if has_scale:
            digest.update(" ".join(f"{value:.{SCALE_DIGITS}g}" for value in scale.flatten().tolist()).encode())
    return digest.hexdigest()[:HASH_DIGITS]


def quantised(alpha: Float[Tensor, "... seq_len steps"]) -> tuple[Float[Tensor, "... seq_len steps"], Tensor]:
    """Each row in whole steps of its largest coefficient, and that coefficient; nan and inf for a row that has either.

    A row that is nothing beside the others is rounding noise and counts as 0.
    """
    finite = alpha.isfinite().all(-1, keepdim=True)
    alpha = torch.where(finite, alpha, 0.0)
    scale = alpha.abs().amax(-1, keepdim=True)
    scale = torch.where(scale > NOISE * scale.amax(-2, keepdim=True), scale, 0.0)
    steps = torch.where(scale > 0, torch.round(alpha / scale * STEPS + OFFSET), 0.0)
    return torch.where(finite, steps, torch.nan) + 0.0, torch.where(finite, scale, torch.inf)  # -0.0 + 0.0 is 0.0
