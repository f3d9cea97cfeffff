"""What do steps do at the extremes of the declared ranges? (P4, P6.2) Norms and eigenvalues of the n x n part."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.lift import Lift
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import coefficients as definition
from workers.extremes import LOOSENED, TOKENS, by_draw, extremes
from workers.feature_maps import commutes_with_rotation
from workers.probe import TINY, Probe, Subject, resized
from workers.signals import Signals

WIDTH = 8  # key channels
DRAWS = 2  # extremes differ little


def _mixer(subject: Subject) -> Iterator[Measurement]:
    small = subject.small
    spec = resized(small, state_dim=min(WIDTH, small.heads.state_dim)) or small
    if spec.support.mask == "none" or spec.lift.kind in ("shift", "momentum") or turned_before(spec):
        return
    draws = min(subject.draws, DRAWS)
    steps = [
        _steps(spec, one.signals)
        for draw in range(draws)
        for one in extremes(spec, seed=subject.draw_seed(draw))
        if one.pattern != LOOSENED
    ]
    yield from subject.largest("reached_step_norm", by_draw([_largest_norm(one) for one in steps], draws, max))
    spectra = [_eigenvalues(one) for one in steps]
    lowest = [float(one.real.min()) if one.numel() else math.inf for one in spectra]
    yield from subject.smallest("reached_eigenvalue", by_draw(lowest, draws, min))
    turned = [_imaginary_share(one) if one.numel() else 0.0 for one in spectra]
    yield from subject.largest("reached_imaginary_part", by_draw(turned, draws, max))


def turned_before(spec: MixerSpec) -> bool:
    """A norm after the rotation leaves signals that have been turned already: their steps turn nothing."""
    waits = spec.features.norm_order == "after_rotation" and not spec.rotation.is_identity
    return waits and not commutes_with_rotation(spec.features)


def _steps(spec: MixerSpec, signals: Signals) -> Tensor:
    """The n x n part of every A_t [steps * heads, n, n]; what a lift puts around it is nilpotent."""
    core = spec.model_copy(update={"lift": Lift()})
    steps = [definition.transition(core, signals, step) for step in range(TOKENS * spec.erase.rank)]
    flat = torch.cat([one.flatten(0, 1) for one in steps])
    return flat[flat.isfinite().all(-1).all(-1)]


def _largest_norm(steps: Tensor) -> float:
    """Largest singular value."""
    return float(torch.linalg.matrix_norm(steps, ord=2).max()) if len(steps) else math.nan


def _eigenvalues(steps: Tensor) -> Tensor:
    """All eigenvalues; none where a step is so far out that the iteration does not converge."""
    try:
        found: Tensor = torch.linalg.eigvals(steps)
        return found.flatten()
    except RuntimeError:  # LinAlgError
        return torch.zeros(0, dtype=torch.complex128)


def _imaginary_share(eigenvalues: Tensor) -> float:
    """Largest |imaginary part| over the largest |eigenvalue|."""
    return float(eigenvalues.imag.abs().max() / eigenvalues.abs().max().clamp(min=TINY))


probe = Probe(
    quantities={
        "reached_step_norm": "largest singular value of the n x n part of a step that extreme inputs reach",
        "reached_eigenvalue": "smallest real part of an eigenvalue of such a step",
        "reached_imaginary_part": "largest imaginary part of such an eigenvalue, over the largest of all sizes",
    },
    mixer=_mixer,
)
