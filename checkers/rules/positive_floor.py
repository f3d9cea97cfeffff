"""CD202 positive-floor: phi has a positive minimum, so no key can be suppressed."""

from checkers import scores, zeros
from checkers.finding import quantity
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from checkers.zeros import Suppression
from designspace import readout as readouts

TARGET_SCORE = 8.0  # of the one key to find; softmax gives it weight 0.74 among 1,024 at score 0
LENGTHS = (64, 256, 1024, 4096)


def judge(site: Site) -> Outcome:
    """P2: the weight that one key with score 8 keeps among L - 1 keys at the floor of phi."""
    readout, seq_len = scores.effective_readout(site.mixer), site.target.seq_len
    if zeros.moves_expanded_score(site.mixer):
        reason = "A_t moves the terms of the expanded score apart, so phi is no function of q . k"
        return Outcome("unknown", site.at("features.map"), reason)
    found = zeros.selectivity(readout, site.thresholds.fragile_zero_set)
    if found.suppression is not Suppression.FLOOR:
        reason = f"no positive floor: the zero set is {found.suppression} ({found.text})"
        return Outcome("pass", site.at("readout"), reason, evidence=found.evidence)
    peak = abs(readouts.value(readout, TARGET_SCORE))

    def kept(length: int) -> float:
        return peak / (peak + (length - 1) * found.floor)

    return Outcome(
        "fail",
        site.at("features.map" if site.mixer.features.map == "taylor2" else "readout"),
        f"|phi| never falls below {found.floor:.3g}: a key with score {TARGET_SCORE:g} among {seq_len - 1:,} at the"
        f" floor keeps the share {kept(seq_len):.2g} of the row; {zeros.by_gate(site.mixer)}.",
        kind=Kind.NO_SUPPRESSION,
        evidence={
            "floor": quantity(found.floor, "phi"),
            "phi_at_8": quantity(peak, "phi"),
            "weight_of_one_target": quantity(kept(seq_len), "of the row"),
            "seq_len": quantity(seq_len, "tokens"),
            **{f"weight_at_{length}": quantity(kept(length), "of the row") for length in LENGTHS},
        },
        assumptions=("one target with score 8, every other key at the minimum of |phi|",),
    )


rule = Rule(
    code="CD202",
    name="positive-floor",
    group="suspect",
    precision="very-high",
    what="The readout has a positive minimum that is attained, such as 1 + z + z^2 / 2 >= 1 / 2.",
    why="Every key keeps at least the floor, so the sum of L - 1 ignored keys drowns the one that matters: its weight"
    " falls like 1 / L (0.57, 0.24, 0.07, 0.02 at L = 64, 256, 1024, 4096 for the second-order Taylor readout).",
    exceptions=(
        "The infimum 0 of the exponential is not attained: no floor.",
        "A softcap that leaves phi nearly zero on a third of wide scores (exponential with softcap 50) is no floor.",
        "A minimum below 1 % of E|phi| at score std 1 counts as zero, as it does for CD201.",
    ),
    fix="Drop the constant term, raise the degree with c_0 = 0, or pair the mixer with a window of exact attention.",
    references=("arXiv 2402.18668", "arXiv 2510.09389, principle 2"),
    passes=(
        {"mixer": {"readout": {"kind": "exponential", "softcap": 50.0}, "normalization": {"kind": "sum"}}},
        {"mixer": {"readout": {"kind": "polynomial", "coefficients": [0.0, 1.0, 0.5]}}},
    ),
    fails=(
        {
            "mixer": {
                "readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]},
                "normalization": {"kind": "sum"},
            }
        },
        {"mixer": {"features": {"map": "taylor2"}, "heads": {"state_dim": 8}, "normalization": {"kind": "sum"}}},
        {"mixer": {"readout": {"kind": "exponential", "softcap": 0.5}, "normalization": {"kind": "sum"}}},
        "catalogue:based",
    ),
    kinds=(Kind.NO_SUPPRESSION,),
    fields_read=("readout", "features", "decay.granularity", "rotation", "erase", "lift.kind", "target.seq_len"),
    check=per_mixer(judge),
)
