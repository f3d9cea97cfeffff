"""CD102 lifted-state-exceeds-cache: the state of the lift is larger than the cache that it replaces."""

from checkers.finding import quantity
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.cost import mixer_cost, state_rows


def judge(site: Site) -> Outcome:
    """P1 in numbers: state bytes against cache bytes, and the length at which they are equal."""
    mixer, seq_len = site.mixer, site.target.seq_len
    rows = state_rows(mixer)
    if rows is None:
        return Outcome("inapplicable", site.at("readout"), "no recurrence with a finite state to compare")
    if rows <= mixer.heads.state_dim:
        return Outcome("pass", site.at("readout"), "the state is n x p: neither phi nor the feature map enlarges it")
    cost = mixer_cost(mixer, model_dim=site.context.candidate.model.model_dim, target=site.target)
    break_even = cost.break_even_length
    if break_even is None:
        return Outcome("unknown", site.at("lift"), f"no break-even length is derived for `lift: {mixer.lift.kind}`")
    if break_even <= seq_len:
        return Outcome("pass", site.at("readout"), f"a cache would be as large at length {break_even:,}")
    return Outcome(
        "fail",
        site.at("features.map" if mixer.key_dim > mixer.heads.state_dim else "readout"),
        f"the lifted state of {rows:,} rows per head takes {cost.state_bytes:,} bytes per layer: a cache is smaller up"
        f" to length {break_even:,}, and the target is {seq_len:,}.",
        kind=Kind.LIFTED_STATE,
        evidence={
            "state": quantity(cost.state_bytes, "bytes per layer and sequence"),
            "break_even_length": quantity(break_even, "tokens"),
            "state_rows": quantity(rows, "rows per head"),
            "seq_len": quantity(seq_len, "tokens"),
        },
        assumptions=(
            f"the state is kept in {mixer.execution.dtype.state}, the cache of keys and values in {site.target.dtype}",
        ),
    )


rule = Rule(
    code="CD102",
    name="lifted-state-exceeds-cache",
    group="suspect",
    precision="very-high",
    what="A polynomial readout or a feature map makes the recurrent state larger than the cache at the target length.",
    why="The lift of a polynomial of degree d has C(n + d - 1, d) rows per head and a feature map its own width: below"
    " the break-even length the recurrence keeps and moves more bytes than plain attention would.",
    exceptions=("A state of n x p that nothing enlarges is not judged, however short the target length is.",),
    fix="Lower `heads.state_dim`, the degree or the feature width, or aim at longer sequences than the break-even"
    " length.",
    references=("arXiv 2402.18668, section 4", "arXiv 2510.09389, principle 1"),
    passes=(
        {"mixer": {"readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]}, "heads": {"state_dim": 16}}},
        "catalogue:based",
    ),
    fails=(
        {
            "mixer": {
                "readout": {"kind": "polynomial", "coefficients": [0.0, 0.0, 0.0, 1.0]},
                "heads": {"state_dim": 64},
            }
        },
    ),
    kinds=(Kind.LIFTED_STATE,),
    fields_read=(
        "readout",
        "features.map",
        "features.width",
        "heads",
        "lift",
        "normalization.kind",
        "execution.dtype.state",
        "target.seq_len",
        "target.dtype",
    ),
    check=per_mixer(judge),
)
