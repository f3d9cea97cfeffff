"""8xx: what number formats do to phases, slopes, products and cumulative decays, computed in the formats themselves."""

import math

import torch

from designspace.candidate import Candidate
from tests.agreement.judge import Found, Judge, Reading, ends, fails_where, missing, steered, subject
from workers import feature_maps
from workers.model import DTYPES

MAX_FLOAT16 = 65504.0
LOG_MAX = {"float16": 11.09, "bfloat16": 88.7}
OUTPUT_LENGTH = 64
OUTPUT_DRAWS = 16
NOISE = 3.0  # standard errors
OUTPUT_BATCH = 16
SHARE = 0.1
EPS_FACTOR = 2.0  # either way: heads start at different scales
AMPLITUDE = 1e-3
ROUNDING = 1e-9
FINE_PHASE = 0.02  # radians
STEEPEST = 1000.0
CHUNK_STEPS = 16
LOG_MAX_FLOAT32 = 88.7
NORMED = {"output_norm": "head_rms", "value_activation": "none", "value_gate": "none"}
HALF = {"params": "float32", "state": "float32", "scores": "float16"}
ROTATING = {"source": "constant", "fraction": 1.0, "scaling": None}


def coarse_phase(found: Found) -> Reading:
    """CD802: positions that are equal after rounding to the format of the phases; phases that are hardly off pass."""
    rotation, dtype = found.spec.rotation, DTYPES[found.spec.rotation.phase_dtype]
    positions = torch.arange(found.seq_len, dtype=torch.float64)
    rounded = positions.to(dtype)
    distinct = int(torch.unique(rounded.double()).numel())
    angles = torch.tensor(rotation.angles(found.spec.key_dim), dtype=torch.float64)
    phases = (rounded[:, None] * angles.to(dtype)).double()
    error = float((phases - positions[:, None] * angles).abs().max())
    text = f"{distinct} of {found.seq_len} positions are distinct, phases are off by up to {error:.2g}"
    if distinct < found.seq_len:
        return Reading("fail", text)
    return Reading("pass" if error < FINE_PHASE else "undecided", text)


def steep_gate(found: Found) -> Reading:
    """CD803: |db/da| = a / b beyond 1,000 at the largest factor that inputs reach."""
    decay, gate = found.value("reached_decay"), found.value("reached_gate")
    if decay is None or gate is None:
        return missing("reached_decay")
    if found.spec.decay.source == "constant":
        return Reading("pass", "a constant decay has no gradient")
    slope = decay / max(gate, 1e-300)
    return fails_where(slope > STEEPEST, f"|db/da| reaches {slope:.4g}")


def unbounded_log_decay(found: Found) -> Reading:
    """CD805: the cumulative decay of 16 steps that inputs reach has an inverse beyond float32."""
    lowest = found.value("reached_log_decay")
    if lowest is None:
        return missing("reached_log_decay")
    total = -lowest * CHUNK_STEPS
    return fails_where(total > LOG_MAX_FLOAT32, f"exponent {total:.4g} after {CHUNK_STEPS} steps")


def half_precision_products(found: Found) -> Reading:
    """CD804: q . k, formed before its scale, passes the largest float16."""
    product = found.value("reached_product")
    if product is None:
        return missing("reached_product")
    scaled_first = found.spec.scaling.where in ("q", "k")
    text = f"|q . k| reaches {product:.4g}, the scale acts {'before' if scaled_first else 'after'} the product"
    return fails_where(product > MAX_FLOAT16 and not scaled_first, text)


def half_precision_gate(found: Found) -> Reading:
    """CD808: the log of an exponential gate passes what exp holds in the half precision that keeps it."""
    reached, dtype = found.value("reached_log_gate"), found.spec.execution.dtype
    if reached is None:
        return missing("reached_log_gate")
    limits = [LOG_MAX[one] for one in (dtype.state, dtype.scores) if one in LOG_MAX]
    text = f"log-gate {reached:.4g}, formats {dtype.state} and {dtype.scores}"
    return fails_where(bool(limits) and reached > min(limits), text)


def output_eps(found: Found) -> Reading:
    """CD806: eps is more than a tenth of the mean square of what the output norm divides, heads at their smallest."""
    eps = found.spec.io.norm_eps
    measured = (output_square(one) for one in (found.candidate, *ends(found.candidate)))
    square, noise = min(measured, default=(math.nan, 0.0), key=lambda one: one[0])
    share, text = eps / max(square, 1e-300), f"eps {eps:g}, mean square of the output {square:.3g} ± {noise:.1g}"
    if not math.isfinite(square) or square - noise <= eps / SHARE <= square + noise:
        return Reading("undecided", text)
    if square == 0.0 or found.spec.support.mask == "none" or not found.spec.erase.is_identity:
        return Reading("undecided", f"{text}: no output that the scores of one key alone make")
    if SHARE / EPS_FACTOR <= share <= SHARE * EPS_FACTOR:
        return Reading("undecided", text)
    return fails_where(share > SHARE, text)


