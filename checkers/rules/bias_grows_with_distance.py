"""CD302 bias-grows-with-distance: the additive score path favours far keys."""

from checkers.finding import Fix, quantity, setting
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind


def judge(site: Site) -> Outcome:
    """P3: the sign of the score increment per step."""
    mixer = site.mixer
    match mixer.shear.source:
        case "none":
            return Outcome("inapplicable", site.at("shear"), "no additive score path")
        case "table":
            return Outcome("unknown", site.at("shear"), "a learned table of lags declares no sign")
        case "input":
            if mixer.shear.sign == "decreasing":
                return Outcome("pass", site.at("shear"), "c_t = log sigmoid(x) <= 0: the score falls with distance")
            return _grows(site, "c_t = -log sigmoid(x) > 0 per step", ())
        case "constant":
            sign = 1.0 if mixer.shear.sign == "increasing" else -1.0
            steps = tuple(sign * slope for slope in mixer.shear.head_slopes(mixer.heads.num_heads))
            if max(steps) <= 0:
                return Outcome("pass", site.at("shear"), f"the score falls by {-max(steps):.3g} or more per step")
            return _grows(site, f"up to +{max(steps):.3g} per step", steps)


def _grows(site: Site, step: str, steps: tuple[float, ...]) -> Outcome:
    seq_len = site.target.seq_len
    evidence = {"score_step": quantity(steps, "score per step, by head")} if steps else {}
    if steps:
        evidence["score_at_seq_len"] = quantity(max(steps) * (seq_len - 1), "score")
    field = "shear.sign" if site.mixer.shear.sign == "increasing" else "shear.slopes"
    return Outcome(
        "fail",
        site.at(field),
        f"the distance bias grows with distance ({step}): the farthest of {seq_len:,} keys is favoured over the"
        " nearest.",
        kind=Kind.BIAS_GROWS,
        evidence=evidence,
        fix=_fix(site),
    )


def _fix(site: Site) -> Fix:
    """The falling sign, with slopes that are not negative."""
    shear = site.mixer.shear
    values: dict[str, float | str] = {}
    if shear.sign == "increasing":
        values[site.at("shear.sign")] = "decreasing"
    match shear.slopes:
        case tuple() as slopes:
            values |= {site.at(f"shear.slopes[{head}]"): -slope for head, slope in enumerate(slopes) if slope < 0}
        case float() as slope if slope < 0:
            values[site.at("shear.slopes")] = -slope
        case _:
            pass
    return setting("unsafe", values)


rule = Rule(
    code="CD302",
    name="bias-grows-with-distance",
    group="proof",
    precision="very-high",
    what="The increment c_t of the additive score path is positive, so a key gains weight as it ages.",
    why="With c > 0 the row goes to the oldest keys: recency is inverted. The row sum keeps the output bounded, so"
    " nothing overflows and the mistake stays hidden.",
    exceptions=(
        "A bias written as slope * j differs from -slope * (i - j) by a constant of the row: the same function.",
        "A learned table of lags has no sign to judge.",
        "Falcon multiplies the bias by the score scale: `shear.scaled`, no finding here.",
    ),
    fix="Set `shear.sign: decreasing`, or slopes > 0.",
    references=("arXiv 2108.12409", "arXiv 2510.09389, principle 3"),
    passes=("catalogue:softmax_alibi", "catalogue:fox"),
    fails=(
        {"mixer": {"readout": {"kind": "exponential"}, "shear": {"source": "constant", "sign": "increasing"}}},
        {"mixer": {"readout": {"kind": "exponential"}, "shear": {"source": "constant", "slopes": -0.1}}},
        {"mixer": {"readout": {"kind": "exponential"}, "shear": {"source": "input", "sign": "increasing"}}},
    ),
    kinds=(Kind.BIAS_GROWS,),
    fields_read=("shear.source", "shear.sign", "shear.slopes", "heads.num_heads", "target.seq_len"),
    check=per_mixer(judge),
)
