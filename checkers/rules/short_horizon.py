"""CD701 short-horizon: at initialisation every head forgets long before the target length."""

from checkers.finding import Quantity, quantity
from checkers.initial_decay import start_range
from checkers.remedies import lasting_start
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.decay import Decay, half_life, schedule
from designspace.mixer import MixerSpec
from designspace.spec import Range


def judge(site: Site) -> Outcome:
    """Longest half-life over the initial range, ln 2 / -ln a, against the target length.

    The ranges are those of the factor a, not of a bias: an exponential gate whose logarithm is near 0 already means 1.
    """
    mixer, decay = site.mixer, site.mixer.decay
    if decay.is_identity:
        return Outcome("inapplicable", site.at("decay"), "no decay: stored keys do not fade")
    if readouts.homogeneous_degree(mixer.readout) is None:
        return Outcome(
            "inapplicable", site.at("decay"), "the decay acts inside phi: a faded score is not a forgotten key"
        )
    initial = _start(decay, mixer.heads.num_heads)
    return _judge_declared(site) if initial is None else _judge_start(site, initial)


def _start(decay: Decay, num_heads: int) -> Range | None:
    """Where the factors of the heads start; None where nobody says."""
    if decay.source == "constant":
        factors = schedule(decay, num_heads)
        return min(factors), max(factors)
    return start_range(decay)


def _judge_declared(site: Site) -> Outcome:
    """Without a start the declared range decides where all of it lies on one side."""
    low, high = site.mixer.decay.range
    wanted = _wanted(site)
    if half_life(low) >= wanted or half_life(high) < wanted:
        return _judge_start(site, (low, high))
    return Outcome("unknown", site.at("decay.initial"), "`decay.initial` is not declared")


def _wanted(site: Site) -> float:
    return site.target.seq_len * site.thresholds.short_horizon.wanted_fraction


def _judge_start(site: Site, initial: Range) -> Outcome:
    decay, seq_len = site.mixer.decay, site.target.seq_len
    limits, wanted, steps = site.thresholds.short_horizon, _wanted(site), half_life(initial[1])
    part = f"L / {1.0 / limits.wanted_fraction:.3g} = {wanted:g}"
    evidence = _evidence(site, initial)
    if steps >= wanted:
        return Outcome(
            "pass", site.at("decay"), f"longest initial half-life {steps:.3g} steps, {part}", evidence=evidence
        )
    vanishing, keeper = steps < limits.vanishing, _keeper(site)
    if keeper is not None and not vanishing:
        reason = f"the longest initial half-life is {steps:.3g} steps, below {part}, but {keeper} keeps the whole past"
        return Outcome("pass", site.at("decay"), reason, evidence=evidence)
    range_can = half_life(decay.hull[1]) >= wanted
    gate_can = decay.source == "input" and range_can
    allows = "; the declared range allows longer ones" if range_can else ""
    return Outcome(
        "fail",
        site.at("decay.initial" if decay.initial is not None else "decay.range"),
        f"the longest initial half-life is {steps:.3g} steps (a = {initial[1]:.4g}),"
        f" below {f'{limits.vanishing:g} steps' if vanishing else part} at length {seq_len:,}{allows}.",
        kind=_kind(vanishing=vanishing, gate_can=gate_can),
        evidence=evidence,
        fix=lasting_start(site),
    )


def _kind(*, vanishing: bool, gate_can: bool) -> Kind:
    if vanishing:
        return Kind.HORIZON_VANISHING
    return Kind.HORIZON_LEARNABLE if gate_can else Kind.HORIZON_SHORT


def _keeper(site: Site) -> str | None:
    """Path of another mixer of the stack in which no key fades: it carries what this one forgets."""
    return next((other.path for other in site.context.sites if _keeps_everything(other.mixer)), None)


def _keeps_everything(mixer: MixerSpec) -> bool:
    """Attention over the whole past: a nonlinear phi, no window or chunk, nothing that fades, erases or drops keys."""
    whole = mixer.support.window is None and mixer.support.chunk is None
    still = mixer.decay.is_identity and mixer.erase.is_identity and mixer.shear.is_identity
    return whole and still and mixer.lift.kind != "shift" and not mixer.is_finite_memory


def _evidence(site: Site, initial: Range) -> dict[str, Quantity]:
    """The half-lives, and what is wanted."""
    return {
        "longest_half_life": quantity(half_life(initial[1]), "steps"),
        "shortest_half_life": quantity(half_life(initial[0]), "steps"),
        "wanted_half_life": quantity(_wanted(site), "steps"),
        "seq_len": quantity(site.target.seq_len, "tokens"),
    }


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
        "Without a declared initial range the answer is unknown, unless the whole declared range lies on one side.",
        "From two steps on it passes where a layer of full attention keeps the past (Lightning attention, Jamba).",
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
