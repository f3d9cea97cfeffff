"""CD601 numerator-grows: nothing divides the row, and the output grows with the length."""

from checkers.finding import quantity, setting
from checkers.growth import Gain, output_gain
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
    gain = output_gain(mixer, site.target.seq_len)
    if gain is None:
        return Outcome("unknown", site.at("decay.initial"), _missing(site))
    return _judge_gain(site, gain)


def _missing(site: Site) -> str:
    mixer = site.mixer
    if mixer.lift.kind in ("momentum", "fenwick", "shift"):
        return f"the gain of `lift: {mixer.lift.kind}` is not derived"
    if mixer.decay.initial_range is None:
        return "`decay.initial` is not declared"
    return f"the scale of `map: {mixer.features.map}` is not derived"


def _judge_gain(site: Site, gain: Gain) -> Outcome:
    seq_len, limits = site.target.seq_len, site.thresholds.numerator_grows
    spread = f"{gain.lowest:.3g} to {gain.highest:.3g}" if gain.lowest < gain.highest else f"{gain.highest:.3g}"
    evidence = {
        "output_gain": quantity(gain.highest, "output rms per value rms"),
        "output_gain_lowest": quantity(gain.lowest, "output rms per value rms"),
        "output_gain_supremum": quantity(gain.supremum, "output rms per value rms"),
        "seq_len": quantity(seq_len, "tokens"),
    }
    assumptions = ("values and scores start independent; G = rms(z_jj) sqrt(min(L, 1 / (1 - a^2)))",)
    if gain.highest >= limits.raised:
        is_large = gain.highest >= limits.large
        return Outcome(
            "fail",
            site.at("normalization.kind"),
            f"eta = 1 and no output norm: the output at length {seq_len:,} has {spread} times the rms of the"
            f" values (limit {limits.large if is_large else limits.raised:g}).",
            kind=Kind.NUMERATOR_LARGE if is_large else Kind.NUMERATOR_RAISED,
            evidence=evidence,
            assumptions=assumptions,
            fix=None if site.located.borrows_values else setting("unsafe", {site.at("io.output_norm"): "head_rms"}),
        )
    if gain.supremum >= limits.raised:
        return Outcome(
            "pass",
            site.at("decay.range"),
            f"the output gain at length {seq_len:,} starts at {spread}, but the declared ranges allow"
            f" {gain.supremum:.3g} and nothing divides the row.",
            kind=Kind.NOTE,
            evidence=evidence,
            assumptions=assumptions,
        )
    return Outcome("pass", site.at("decay"), f"output gain {spread} at length {seq_len:,}, at most {gain.supremum:.3g}")


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
        "Only the declared supremum reaching the limit is a remark.",
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
        Kind.NOTE,
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
