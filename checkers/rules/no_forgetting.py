"""CD706 no-forgetting: the initial range holds a = 1 exactly, where the gate is saturated and learns nothing."""

from checkers.finding import quantity
from checkers.remedies import lasting_start
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind


def judge(site: Site) -> Outcome:
    """Every gate map reaches the upper end of its range in the limit only, and there its slope is 0."""
    decay = site.mixer.decay
    if decay.is_identity or decay.source == "constant":
        return Outcome("inapplicable", site.at("decay"), "no decay that could learn")
    low, high = decay.hull
    if low == high:
        return Outcome("inapplicable", site.at("decay.range"), f"the range leaves a = {low:g} alone")
    if decay.initial is None:
        return Outcome("inapplicable", site.at("decay.initial"), "`decay.initial` is not declared: no start to judge")
    highest = decay.initial[1]
    evidence = {"initial_factor": quantity(highest, "per step")}
    if highest == high == 1.0:
        return Outcome(
            "fail",
            site.at("decay.initial"),
            f"the initial range holds a = 1 exactly: no forgetting, where `map: {decay.map}` is saturated and its"
            " gradient is 0.",
            kind=Kind.MEMORY,
            evidence=evidence,
            assumptions=("a gradient of 0 up to rounding: the gate can only leave by noise",),
            fix=lasting_start(site),
        )
    return Outcome(
        "pass",
        site.at("decay.initial"),
        f"the initial range ends at a = {highest:.6g}, inside the gate",
        evidence=evidence,
    )


SIGMOID = {"granularity": "scalar", "source": "learned", "map": "sigmoid"}
rule = Rule(
    code="CD706",
    name="no-forgetting",
    group="suspect",
    precision="high",
    what="The initial range of a decay holds a = 1 exactly, which its gate reaches in the limit only.",
    why="sigmoid(x) is 1 at x = infinity, exp(-exp(x)) and exp(-A softplus(x)) at x = -infinity: the slope there is 0,"
    " so a head that starts with no forgetting never learns to forget.",
    exceptions=(
        "A constant decay of 1 is a design without forgetting in that head (Lightning attention's last layers).",
        "A range that comes near 1 is the usual start (0.9999).",
        "A declared range above 1 has a = 1 inside the gate.",
    ),
    fix="End the initial range below 1, such as at exp(-8 ln 2 / L), whose half-life is an eighth of the length.",
    references=("theory, Horizon",),
    passes=("catalogue:mamba", {"mixer": {"decay": {**SIGMOID, "initial": [0.5, 0.9999]}}}),
    fails=({"mixer": {"decay": {**SIGMOID, "initial": [0.5, 1.0]}}},),
    kinds=(Kind.MEMORY,),
    fields_read=("decay", "target.seq_len"),
    check=per_mixer(judge),
)
