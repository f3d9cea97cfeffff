"""CD805 unbounded-log-decay: a chunked form divides by cumulative decays that may reach zero."""

import math

from checkers.finding import Quantity, quantity
from checkers.overflow import LOG_MAX
from checkers.remedies import narrowed_decay, rounded_down
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind

LOWEST = 0.0067  # exp(-5), the bound of KDA's safe gate


def judge(site: Site) -> Outcome:
    """The lower bound of the log-decay, where the form needs exp of its negative."""
    mixer, low = site.mixer, site.mixer.decay.hull[0]
    if mixer.execution.form != "chunked" or mixer.decay.granularity == "none":
        return Outcome("inapplicable", site.at("execution.form"), "no decay in a chunked form")
    bound, steps = -math.log(low) if low > 0 else math.inf, site.thresholds.unbounded_log_decay.steps
    if bound * steps <= LOG_MAX["float32"]:
        reason = f"log-decay of at least -{bound:.3g}: {steps} steps fit"
        return Outcome("pass", site.at("decay.range"), reason, evidence=_evidence(bound, low, steps))
    return Outcome(
        "fail",
        site.at("decay.range"),
        f"{'the log-decay has no lower bound' if low == 0 else f'the log-decay reaches -{bound:.3g}'}: a chunked form"
        f" that divides by the cumulative decay of {steps} steps can overflow.",
        kind=Kind.NOTE,
        evidence=_evidence(bound, low, steps),
        assumptions=(f"a kernel divides by the decay of {steps} steps in float32; segment sums do not",),
        fix=narrowed_decay(site, low=max(LOWEST, -rounded_down(-math.exp(-LOG_MAX["float32"] / steps), 2))),
    )


def _evidence(bound: float, low: float, steps: int) -> dict[str, Quantity]:
    return {
        "lowest_factor": quantity(low, "per step"),
        "lowest_log_decay": quantity(-bound, "per step"),
        "steps": quantity(steps, "steps"),
        "largest_exponent": quantity(LOG_MAX["float32"], "float32"),
    }


rule = Rule(
    code="CD805",
    name="unbounded-log-decay",
    group="advice",
    precision="medium",
    what="`execution.form: chunked` with a decay whose range reaches (nearly) 0.",
    why="Chunked kernels form exp(-cumulative log-decay); saturated gates make 0 * inf. A published kernel bounds its"
    " log-decay by -5 for this reason.",
    exceptions=("Masked segment sums never divide: the tuple is sound, only such kernels suffer. Info.",),
    fix="Bound `decay.range` from below (exp(-5) = 0.0067), or use segment sums.",
    references=("catalogue, KDA safe gate",),
    passes=({"mixer": {"decay": {"granularity": "scalar", "range": [0.0067, 1.0]}, "execution": {"form": "chunked"}}},),
    fails=({"mixer": {"decay": {"granularity": "diagonal"}, "execution": {"form": "chunked"}}},),
    kinds=(Kind.NOTE,),
    fields_read=("execution.form", "decay"),
    check=per_mixer(judge),
)
