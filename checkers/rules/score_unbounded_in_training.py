"""CD502 score-unbounded-in-training: the score scale is right at initialisation only."""

from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace import readout as readouts


def judge(site: Site) -> Outcome:
    """P5: does a softcap, a norm on q and k, or a bounded feature map limit the score?"""
    mixer = site.mixer
    if readouts.homogeneous_degree(mixer.readout) is not None:
        return Outcome("inapplicable", site.at("readout"), "phi is homogeneous: the scale of the score is the output's")
    if mixer.readout.is_capped:
        return Outcome("pass", site.at("readout.softcap"), f"the softcap bounds |score| by {mixer.readout.cap:g}")
    if mixer.product_bound is not None:
        field, name = ("map", mixer.features.map) if mixer.features.norm == "none" else ("norm", mixer.features.norm)
        return Outcome("pass", site.at(f"features.{field}"), f"the {name} {field} bounds |q| and |k|")
    return Outcome(
        "fail",
        site.at("features.norm"),
        "no softcap and no norm on q and k: the scale of the scores is right at initialisation only, and training may"
        " raise it without a bound.",
        kind=Kind.SCALE_AT_INIT_ONLY,
    )


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
    ),
    fix="Set `features.norm: rms_weighted`, or `readout.softcap`.",
    references=("arXiv 2302.05442", "arXiv 2510.09389, principle 5"),
    passes=("catalogue:softmax_qknorm", "catalogue:softmax_softcap"),
    fails=("catalogue:softmax_rope",),
    kinds=(Kind.SCALE_AT_INIT_ONLY,),
    fields_read=("readout", "features.norm", "features.map"),
    check=per_mixer(judge),
)
