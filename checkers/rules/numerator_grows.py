"""CD601 numerator-grows: nothing divides the row, and the output grows with the length."""

from checkers.finding import quantity, setting
from checkers.growth import Gain, declared_gain, gain_supremum, not_derived, output_gain
from checkers.initial_decay import start_range
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind


def judge(site: Site) -> Outcome:
    """P6.1: predicted output gain G(seq_len) over the initial range, and over the declared one."""
    mixer = site.mixer
    if mixer.normalization.kind != "none":
        return Outcome("pass", site.at("normalization"), f"eta ({mixer.normalization.kind}) divides the row")
    if mixer.io.output_norm != "none":
        return Outcome(
            "pass", site.at("io.output_norm"), f"the output norm ({mixer.io.output_norm}) divides the output"
        )
    if start_range(mixer.decay) is None:
        return _judge_declared(site)
    gain = output_gain(mixer, site.target.seq_len)
    if gain is None:
        return Outcome("unknown", site.at("features"), str(not_derived(mixer)))
    return _judge_gain(site, gain)


def _judge_declared(site: Site) -> Outcome:
    """Without a start the declared range decides where all of it lies on one side of the limit."""
    limit, gain = site.thresholds.numerator_grows.raised, declared_gain(site.mixer, site.target.seq_len)
    if gain is not None and (gain.highest < limit or gain.lowest >= limit):
        return _judge_gain(site, gain)
    return Outcome("unknown", site.at("decay.initial"), not_derived(site.mixer) or "`decay.initial` is not declared")


ASSUMPTIONS = (
    "values and scores start independent; G = rms(z_jj) sqrt(min(L, 1 / (1 - a^2))) where scores have signs",
)


def _judge_gain(site: Site, gain: Gain) -> Outcome:
    seq_len, limits = site.target.seq_len, site.thresholds.numerator_grows
    spread = f"{gain.lowest:.3g} to {gain.highest:.3g}" if gain.lowest < gain.highest else f"{gain.highest:.3g}"
    evidence = {
        "output_gain": quantity(gain.highest, "output rms per value rms"),
        "output_gain_lowest": quantity(gain.lowest, "output rms per value rms"),
        "output_gain_slope": quantity(gain.slope, "log gain per log length"),
        "seq_len": quantity(seq_len, "tokens"),
    }
    if gain.highest >= limits.raised:
        is_large = gain.highest >= limits.large
        return Outcome(
            "fail",
            site.at("normalization.kind"),
            f"eta = 1 and no output norm: the output at length {seq_len:,} has {spread} times the rms of the"
            f" values (limit {limits.large if is_large else limits.raised:g}).",
            kind=Kind.NUMERATOR_LARGE if is_large else Kind.NUMERATOR_RAISED,
            evidence=evidence,
            assumptions=ASSUMPTIONS,
            fix=None if site.located.borrows_values else setting("unsafe", {site.at("io.output_norm"): "head_rms"}),
        )
    supremum = max(gain_supremum(site.mixer, seq_len), gain.highest)
    allowed = f"the declared ranges allow {supremum:.3g}" if supremum >= limits.raised else f"at most {supremum:.3g}"
    return Outcome(
        "pass",
        site.at("decay"),
        f"output gain {spread} at length {seq_len:,}, {allowed}",
        evidence=evidence | {"output_gain_supremum": quantity(supremum, "output rms per value rms")},
        assumptions=ASSUMPTIONS,
    )


rule = Rule(
    code="CD601",
    name="numerator-grows",
    group="proof",
    precision="high",
    what="eta = 1 and no output norm, with a predicted output gain G(L) of 4 (warning) or 16 (error) and more.",
    why="The row adds min(L, 1 / (1 - a^2)) terms of size rms(z_jj). With signed scores the output grows like sqrt(L):"
    " linear attention with b = n^-1/2 reaches 8 at L = 64 and 128 at 16,384; with positive scores and a value mean it"
    " grows like L.",
    exceptions=(
        "A decay over its initial range bounds the sum (Mamba 0.02 to 0.9; RG-LRU and LRU about 1).",
        "An output norm replaces eta (TransNormer, RetNet, GLA, Mamba-2, gated delta).",
        "A, b and dt are tied as declared: dt in both A and b is intended, not a double scale.",
        "Only the declared supremum reaching the limit is in the verdict's reason, no finding.",
        "Without a declared start the answer is unknown, unless the whole declared range lies on one side.",
    ),
    fix="Divide by the row sum (with positive features), add `io.output_norm: head_rms`, or give A_t a decay.",
    references=("arXiv 2210.10340", "arXiv 2510.09389, principle 6"),
    passes=("catalogue:mamba", "catalogue:rg_lru", "catalogue:gated_deltanet"),
    fails=(
        {"target": {"seq_len": 16384}, "mixer": {"readout": {"kind": "identity"}}},
        {"target": {"seq_len": 64}, "mixer": {"readout": {"kind": "identity"}}},
        "catalogue:linear",
    ),
    kinds=(
        Kind.NUMERATOR_LARGE,
        Kind.NUMERATOR_RAISED,
    ),
    fields_read=(
        "normalization",
        "io.output_norm",
        "io.value_activation",
        "readout",
        "scaling",
        "features",
        "decay.initial",
        "decay.range",
        "erase.gain",
        "support.window",
        "target.seq_len",
    ),
    check=per_mixer(judge),
)
