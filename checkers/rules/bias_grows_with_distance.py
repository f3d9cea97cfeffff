"""CD302 bias-grows-with-distance: the additive score path favours far keys."""

from typing import assert_never

from checkers import scores
from checkers.finding import Fix, Quantity, quantity, setting
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.readout import Exponential, Identity, Polynomial, Readout, Relu, Sigmoid, Softplus


def judge(site: Site) -> Outcome:
    """P3: the sign of the score increment per step."""
    mixer = site.mixer
    match mixer.shear.source:
        case "none":
            return Outcome("inapplicable", site.at("shear"), "no additive score path")
        case "table":
            return Outcome("inapplicable", site.at("shear"), "a learned table of lags declares no sign")
        case "input":
            if mixer.shear.sign == "increasing":
                return _grows(site, "c_t = -log sigmoid(x) > 0 per step", {})
            return _falls(site, "c_t = log sigmoid(x) <= 0: the score falls with distance", {})
        case "constant":
            steps = _steps(site)
            evidence = {"score_step": quantity(steps, "score per step, by head")}
            if max(steps) <= 0:
                return _falls(site, f"the score falls by {-max(steps):.3g} or more per step", evidence)
            farthest = {"score_at_seq_len": quantity(max(steps) * (site.target.seq_len - 1), "score")}
            return _grows(site, f"up to +{max(steps):.3g} per step", evidence | farthest)


def _steps(site: Site) -> tuple[float, ...]:
    """What one step of distance adds to the score of each head; what a row adds to all of its keys is left out."""
    mixer = site.mixer
    sign = 1.0 if mixer.shear.sign == "increasing" else -1.0
    scale = scores.score_base(mixer) if mixer.shear.scaled else 1.0
    return tuple(sign * scale * slope + 0.0 for slope in mixer.shear.head_slopes(mixer.heads.num_heads))


def _falls(site: Site, reason: str, evidence: dict[str, Quantity]) -> Outcome:
    """A falling score is a falling weight where phi falls with it."""
    if _vanishes_far_below(site.mixer.readout) or site.mixer.shear.is_identity:
        return Outcome("pass", site.at("shear"), reason, evidence=evidence)
    grows = "|phi| of a polynomial grows again far below 0, so a falling score need not be a falling weight"
    return Outcome("inapplicable", site.at("readout"), f"{reason}; {grows}", evidence=evidence)


def _vanishes_far_below(readout: Readout) -> bool:
    match readout:
        case Exponential() | Sigmoid() | Relu() | Softplus():
            return True
        case Identity() | Polynomial():
            return False
        case _:
            assert_never(readout)


def _grows(site: Site, step: str, evidence: dict[str, Quantity]) -> Outcome:
    seq_len = site.target.seq_len
    field = "shear.sign" if site.mixer.shear.sign == "increasing" else "shear.slopes"
    return Outcome(
        "fail",
        site.at(field),
        f"the distance bias grows with distance ({step}): the farthest of {seq_len:,} keys is favoured over the"
        " nearest.",
        kind=Kind.BIAS_GROWS,
        evidence={**evidence, "seq_len": quantity(seq_len, "tokens")},
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
            values |= {
                site.at(f"shear.slopes[{head}]"): -slope for head, slope in enumerate(slopes) if slope != abs(slope)
            }
        case float() as slope if slope != abs(slope):
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
        "A learned table of lags has no sign to judge; under a polynomial readout a falling score has none either.",
        "Falcon multiplies the bias by the score scale: `shear.scaled`, no finding here.",
    ),
    fix="Set `shear.sign: decreasing`, or slopes > 0.",
    references=("arXiv 2108.12409", "arXiv 2510.09389, principle 3"),
    passes=("catalogue:softmax_alibi", "catalogue:fox"),
    fails=(
        {"mixer": {"readout": {"kind": "exponential"}, "shear": {"source": "constant", "sign": "increasing"}}},
        {"mixer": {"readout": {"kind": "exponential"}, "shear": {"source": "constant", "slopes": -0.1}}},
        {"mixer": {"readout": {"kind": "relu"}, "shear": {"source": "constant", "slopes": [0.5, 0.1, 0.0, -0.1]}}},
        {"mixer": {"readout": {"kind": "exponential"}, "shear": {"source": "input", "sign": "increasing"}}},
    ),
    kinds=(Kind.BIAS_GROWS,),
    fields_read=("shear", "readout.kind", "scaling.base", "scaling.where", "heads", "target.seq_len"),
    check=per_mixer(judge),
)
