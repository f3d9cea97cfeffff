"""CD801 half-precision-recurrence: parameters of the recurrence, or a state that only grows, in half precision."""

from checkers import scores
from checkers.finding import Quantity, quantity, setting
from checkers.overflow import MAX_FLOAT16
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.mixer import MixerSpec

HALF = ("float16", "bfloat16")


def judge(site: Site) -> Outcome:
    """Formats of what a recurrence accumulates, and the length at which a growing sum leaves float16."""
    mixer = site.mixer
    if not mixer.is_finite_memory:
        return Outcome("inapplicable", site.at("readout"), "no recurrence with a finite state")
    dtype = mixer.execution.dtype
    if dtype.state in HALF and grows_without_bound(mixer):
        return _growing_state(site)
    moving = mixer.decay.granularity != "none" and mixer.decay.source != "constant"
    if dtype.params in HALF and moving:
        return Outcome(
            "fail",
            site.at("execution.dtype.params"),
            f"the parameters of A and dt are kept in {dtype.params}: factors near 1 round to 1 or apart, and their"
            f" error is taken to the power {site.target.seq_len:,}.",
            kind=Kind.NUMERICS,
            fix=setting("safe", {site.at("execution.dtype.params"): "float32"}),
        )
    return Outcome("pass", site.at("execution.dtype"), f"parameters in {dtype.params}, state in {dtype.state}")


def grows_without_bound(mixer: MixerSpec) -> bool:
    """A = I on the state, so that sums over keys grow with the length."""
    return mixer.decay.is_identity and mixer.erase.is_identity and mixer.lift.kind == "none"


def _growing_state(site: Site) -> Outcome:
    mixer, seq_len = site.mixer, site.target.seq_len
    dtype = mixer.execution.dtype.state
    mean = _key_mean(mixer) if mixer.normalization.sums_the_row else 0.0
    evidence: dict[str, Quantity] = {"seq_len": quantity(seq_len, "tokens")}
    message = f"A = I: the state is a sum that grows with the length, kept in {dtype}"
    overflows = False
    if mean > 0.0:
        length = MAX_FLOAT16 / mean
        overflows = dtype == "float16" and seq_len > length
        evidence |= {"key_mean": quantity(mean, "per token"), "float16_length": quantity(length, "tokens")}
        message += f"; the sum of keys grows by {mean:.3g} per token and leaves float16 after {length:,.0f} tokens"
    return Outcome(
        "fail",
        site.at("execution.dtype.state"),
        f"{message}.",
        kind=Kind.OVERFLOW if overflows else Kind.NUMERICS,
        evidence=evidence,
        fix=setting("safe", {site.at("execution.dtype.state"): "float32"}),
    )


def _key_mean(mixer: MixerSpec) -> float:
    """Mean growth of one entry of sum_j k_j per token."""
    match mixer.features.map:
        case "relu" | "elu+1" | "softmax_pm" | "dpfp" | "ones" as name if mixer.features.norm == "none":
            return (
                scores.entry(name, scores.tame(mixer.features.k_std), mixer.heads.state_dim).mean * mixer.features.gain
            )
        case _:
            return 0.0


rule = Rule(
    code="CD801",
    name="half-precision-recurrence",
    group="numerics",
    precision="high",
    what="`execution.dtype.params` is half precision under a learned or input decay, or `execution.dtype.state` is half"
    " precision where A = I and the state grows with the length.",
    why="A factor of 0.999 is off by 0.4 % in bfloat16 and that error is raised to the power L. A sum of elu + 1 keys"
    " grows by 1.16 per token: float16 overflows after about 56,000 tokens, bfloat16 stops counting far earlier.",
    exceptions=(
        "With float32 parameters and state nothing is reported, whatever the target dtype.",
        "An erase or a decay bounds the state.",
    ),
    fix="Keep `execution.dtype.params` and `execution.dtype.state` in float32.",
    references=("github.com/state-spaces/mamba, readme, Precision",),
    passes=("catalogue:mamba", "catalogue:linear"),
    fails=(
        {"mixer": {"decay": {"granularity": "scalar"}, "execution": {"dtype": {"params": "bfloat16"}}}},
        {
            "target": {"seq_len": 100000},
            "mixer": {
                "features": {"map": "elu+1"},
                "normalization": {"kind": "sum"},
                "execution": {"dtype": {"state": "float16"}},
            },
        },
    ),
    kinds=(
        Kind.NUMERICS,
        Kind.OVERFLOW,
    ),
    fields_read=("execution.dtype", "decay", "erase", "lift", "features", "normalization.kind", "target.seq_len"),
    check=per_mixer(judge),
)
