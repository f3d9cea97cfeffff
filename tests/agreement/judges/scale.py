"""P5: the std of the scores at initialisation, and whether anything keeps them from growing in training."""

from tests.agreement.judge import Found, Judge, Reading, band, fails_where, missing, steered

BAND = (0.5, 2.0)
TOLERANCE = 0.15  # of a predicted std
BOUNDED = 1000.0  # times the rms of usual scores; without a bound on q or k the score grows at least 100,000-fold


def score_scale(found: Found) -> Reading:
    """CD501: the measured std inside [0.5, 2]."""
    one = found.mixer.get("score_std")
    if one is None:
        return missing("score_std")
    slack = one.uncertainty + TOLERANCE * one.value
    return Reading(band(one.value, *BAND, slack), f"score_std {one.value:.4g} ± {one.uncertainty:.2g}")


def unbounded(found: Found) -> Reading:
    """CD502: q . k with its gate, or what a softcap leaves of the score, grows without a bound with the projections."""
    quantity = "score_growth" if found.spec.readout.is_capped else "product_growth"
    growth = found.value(quantity)
    if growth is None:
        return missing(quantity)
    return fails_where(growth > BOUNDED, f"{quantity} {growth:.3g}")


JUDGES = {
    "score-scale": Judge(
        score_scale,
        ("score_scale",),
        steers=steered(
            {"readout": {"kind": "exponential", "softcap": None}, "normalization": {"kind": "sum"}},
            {"readout": {"kind": "sigmoid", "softcap": None}, "scaling": {"base": "n^-1/2", "gate": "none"}},
        ),
        draws=6,
    ),
    "score-unbounded-in-training": Judge(
        unbounded,
        ("reached_scores",),
        steers=steered(
            {"readout": {"kind": "exponential", "softcap": None}, "scaling": {"base": "n^-1/2", "gate": "none"}},
            {"readout": {"kind": "sigmoid"}, "features": {"norm": "l2"}},
        ),
        draws=2,
    ),
}