@torch.inference_mode()
def output_square(candidate: Candidate) -> tuple[float, float]:
    """Mean square of the last output over that of the values, after one token (a full convolution) or after many,
    whichever is less; and how far the mean of more draws may lie from it.
    """
    mixer = subject(candidate)
    spec = mixer.scaled
    found = []
    shortest = max(2 if spec.support.mask == "strict" else 1, spec.io.short_conv.width if spec.io.short_conv.on else 1)
    for length in (shortest, mixer.at_most(OUTPUT_LENGTH)):
        signals = [mixer.signals(spec, draw, length, batch=OUTPUT_BATCH) for draw in range(OUTPUT_DRAWS)]
        outputs = torch.stack(
            [mixer.outputs(spec, draw, one)[:, -1].square().mean() for draw, one in enumerate(signals)]
        )
        values = torch.stack([one.v.square().mean() for one in signals]).mean()
        spread = NOISE * outputs.std() / math.sqrt(OUTPUT_DRAWS)
        found.append((float(outputs.mean() / values), float(spread / values)))
    return min(found)


def mean_eps(found: Found) -> Reading:
    """CD908: small keys come out shorter than with eps added to the sum of squares."""
    features, width = found.spec.features, found.spec.key_dim
    small = torch.full((1, 1, 1, width), AMPLITUDE, dtype=torch.float64)
    made = float(torch.linalg.norm(feature_maps.normalised(features, small, None))) / features.gain
    square = width * AMPLITUDE**2
    due = (square / (square + features.eps)) ** 0.5
    return fails_where(abs(made - due) > ROUNDING, f"length {made:.6f} of a small key, {due:.6f} with eps in the sum")


JUDGES = {
    "coarse-rotary-phase": Judge(
        coarse_phase,
        steers=steered(
            {"rotation": {**ROTATING, "phase_dtype": "bfloat16"}, "lift": {"kind": "none"}, "heads": {"state_dim": 8}},
            {"rotation": {**ROTATING, "phase_dtype": "float16"}, "lift": {"kind": "none"}, "heads": {"state_dim": 8}},
        ),
    ),
    "steep-square-root-gate": Judge(
        steep_gate,
        ("reached_gates",),
        steers=steered(
            *(
                {
                    "decay": {
                        "granularity": "scalar",
                        "source": "input",
                        "map": "sigmoid",
                        "range": (0.0, high),
                        "initial": None,
                    },
                    "scaling": {"gate": "sqrt_1_minus_a2", "where": "score"},
                    "lift": {"kind": "none"},
                    "support": {"mask": "causal"},
                }
                for high in (0.9, 0.999, 1.0, 1.0 - 1e-8)
            )
        ),
        draws=2,
    ),
    "unbounded-log-decay": Judge(
        unbounded_log_decay,
        ("reached_gates",),
        steers=steered(
            *(
                {
                    "decay": {
                        "granularity": "scalar",
                        "source": "input",
                        "map": "sigmoid_floor",
                        "range": bounds,
                        "initial": None,
                    },
                    "execution": {"form": "chunked"},
                    "lift": {"kind": "none"},
                    "support": {"mask": "causal"},
                }
                for bounds in ((0.0, 1.0), (0.01, 1.0), (0.001, 1.0), (0.5, 1.0))
            )
        ),
        draws=2,
    ),
    "unscaled-half-precision-scores": Judge(
        half_precision_products,
        ("reached_scores",),
        steers=steered(
            *({"execution": {"dtype": HALF}, "features": {"norm": norm}} for norm in ("none", "l2", "rms", "none"))
        ),
        draws=2,
    ),
    "half-precision-exponential-gate": Judge(
        half_precision_gate,
        ("reached_gates",),
        steers=steered(
            *(
                {"scaling": {"gate": gate, "where": "score", "cap": cap}, "execution": {"dtype": dtype}}
                for gate, cap, dtype in (
                    ("exp", None, HALF),
                    ("exp_key", 15.0, HALF),
                    ("exp", 2.0, HALF),
                    ("exp", None, {**HALF, "scores": "float32"}),
                )
            )
        ),
        draws=2,
    ),
    "large-output-norm-eps": Judge(
        output_eps,
        steers=steered(
            *(
                {
                    "io": {
                        "output_norm": "head_rms",
                        "norm_eps": eps,
                        "value_activation": "none",
                        "value_gate": "none",
                    },
                    "scaling": {"base": base, "gate": "none"},
                    "readout": {"kind": "identity", "softcap": None},
                }
                for eps, base in ((0.01, "n^-1"), (1e-5, 1.0), (0.1, "n^-1"), (1e-3, "n^-1/2"))
            )
        ),
    ),
    "mean-eps-in-l2-norm": Judge(
        mean_eps, steers=steered(*({"features": {"norm": "l2", "eps_kind": kind}} for kind in ("mean", "sum")))
    ),
}
