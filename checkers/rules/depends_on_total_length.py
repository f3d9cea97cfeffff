"""CD903 depends-on-total-length: outputs change with the length of the whole sequence."""

from checkers.finding import quantity, setting
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind


def judge(site: Site) -> Outcome:
    """Does an offset or eta use target.seq_len instead of the visible keys?"""
    if not site.mixer.reads_target_length:
        return Outcome("pass", site.at("normalization.length_kind"), "no coefficient uses the total length")
    return Outcome(
        "fail",
        site.at("normalization.length_kind"),
        f"`length_kind: target` puts the length {site.target.seq_len:,} into every coefficient: the same prefix gives"
        " other outputs in a sequence of another length.",
        kind=Kind.NOTE,
        evidence={"seq_len": quantity(site.target.seq_len, "tokens")},
        fix=setting("unsafe", {site.at("normalization.length_kind"): "visible"}),
    )


rule = Rule(
    code="CD903",
    name="depends-on-total-length",
    group="advice",
    precision="very-high",
    what="A `-log_length` offset or a `length` normalization counts target.seq_len, not the visible keys.",
    why="Training at one length and decoding at another then evaluates two different functions.",
    exceptions=("The source may fix it so (sigmoid attention): info.",),
    fix="Set `normalization.length_kind: visible`.",
    references=("arXiv 2409.04431",),
    passes=({"mixer": {"readout": {"kind": "relu"}, "normalization": {"kind": "length"}}},),
    fails=(
        {"mixer": {"readout": {"kind": "relu"}, "normalization": {"kind": "length", "length_kind": "target"}}},
        "catalogue:sigmoid_attn",
    ),
    kinds=(Kind.NOTE,),
    fields_read=("normalization.length_kind", "normalization.kind", "readout.offset", "target.seq_len"),
    check=per_mixer(judge),
)
