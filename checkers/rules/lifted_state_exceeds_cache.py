"""CD102 lifted-state-exceeds-cache: the state of the lift is larger than the cache that it replaces."""

from checkers.finding import quantity
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.cost import MixerCost, state_rows
from designspace.lift import Lift


def judge(site: Site) -> Outcome:
    """P1 in numbers: state bytes against cache bytes, and the length at which they are equal."""
    mixer, seq_len = site.mixer, site.target.seq_len
    rows = state_rows(mixer)
    if rows is None:
        return Outcome("inapplicable", site.at("readout"), "no recurrence with a finite state to compare")
    cost, break_even = _cost(site), _break_even(site)
    evidence = {
        "state": quantity(cost.state_bytes, "bytes per layer and sequence"),
        "state_rows": quantity(rows, "rows per head"),
        "seq_len": quantity(seq_len, "tokens"),
        **({} if break_even is None else {"break_even_length": quantity(break_even, "tokens")}),
    }
    if rows <= mixer.heads.state_dim:
        reason = f"the state has {rows} rows per head: neither phi nor the feature map enlarges it"
        return Outcome("pass", site.at("readout"), reason, evidence=evidence)
    if break_even is None:
        return Outcome("inapplicable", site.at("heads"), "no token of its own would be cached", evidence=evidence)
    held = min(seq_len, mixer.support.chunk or seq_len)
    if break_even <= held:
        return Outcome(
            "pass", site.at("readout"), f"a cache would be as large at length {break_even:,}", evidence=evidence
        )
    limit = f"the target is {seq_len:,}" if held == seq_len else f"a chunk holds {held:,} tokens"
    return Outcome(
        "fail",
        site.at(_enlarging(site)),
        f"the lifted state of {rows:,} rows per head takes {cost.state_bytes:,} bytes per layer: a cache is smaller up"
        f" to length {break_even:,}, and {limit}.",
        kind=Kind.LIFTED_STATE,
        evidence=evidence,
        assumptions=(
            f"the state is kept in {mixer.execution.dtype.state}, the cache of keys and values in {site.target.dtype}",
        ),
    )


def _enlarging(site: Site) -> str:
    """The field that makes the state larger than n x p."""
    mixer = site.mixer
    if mixer.key_dim > mixer.heads.state_dim:
        return "features.map"
    return "lift.kind" if mixer.lift.kind == "momentum" and mixer.lifted_dim == 2 * mixer.key_dim else "readout"


def _cost(site: Site, *, plain: bool = False) -> MixerCost:
    """The cost of the mixer; `plain` without its lift, which is the state of one Fenwick level."""
    return site.cost_of(site.mixer.model_copy(update={"lift": Lift()})) if plain else site.cost


def _break_even(site: Site) -> int | None:
    """The shortest length whose cache is as large as the state: of Fenwick levels, L >= log2(L) of one level."""
    if site.mixer.lift.kind != "fenwick":
        return _cost(site).break_even_length
    level = _cost(site, plain=True).break_even_length
    if level is None:
        return None
    length = level
    while length < level * length.bit_length():
        length = level * length.bit_length()
    return length


rule = Rule(
    code="CD102",
    name="lifted-state-exceeds-cache",
    group="suspect",
    precision="very-high",
    what="A polynomial readout or a feature map makes the recurrent state larger than the cache at the target length.",
    why="The lift of a polynomial of degree d has C(n + d - 1, d) rows per head and a feature map its own width: below"
    " the break-even length the recurrence keeps and moves more bytes than plain attention would.",
    exceptions=(
        "A state of n x p that nothing enlarges passes, however short the target length is.",
        "Log-linear attention keeps log2 L states of that size, and a chunk never caches more than its own tokens.",
    ),
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
        "shear",
        "support.chunk",
        "scaling.gate",
        "heads",
        "lift",
        "normalization.kind",
        "execution.dtype.state",
        "target.seq_len",
        "target.dtype",
    ),
    check=per_mixer(judge),
)
