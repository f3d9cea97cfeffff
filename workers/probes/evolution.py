"""What do A_t and its products do? Norms of steps and products, and where the eigenvalues of a step lie (P4, P6.2).

A_t is the matrix of the definition, on the signals of the compiled mixer.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.lift import Lift
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import coefficients as definition
from workers.probe import Probe, Subject
from workers.signals import Signals

STEPS = 16  # micro-steps of the product
SIZES = (0.0, 0.1, 0.5, 0.9, 1.0)  # edges of the bins of |lambda|
PHASES = (0.0, 0.5, 1.0)  # edges of the bins of |arg lambda| over pi
ROUNDING = 1e-6


def _mixer(subject: Subject) -> Iterator[Measurement]:
    if subject.spec.lift.kind in ("shift", "fenwick") or subject.spec.support.mask == "none":
        return
    spec = subject.small
    tokens = subject.at_most(max(STEPS // spec.erase.rank, 1))
    norms, products, eigenvalues, commutators = [], [], [], []
    for draw in range(subject.draws):
        signals = subject.signals(spec, draw, tokens, batch=1)
        steps = [definition.transition(spec, signals, step)[0] for step in range(tokens * spec.erase.rank)]
        if not all(step.isfinite().all() for step in steps):
            return
        norms.append(max(_norm(step) for step in steps))
        products.append(_largest_product(steps))
        commutators.append(_largest_commutator(_cores(spec, signals, steps)))
        eigenvalues.append(torch.linalg.eigvals(torch.stack(steps)).flatten())
    yield from subject.largest("largest_step_norm", norms)
    yield from subject.largest("product_norm", products, length=tokens)
    yield from subject.largest("commutator", commutators, length=tokens)
    for low, high in zip(SIZES, (*SIZES[1:], math.inf), strict=True):
        shares = [share(one.abs(), low, high) for one in eigenvalues]
        yield from subject.mean(size_bin(low), shares, length=tokens)
    for low, high in zip(PHASES, (*PHASES[1:], math.inf), strict=True):
        shares = [share(one.angle().abs() / math.pi, low, high) for one in eigenvalues]
        yield from subject.mean(phase_bin(low), shares, length=tokens)


def _norm(matrix: Tensor) -> float:
    """Largest singular value of any head; infinite where a product overflowed."""
    return float(torch.linalg.matrix_norm(matrix, ord=2).max()) if matrix.isfinite().all() else math.inf


def _largest_product(steps: list[Tensor]) -> float:
    """Largest norm of A_t ... A_1 over t."""
    product, largest = steps[0], _norm(steps[0])
    for step in steps[1:]:
        product = step @ product
        largest = max(largest, _norm(product))
    return largest


def _cores(spec: MixerSpec, signals: Signals, steps: list[Tensor]) -> Tensor:
    """The steps [steps, num_heads, m, m]; of delay1 the n x n part that acts on a key from its second step on."""
    if spec.lift.kind != "delay1":
        return torch.stack(steps)
    plain = spec.model_copy(update={"lift": Lift()})
    return torch.stack([definition.transition(plain, signals, step)[0] for step in range(len(steps))])


def _largest_commutator(steps: Tensor) -> float:
    """Largest |A_s A_t - A_t A_s| over |A_s| |A_t|, all pairs of steps."""
    size = torch.linalg.matrix_norm(steps).clamp(min=1e-300)
    one, other = steps[:, None], steps[None]
    difference = torch.linalg.matrix_norm(one @ other - other @ one)
    return float((difference / size[:, None] / size[None]).max())


def share(values: Tensor, low: float, high: float) -> float:
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
        "commutator": "largest |A_s A_t - A_t A_s| over |A_s| |A_t|: 0 where the order of steps does not matter",
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
