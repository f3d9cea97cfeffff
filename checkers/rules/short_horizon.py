"""CD701 short-horizon: at initialisation every head forgets long before the target length."""

from checkers.finding import Fix, quantity, setting
from checkers.remedies import lasting_factor
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.decay import half_life


def judge(site: Site) -> Outcome:
    """Longest half-life over the initial range, ln 2 / -ln a, against the target length."""
    mixer, decay = site.mixer, site.mixer.decay
    if decay.is_identity:
        return Outcome("inapplicable", site.at("decay"), "no decay: stored keys do not fade")
    if readouts.homogeneous_degree(mixer.readout) is None:
        return Outcome(
            "inapplicable", site.at("decay"), "the decay acts inside phi: a faded score is not a forgotten key"
        )
    if decay.initial_range is None:
        return Outcome("unknown", site.at("decay.initial"), "`decay.initial` is not declared")
    longest = decay.initial_range[1]
    if longest >= 1.0 and decay.source != "constant":
        return Outcome(
            "fail",
            site.at("decay.initial"),
            "the initial range contains a = 1 exactly: no forgetting, where the gate is saturated and its gradient"
            " is 0.",
            kind=Kind.HORIZON_SHORT,
            evidence={"initial_factor": quantity(longest, "per step")},
            fix=_last_longer(site),
        )
    return _judge_half_life(site, half_life(longest), decay.initial_range)


def _judge_half_life(site: Site, steps: float, initial: tuple[float, float]) -> Outcome:
    decay, seq_len = site.mixer.decay, site.target.seq_len
    limits = site.thresholds.short_horizon
    wanted = seq_len * limits.wanted_fraction
    part = f"L / {1.0 / limits.wanted_fraction:.3g} = {wanted:g}"
    if steps >= wanted:
        return Outcome("pass", site.at("decay"), f"longest initial half-life {steps:.3g} steps, {part}")
    vanishing = steps < limits.vanishing
    range_can = half_life(decay.hull[1]) >= wanted
    gate_can = decay.source == "input" and range_can
    allows = "; the declared range allows longer ones" if range_can else ""
    kind = Kind.HORIZON_VANISHING if vanishing else Kind.HORIZON_LEARNABLE if gate_can else Kind.HORIZON_SHORT
    return Outcome(
        "fail",
        site.at("decay.initial" if decay.initial is not None else "decay.range"),
        f"the longest initial half-life is {steps:.3g} steps (a = {initial[1]:.4g}),"
        f" below {f'{limits.vanishing:g} steps' if vanishing else part} at length {seq_len:,}{allows}.",
        kind=kind,
        evidence={
            "longest_half_life": quantity(steps, "steps"),
            "shortest_half_life": quantity(half_life(initial[0]), "steps"),
            "wanted_half_life": quantity(wanted, "steps"),
            "seq_len": quantity(seq_len, "tokens"),
        },
        fix=_last_longer(site),
    )


def _last_longer(site: Site) -> Fix | None:
    """The initial range up to a factor that lasts, and the declared one where it ends below that factor."""
    decay = site.mixer.decay
    factor = lasting_factor(site.target.seq_len, site.thresholds.short_horizon.wanted_fraction)
    values = {site.at("decay.range[1]"): factor} if decay.range[1] < factor else {}
    if decay.initial is not None:
        values[site.at("decay.initial[1]")] = factor
    start = decay.initial or decay.range
    return setting("unsafe", values) if start[0] <= factor else None


MAMBA = {"granularity": "diagonal", "map": "exp_softplus"}
rule = Rule(
    code="CD701",
    name="short-horizon",
    group="suspect",
    precision="high",
    what="The longest half-life at initialisation is below an eighth of the target length, or below two steps.",
    why="A key that fades within a few steps sends no gradient from far away, so the gate does not learn to keep it. A"
    " step bias of 0 gives dt = softplus(0) = 0.693: half-lives of 1.0 step at A = -1 and 0.06 at A = -16, where dt in"
    " [0.001, 0.1] gives up to 693.",
    exceptions=(
        "An input gate whose declared range allows longer half-lives is info (GLA starts at 16 steps).",
        "Below two steps it is an error only if the target needs recall, copying or long memory.",
        "A decay inside a nonlinear readout fades scores, not weights: not judged.",
        "Without a declared initial range the answer is unknown.",
    ),
    fix="Declare and use an initial range that reaches exp(-8 ln 2 / L) = 1 - 5.5 / L, as Mamba's dt in [0.001, 0.1].",
    references=("arXiv 2312.00752, section 3.6", "github.com/state-spaces/mamba, readme, Initialization"),
    passes=("catalogue:mamba", {"mixer": {"features": {"map": "elu+1"}, "decay": {**MAMBA, "initial": [0.5, 0.9999]}}}),
    fails=(
        {"mixer": {"decay": {**MAMBA, "initial": [0.0, 0.5]}}},
        {"target": {"needs": ["recall"]}, "mixer": {"decay": {**MAMBA, "initial": [0.0, 0.27]}}},
        {"mixer": {"decay": {"granularity": "scalar", "source": "learned", "map": "sigmoid", "initial": [0.5, 0.9]}}},
    ),
    kinds=(
        Kind.HORIZON_SHORT,
        Kind.HORIZON_VANISHING,
        Kind.HORIZON_LEARNABLE,
    ),
    fields_read=("decay", "readout", "target.seq_len", "target.needs"),
    check=per_mixer(judge),
)
