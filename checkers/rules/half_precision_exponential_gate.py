"""CD808 half-precision-exponential-gate: an exponential gate and its running maximum in half precision."""

import math

from checkers.finding import quantity, setting
from checkers.overflow import HALF, LOG_MAX, declares_dtypes, spacing
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.spec import Dtype

FAR = 64.0  # a log-gate that training reaches; the maximum follows it


def judge(site: Site) -> Outcome:
    """The range of the log-gate, of its running maximum m and of exp(-m), against the format that holds them."""
    mixer = site.mixer
    if mixer.scaling.gate not in ("exp", "exp_key"):
        return Outcome("inapplicable", site.at("scaling.gate"), "no exponential gate")
    formats = (mixer.execution.dtype.state, mixer.execution.dtype.scores)
    half = [dtype for dtype in HALF if dtype in formats]
    if not declares_dtypes(mixer):
        return Outcome("unknown", site.at("execution"), "`execution.dtype` is not declared")
    if not half:
        return Outcome("pass", site.at("execution.dtype"), "gates and state are not kept in half precision")
    dtype = half[0]
    bound = math.inf if mixer.scaling.cap is None else mixer.scaling.cap
    if bound <= LOG_MAX[dtype]:
        reason = f"the log-gate stays within {bound:g}, the format holds {LOG_MAX[dtype]:.3g}"
        return Outcome("pass", site.at("scaling.cap"), reason, evidence={"largest_log_gate": quantity(bound)})
    return _fail(site, dtype, bound)


def _fail(site: Site, dtype: Dtype, bound: float) -> Outcome:
    floored, limit = site.mixer.normalization.kind == "max_abs_sum_1", LOG_MAX[dtype]
    floor = f"the floor exp(-m) of eta overflows at m = -{limit:.4g}" if floored else f"exp overflows at {limit:.4g}"
    step = spacing(min(bound, FAR), dtype)
    changed = [
        site.at(f"execution.dtype.{name}")
        for name in ("state", "scores")
        if getattr(site.mixer.execution.dtype, name) in HALF
    ]
    return Outcome(
        "fail",
        changed[0],
        f"the {site.mixer.scaling.gate} gate and its maximum m are kept in {dtype}: {floor}, and"
        f" around m = {min(bound, FAR):g} a step of {step:g} changes a gate by {math.expm1(step / 2.0):.0%}.",
        kind=Kind.NUMERICS,
        evidence={
            "largest_log_gate": quantity(bound),
            "overflow_log_gate": quantity(limit),
            "log_gate_spacing": quantity(step),
        },
        assumptions=(f"log-gates of {min(bound, FAR):g} occur in training; sums over the row are kept in this format",),
        fix=setting("safe", dict.fromkeys(changed, "float32")),
    )


rule = Rule(
    code="CD808",
    name="half-precision-exponential-gate",
    group="numerics",
    precision="high",
    what="`scaling.gate: exp` or `exp_key` without a cap that fits, with state or scores in half precision.",
    why="The running maximum m keeps exp(x - m) at or below 1, but the floor exp(-m) beside the row sum overflows"
    " float16 at m = -11.09, and bfloat16 holds m around 64 in steps of 0.5: gates are off by a quarter.",
    exceptions=(
        "A cap (xLSTM-7B: 15) that the format holds bounds both.",
        "In float32 the running maximum suffices: silent. Never more than a warning.",
    ),
    fix="Keep `execution.dtype.state` and `execution.dtype.scores` in float32, or set `scaling.cap`.",
    references=("arXiv 2405.04517, section 2.2", "arXiv 2503.13427"),
    passes=(
        {
            "mixer": {
                "scaling": {"gate": "exp", "cap": 10.0},
                "normalization": {"kind": "max_abs_sum_1"},
                "execution": {"stabiliser": "running_max", "dtype": {"state": "float16"}},
            }
        },
    ),
    fails=(
        {
            "mixer": {
                "scaling": {"gate": "exp"},
                "normalization": {"kind": "max_abs_sum_1"},
                "execution": {"stabiliser": "running_max", "dtype": {"state": "float16"}},
            }
        },
    ),
    kinds=(Kind.NUMERICS,),
    fields_read=("scaling.gate", "scaling.cap", "normalization.kind", "execution.dtype"),
    check=per_mixer(judge),
)
