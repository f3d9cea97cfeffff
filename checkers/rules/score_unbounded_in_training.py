"""CD502 score-unbounded-in-training: the score scale is right at initialisation only."""

import math

from checkers import scores
from checkers.bounds import gate_bound
from checkers.finding import Quantity, quantity
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.rules import score_scale
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.mixer import MixerSpec


def judge(site: Site) -> Outcome:
    """P5: does a softcap, a norm on q and k, or a bounded feature map limit the score?"""
    mixer = site.mixer
    if readouts.homogeneous_degree(mixer.readout) is not None:
        return Outcome("inapplicable", site.at("readout"), "phi is homogeneous: the scale of the score is the output's")
    if site.target.provenance == "checkpoint":
        return Outcome("inapplicable", site.at("features.norm"), "a trained checkpoint: its scores have grown already")
    if mixer.readout.is_capped:
        return Outcome(
            "pass",
            site.at("readout.softcap"),
            f"the softcap bounds |score| by {mixer.readout.cap:g}",
            evidence={"score_bound": quantity(mixer.readout.cap)},
        )
    gate = gate_bound(mixer)
    if mixer.product_bound is not None and math.isfinite(gate):
        return _bounded(site, mixer.product_bound * mixer.score_base * gate)
    if score_scale.judge(site).answer == "fail":
        return Outcome(
            "inapplicable", site.at("features.norm"), "the scale is wrong at initialisation already: CD501 judges it"
        )
    missing = "no softcap and no norm on q and k" if mixer.product_bound is None else _gate_text(mixer)
    return Outcome(
        "fail",
        site.at("features.norm" if mixer.product_bound is None else "scaling.gate"),
        f"{missing}: the scale of the scores is right at initialisation only, and training may raise it without a"
        " bound.",
        kind=Kind.SCALE_AT_INIT_ONLY,
        evidence=_evidence(site),
        assumptions=("the weights of q and k grow freely",),
    )


def _bounded(site: Site, bound: float) -> Outcome:
    mixer = site.mixer
    field, name = ("map", mixer.features.map) if mixer.features.norm == "none" else ("norm", mixer.features.norm)
    learned = mixer.scaling.learnable or mixer.features.norm_has_gain
    held = "; only its learned gain can move that" if learned else ""
    return Outcome(
        "pass",
        site.at(f"features.{field}"),
        f"the {name} {field} bounds |q| and |k|, and |score| by {bound:.3g}{held}",
        evidence={"score_bound": quantity(bound)},
    )


def _gate_text(mixer: MixerSpec) -> str:
    gate, cap = mixer.scaling.gate, mixer.scaling.cap
    bound = "no upper bound" if cap is None else f"only the bound exp({cap:g}), which no number format holds"
    return f"the scaling gate ({gate}) has {bound}"


def _evidence(site: Site) -> dict[str, Quantity]:
    found = scores.score_moments(site.mixer, site.target.seq_len)
    if found is None:
        return {"score_bound": quantity("none")}
    return {"score_std": quantity(found.std), "score_bound": quantity("none")}


rule = Rule(
    code="CD502",
    name="score-unbounded-in-training",
    group="advice",
    precision="medium",
    what="A readout that is not homogeneous without a softcap and without a norm on q and k.",
    why="The norms of the projections grow during training (18.8 to 57.4 for q in one report, which diverged at step"
    " 55,895). A qk-norm or a softcap bounds the score; CD501 judges the start only.",
    exceptions=(
        "Most published models train without either: advice, never more than info.",
        "A qk-norm is not always enough.",
        "A trained checkpoint has its scores; where CD501 fails, the start is to be repaired first.",
    ),
    fix="Set `features.norm: rms_weighted`, or `readout.softcap`.",
    references=("arXiv 2302.05442", "arXiv 2510.09389, principle 5"),
    passes=("catalogue:softmax_qknorm", "catalogue:softmax_softcap"),
    fails=("catalogue:softmax_rope",),
    kinds=(Kind.SCALE_AT_INIT_ONLY,),
    fields_read=("readout", "features.norm", "features.map", "scaling", "target.provenance"),
    check=per_mixer(judge),
)
