"""P1 and the horizon: what a decoder must remember, in rows, bytes and steps."""

import math

import torch

from designspace.cost import DTYPE_BYTES
from designspace.mixer import MixerSpec
from designspace.streams import projections, raw_shapes
from tests.agreement.judge import DRAWS, Found, Judge, Reading, ends, fails_where, measured, missing, steered
from workers import gates
from workers.probe import TINY
from workers.probes.memory import LENGTHS, kept, keys_read, memory_gap, memory_rank

DOUBLES = 1.5  # rank at twice the length over the rank: 2 where every key is kept, 1 where a state is enough
SATURATES = 1.25
MANY = 32  # rows, of 128: a rank below it may be that of fading scores
HALF_LIFE_TOLERANCE = 0.1
WANTED = 0.125  # of the target length
VANISHING = 2.0  # steps
SATURATED = 1e-6  # distance to 1 of a factor that forgets nothing
FLAT = 1e-4  # gradient of the decay at its start


def quadratic(found: Found) -> Reading:
    """CD101: neither a state nor a number of keys that stays the same is enough, and the rank grows with the length."""
    short, long = LENGTHS[1:]
    sizes = {name: (found.value(name(short)), found.value(name(long))) for name in (kept, keys_read, memory_rank)}
    text = "; ".join(f"{name.__name__} {one}, {other}" for name, (one, other) in sizes.items())
    bounds = (found.spec.support.window, found.spec.support.chunk)
    if any(bound is not None and bound >= short for bound in bounds):
        return Reading("undecided", f"a support of {bounds} is no bound at the lengths measured")
    if sizes[kept][0] and sizes[kept][0] == sizes[kept][1]:
        return Reading("pass", text)
    fades = not (found.spec.erase.is_identity and found.spec.shear.is_identity)
    if sizes[keys_read][0] and sizes[keys_read][0] == sizes[keys_read][1]:
        bounded = found.spec.lift.kind == "shift" or any(bound is not None for bound in bounds) or not fades
        return Reading("pass" if bounded else "undecided", text)
    first, second = (max(rank or 0.0, 1.0) for rank in sizes[memory_rank])
    if second / first >= DOUBLES and second >= MANY:
        return Reading("fail", text)
    gap, text = found.value(memory_gap(long)), f"{text}; gap {found.value(memory_gap(long))}"
    if fades or not found.spec.decay.is_identity:  # few of the keys are left to count
        return Reading("undecided", text)
    return Reading("pass" if gap == 0.0 and second / first <= SATURATES else "undecided", text)


def lifted_state(found: Found) -> Reading:
    """CD102: the counted bytes of the state are more than those of the keys and values of all tokens."""
    one, spec = found.mixer.get("state_bytes"), found.spec
    if one is None:
        return missing("state_bytes")
    shapes = projections(spec, borrows_values=found.located.borrows_values)
    cached = sum(shapes[name].channels for name in ("k", "v", "latent", "shared_key", "shear") if name in shapes)
    bounds = (found.seq_len, spec.support.window, spec.support.chunk)
    tokens = min(bound for bound in bounds if bound is not None)
    cache = cached * DTYPE_BYTES[found.candidate.target.dtype] * tokens
    state = one.value - convolution_bytes(found)
    streams = spec.heads.num_heads if spec.scaling.learnable or not spec.shear.is_identity else streams_of_values(spec)
    plain = streams * spec.heads.state_dim * (spec.heads.head_dim + spec.normalization.sums_the_row)
    if spec.lift.kind == "delay1":  # the previous key and value, which a cache has too
        plain += streams * (spec.heads.state_dim + spec.heads.head_dim)
    plain += streams * spec.keeps_gate_maximum
    is_lifted = state > plain * DTYPE_BYTES[spec.execution.dtype.state]
    text = (
        f"state {state:.0f} bytes counted, cache {cache} bytes at {tokens} tokens{'' if is_lifted else ', not lifted'}"
    )
    return fails_where(is_lifted and state > cache, text)


def streams_of_values(spec: MixerSpec) -> int:
    """Distinct streams of values: heads that share one share their state."""
    return raw_shapes(spec)["v"].heads


def convolution_bytes(found: Found) -> float:
    """Bytes of past inputs of the short convolution, which a cache has too."""
    from workers.mixer import Mixer

    mixer = Mixer(found.spec, model_dim=1, seed=0, borrows_values=found.located.borrows_values)
    taps = getattr(mixer.convolution, "taps", None)
    return 0.0 if taps is None else float(taps[1:].numel() * DTYPE_BYTES[found.candidate.target.dtype])


