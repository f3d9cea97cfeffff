"""CD801 half-precision-recurrence: parameters of the recurrence, or a state that only grows, in half precision."""

from checkers.finding import Quantity, quantity, setting
from checkers.overflow import HALF, MAX_FLOAT16, SIGNIFICANT_BITS, declares_dtypes, largest_below_one
from checkers.projections import key_vector
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.decay import half_life
from designspace.mixer import MixerSpec

EXPANDED = ("favor", "rff", "dpfp")  # maps whose mean entry is not derived


def judge(site: Site) -> Outcome:
    """Formats of what a recurrence accumulates, and the length at which a growing sum leaves float16."""
    mixer = site.mixer
    if not mixer.is_finite_memory:
        return Outcome("inapplicable", site.at("readout"), "no recurrence with a finite state")
    if not declares_dtypes(mixer):
        return Outcome("unknown", site.at("execution"), "`execution.dtype` is not declared")
    dtype = mixer.execution.dtype
    if dtype.state in HALF and is_plain_sum(mixer):
        terms = summed_terms(mixer, site.target.seq_len)
        if mixer.decay.is_identity or terms > 2.0 ** SIGNIFICANT_BITS[dtype.state]:
            return _growing_state(site, terms)
    if dtype.params in HALF and _has_parameters(mixer):
        return _coarse_parameters(site)
    return Outcome("pass", site.at("execution.dtype"), f"parameters in {dtype.params}, state in {dtype.state}")


def _has_parameters(mixer: MixerSpec) -> bool:
    """Parameters set the factors of A: a decay or a rotation that is no fixed schedule."""
    decays = mixer.decay.granularity != "none" and mixer.decay.source != "constant"
    turns = not mixer.rotation.is_identity and mixer.rotation.source in ("learned", "input")
    return decays or turns


def _coarse_parameters(site: Site) -> Outcome:
    dtype = site.mixer.execution.dtype.params
    bits, largest = SIGNIFICANT_BITS[dtype], largest_below_one(dtype)
    return Outcome(
        "fail",
        site.at("execution.dtype.params"),
        f"the parameters of A and dt are kept in {dtype}: an update below 1 / {2**bits} of a parameter is lost, and the"
        f" largest factor below 1 has a half-life of {half_life(largest):.3g} steps; the error of a factor is taken to"
        f" the power {site.target.seq_len:,}.",
        kind=Kind.NUMERICS,
        evidence={
            "significant_bits": quantity(bits, "bits"),
            "largest_factor_below_one": quantity(largest, "per step"),
            "longest_half_life_held": quantity(half_life(largest), "steps"),
            "seq_len": quantity(site.target.seq_len, "tokens"),
        },
        assumptions=("parameters are stored and updated in this format, without a float32 copy",),
        fix=setting("safe", {site.at("execution.dtype.params"): "float32"}),
    )


def is_plain_sum(mixer: MixerSpec) -> bool:
    """The state is a (decayed) sum of what is written: nothing is erased or mixed by a lift."""
    return mixer.erase.is_identity and mixer.lift.kind in ("none", "delay1")


def summed_terms(mixer: MixerSpec, seq_len: int) -> float:
    """Terms that the slowest head holds at this length: min(L, 1 / (1 - a)), a where it starts (else: declared)."""
    longest = (mixer.decay.initial_range or mixer.decay.hull)[1]
    return min(float(seq_len), 1.0 / (1.0 - longest)) if longest < 1.0 else float(seq_len)


def _growing_state(site: Site, terms: float) -> Outcome:
    mixer, seq_len = site.mixer, site.target.seq_len
    dtype = mixer.execution.dtype.state
    mean = mean_growth(mixer)
    lost = 2 ** SIGNIFICANT_BITS[dtype]
    evidence: dict[str, Quantity] = {
        "seq_len": quantity(seq_len, "tokens"),
        "summed_terms": quantity(terms, "tokens"),
        "terms_lost_after": quantity(lost, "tokens"),
    }
    cause = "A = I: the state is a sum that grows with the length" if mixer.decay.is_identity else "the state is a sum"
    message = f"{cause}, of {terms:,.0f} terms at length {seq_len:,}, kept in {dtype}, which holds {lost:,} equal terms"
    overflows = False
    if mean > 0.0:
        length = MAX_FLOAT16 / mean
        overflows = dtype == "float16" and terms > length
        evidence |= {"key_mean": quantity(mean, "per token"), "float16_length": quantity(length, "tokens")}
        message += f"; it grows by {mean:.3g} per token and leaves float16 after {length:,.0f} tokens"
    return Outcome(
        "fail",
        site.at("execution.dtype.state"),
        f"{message}.",
        kind=Kind.OVERFLOW if overflows else Kind.NUMERICS,
        evidence=evidence,
        assumptions=("keys start as declared; terms of one size",),
        fix=setting("safe", {site.at("execution.dtype.state"): "float32"}),
    )


def mean_growth(mixer: MixerSpec) -> float:
    """Mean growth per token of what grows for certain: an entry of the sum of keys that eta needs, or the constant that
    a lift of phi keeps. 0 where every entry has a mean of 0.
    """
    if not mixer.normalization.sums_the_row:
        return 0.0
    if mixer.features.map == "taylor2" or 0 in readouts.monomials(mixer.readout):
        return 1.0
    derived = mixer.features.map not in EXPANDED and mixer.scaling.gate == "none"
    key = key_vector(mixer) if derived else None
    return 0.0 if key is None else key.mean * (mixer.base if mixer.scaling.where == "k" else 1.0)


rule = Rule(
    code="CD801",
    name="half-precision-recurrence",
    group="numerics",
    precision="high",
    what="`execution.dtype.params` is half precision under a learned or input decay or rotation, or"
    " `execution.dtype.state` is half precision where the state sums more terms than the format can add.",
    why="A factor of 0.999 is off by 0.4 % in bfloat16 and that error is raised to the power L. A sum of elu + 1 keys"
    " grows by 1.16 per token: float16 overflows after about 56,000 tokens, and adds nothing more after 2,048 equal"
    " terms (bfloat16: 256).",
    exceptions=(
        "With float32 parameters and state nothing is reported, whatever the target dtype.",
        "An erase bounds the state; a decay does if 1 / (1 - a) stays below what the format can add.",
        "An error only where the mean of the sum leaves float16 for certain; bfloat16 is never more than a warning.",
        "Without `execution.dtype` the answer is unknown.",
    ),
    fix="Keep `execution.dtype.params` and `execution.dtype.state` in float32.",
    references=("github.com/state-spaces/mamba, readme, Precision",),
    passes=(
        {"mixer": {"decay": {"granularity": "scalar"}, "execution": {"dtype": {"params": "float32"}}}},
        {"mixer": {"features": {"map": "elu+1"}, "execution": {"dtype": {"state": "float32", "scores": "bfloat16"}}}},
    ),
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
    fields_read=(
        "execution.dtype",
        "readout",
        "decay",
        "rotation",
        "erase",
        "lift",
        "support",
        "scaling",
        "features",
        "heads",
        "normalization.kind",
        "target.seq_len",
    ),
    check=per_mixer(judge),
)
