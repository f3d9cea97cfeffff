"""CD705 weight-decay-on-rates: the horizons are spread by log A, which weight decay pulls to one value."""

import math
from collections.abc import Iterable

from checkers.finding import quantity
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from designspace.decay import half_life
from designspace.mixer import MixerSpec
from designspace.scaling import DT_INITIAL
from designspace.spec import Range


def judge(context: Context) -> Iterable[Outcome]:
    """One remark for the stack, where rates that training keeps in log form spread the horizons over the length."""
    if context.target.provenance == "checkpoint":
        return [Outcome("inapplicable", "target.provenance", "trained already: no recipe to advise")]
    found = [(half_life(start[1]), site, start) for site in context.sites if (start := _spread(site)) is not None]
    if not found:
        return [Outcome("pass", "blocks", "no horizon of the target length is held by log A alone")]
    _, site, start = max(found, key=lambda one: one[0])
    return [_remark(site, start, len(found))]


def _spread(site: Site) -> Range | None:
    """The start of a decay that holds log A, has a spread, and reaches the half-life that CD701 wants; else None."""
    mixer, initial = site.mixer, site.mixer.decay.initial
    if initial is None or not holds_log_rates(mixer) or not initial[0] < initial[1] < 1.0:
        return None
    wanted = site.target.seq_len * site.thresholds.short_horizon.wanted_fraction
    return initial if half_life(initial[1]) >= wanted else None


def holds_log_rates(mixer: MixerSpec) -> bool:
    """a = exp(-A dt) with a parameter log A: 0, where weight decay pulls it, is the rate 1."""
    return mixer.decay.granularity != "none" and mixer.scaling.gate == "dt"


def _remark(site: Site, start: Range, count: int) -> Outcome:
    slow, fast = site.mixer.scaling.initial or DT_INITIAL
    left = (half_life(math.exp(-fast)), half_life(math.exp(-slow)))
    return Outcome(
        "fail",
        site.at("decay.initial"),
        f"half-lives start from {half_life(start[0]):.3g} to {half_life(start[1]):.3g} steps and are held by log A:"
        f" weight decay pulls every A to 1, where they are {left[0]:.3g} to {left[1]:.3g}; leave A, D and the bias of"
        " dt out of it.",
        kind=Kind.NOTE,
        evidence={
            "shortest_half_life": quantity(half_life(start[0]), "steps"),
            "longest_half_life": quantity(half_life(start[1]), "steps"),
            "half_lives_at_rate_1": quantity(left, "steps"),
            "mixers": quantity(count, "mixers of the file"),
        },
        assumptions=("the recipe decays every parameter; specs do not declare recipes",),
    )


rule = Rule(
    code="CD705",
    name="weight-decay-on-rates",
    group="advice",
    precision="low",
    what="A decay keeps log A as a parameter and its initial spread reaches the target length: a note for the recipe.",
    why="Weight decay pulls log A to 0, every rate to 1 and D to 0: the spread of horizons shrinks although no loss"
    " asks for it. Published code marks these parameters as not decayed.",
    exceptions=(
        "A trained checkpoint needs no recipe; a constant schedule has no parameter.",
        "Where the horizon is short from the start CD701 speaks, not this rule.",
        "Gates that hold their decay in a projection (GLA, gated delta), and learned decays without a step size"
        " (RWKV-5), are not judged.",
    ),
    fix="Exclude A, D and the bias of dt from weight decay.",
    references=("github.com/state-spaces/mamba, mamba_simple.py, _no_weight_decay",),
    passes=(
        "catalogue:retnet",
        "catalogue:gla",
        {"mixer": {"decay": {"granularity": "diagonal", "initial": [0.2, 0.9]}, "scaling": {"gate": "dt"}}},
    ),
    fails=("catalogue:mamba",),
    kinds=(Kind.NOTE,),
    fields_read=("decay", "scaling.gate", "scaling.initial", "target.seq_len", "target.provenance"),
    check=judge,
)