def short_horizon(found: Found) -> Reading:
    """CD701: the longest half-life at the start, or with all heads at the upper end of their initial range, against an
    eighth of the length.
    """
    starts = [found, *(measured(one, probes=("horizon",), draws=DRAWS) for one in ends(found.candidate))]
    spans = [span for one in starts if (span := half_lives(one)) is not None]
    if not spans:
        return missing("longest_half_life")
    low, high = max(spans)
    wanted = WANTED * found.seq_len
    text = f"half-life {low:.4g} to {high:.4g}, wanted {wanted:g}"
    if high * (1.0 + HALF_LIFE_TOLERANCE) < wanted:
        return Reading("fail", text)
    return Reading("pass" if low * (1.0 - HALF_LIFE_TOLERANCE) >= wanted else "undecided", text)


def half_lives(found: Found) -> tuple[float, float] | None:
    """Half-life of the median factor of the slowest head, and of the largest factor of any token."""
    typical, largest = found.value("longest_half_life"), found.value("largest_decay")
    if typical is None or largest is None:
        return None
    longest = math.inf if largest >= 1.0 else math.log(2.0) / -math.log(max(largest, TINY))
    return min(typical, longest), max(typical, longest)


def no_forgetting(found: Found) -> Reading:
    """A decay that starts at exactly 1, where its gate is saturated."""
    decay, slope = found.spec.decay, start_slope(found)
    if slope is None or decay.initial is None:
        return missing("gradient")
    text = f"da/dx = {slope:.2g} where a starts at {decay.initial[1]:g}"
    return fails_where(slope < FLAT and abs(decay.initial[1] - 1.0) <= SATURATED, text)


def start_slope(found: Found) -> float | None:
    """da / dx where the decay starts at the upper end of its range; None for a constant or undeclared one."""
    decay = found.spec.decay
    if decay.source == "constant" or decay.initial is None or decay.map == "one_minus_bk2":
        return None
    top = torch.tensor(decay.initial[1], dtype=torch.float64)
    x = gates.decay_preactivation(decay, top).requires_grad_()
    half = torch.zeros((), dtype=torch.float64)
    log_a = gates.log_decay(decay, half, rate=x) if decay.map == "rglru" else gates.log_decay(decay, x)
    (slope,) = torch.autograd.grad(log_a.exp(), x)
    return float(slope.abs())


JUDGES = {
    "quadratic-cost": Judge(quadratic, ("memory",), steers=steered({"readout": {"kind": "identity"}}), draws=2),
    "lifted-state-exceeds-cache": Judge(
        lifted_state,
        ("state",),
        steers=steered(
            {
                "readout": {"kind": "polynomial"},
                "support": {"mask": "causal", "window": None},
                "lift": {"kind": "none"},
            },
            {
                "readout": {"kind": "identity", "softcap": None},
                "features": {"map": "dpfp"},
                "support": {"mask": "causal", "window": None},
            },
            {
                "readout": {"kind": "identity", "softcap": None},
                "features": {"map": "taylor2"},
                "support": {"mask": "causal", "window": None},
            },
        ),
        draws=2,
    ),
    "no-forgetting": Judge(
        no_forgetting,
        steers=steered(
            *(
                {
                    "readout": {"kind": "identity", "softcap": None},
                    "decay": {
                        "granularity": "scalar",
                        "source": "input",
                        "map": name,
                        "range": (0.0, 1.0),
                        "initial": initial,
                    },
                }
                for name in ("sigmoid", "exp_exp", "ratio")
                for initial in ((0.9, 1.0), (0.9, 0.99), (1.0, 1.0))
            )
        ),
    ),
    "short-horizon": Judge(
        short_horizon,
        ("horizon",),
        steers=steered(
            {
                "readout": {"kind": "identity", "softcap": None},
                "decay": {
                    "granularity": "scalar",
                    "source": "input",
                    "map": "sigmoid",
                    "range": (0.0, 1.0),
                    "initial": (0.9, 0.9999),
                },
            },
            {
                "readout": {"kind": "identity", "softcap": None},
                "decay": {
                    "granularity": "diagonal",
                    "source": "learned",
                    "map": "exp_exp",
                    "range": (0.0, 1.0),
                    "initial": (0.99, 0.9999),
                },
            },
            {
                "readout": {"kind": "identity", "softcap": None},
                "decay": {
                    "granularity": "scalar",
                    "source": "constant",
                    "map": "fixed",
                    "range": (0.9, 0.999),
                    "initial": None,
                },
            },
        ),
    ),
}
