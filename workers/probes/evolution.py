"""What do A_t and its products do? Norms of steps and products, and where the eigenvalues of a step lie (P4, P6.2).

A_t is the matrix of the definition, on the signals of the compiled mixer.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.measurement import Measurement
from workers import coefficients as definition
from workers.probe import Probe, Subject

STEPS = 16  # micro-steps of the product
SIZES = (0.0, 0.1, 0.5, 0.9, 1.0)  # edges of the bins of |lambda|
PHASES = (0.0, 0.5, 1.0)  # edges of the bins of |arg lambda| over pi
ROUNDING = 1e-6


def _mixer(subject: Subject) -> Iterator[Measurement]:
    if subject.spec.lift.kind in ("shift", "fenwick") or subject.spec.support.mask == "none":
        return
    spec = subject.small
    tokens = subject.at_most(max(STEPS // spec.erase.rank, 1))
    norms, products, eigenvalues = [], [], []
    for draw in range(subject.draws):
        signals = subject.signals(spec, draw, tokens, batch=1)
        steps = [definition.transition(spec, signals, step)[0] for step in range(tokens * spec.erase.rank)]
        norms.append(max(_norm(step) for step in steps))
        products.append(_largest_product(steps))
        eigenvalues.append(torch.linalg.eigvals(torch.stack(steps)).flatten())
    yield from subject.largest("largest_step_norm", norms)
    yield from subject.largest("product_norm", products, length=tokens)
    for low, high in zip(SIZES, (*SIZES[1:], math.inf), strict=True):
        shares = [_share(one.abs(), low, high) for one in eigenvalues]
        yield from subject.mean(size_bin(low), shares, length=tokens)
    for low, high in zip(PHASES, (*PHASES[1:], math.inf), strict=True):
        shares = [_share(one.angle().abs() / math.pi, low, high) for one in eigenvalues]
        yield from subject.mean(phase_bin(low), shares, length=tokens)


def _norm(matrix: Tensor) -> float:
    """Largest singular value of any head."""
    return float(torch.linalg.matrix_norm(matrix, ord=2).max())


def _largest_product(steps: list[Tensor]) -> float:
    """Largest norm of A_t ... A_1 over t."""
    product, largest = steps[0], _norm(steps[0])
    for step in steps[1:]:
        product = step @ product
        largest = max(largest, _norm(product))
    return largest


def _share(values: Tensor, low: float, high: float) -> float:
    """Share of values in (low, high], the lowest bin with its edge; edges give way to rounding."""
    above = values >= 0.0 if low == 0.0 else values > low + ROUNDING
    return float((above & (values <= high + ROUNDING)).double().mean())


def size_bin(low: float) -> str:
    """Name of the share of |lambda| above `low`."""
    return f"eigenvalue_share_above_{low:g}"


def phase_bin(low: float) -> str:
    """Name of the share of phases above `low` half turns."""
    return f"eigenvalue_phase_share_above_{low:g}"


probe = Probe(
    quantities={
        "largest_step_norm": "largest singular value of a step A_t",
        "product_norm": "largest singular value of a product A_t ... A_1 over up to 16 micro-steps",
        **{
            size_bin(low): f"share of eigenvalues of A_t with |lambda| in the bin that starts at {low:g}"
            for low in SIZES
        },
        **{
            phase_bin(low): f"share of eigenvalues of A_t with |phase| / pi from {low:g} to the next edge"
            for low in PHASES
        },
    },
    mixer=_mixer,
)
