"""CD301 position-blind: nothing tells the mixer where a key stands."""

from collections.abc import Iterable, Mapping
from typing import Any

from checkers.finding import Fix, quantity, setting
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from designspace.position import position_codes
from designspace.scaling import QUERY_SCHEDULE_FLOOR

EMBEDDING = "embedding"
BY_OVERLAP = ("erase",)
LOCAL = ("io.short_conv",)
WHAT: Mapping[str, str] = {
    "decay": "A_t decays stored keys",
    "rotation": "A_t rotates stored keys",
    "erase": "A_t erases stored keys",
    "shear": "an additive path of the score counts steps",
    "lift": "the lift sets lags apart",
    "support.window": "a window drops old keys",
    "support.chunk": "chunks begin at fixed positions",
    "scaling.gate": "the gate 1 / j knows the position of a key",
    "io.short_conv": "a short convolution sees neighbours",
}


def judge(context: Context) -> Iterable[Outcome]:
    """P3 on the whole model: a blind mixer is an error only where no other part of the stack carries position."""
    if context.target.task == "set":
        reason = "`task: set` declares that order carries no meaning"
        return [Outcome("inapplicable", site.path, reason) for site in context.sites]
    codes = {site.path: position_codes(site.mixer, context.target.seq_len) for site in context.sites}
    weak = (*BY_OVERLAP, *LOCAL)
    full = context.candidate.model.positions != "none" or any(set(found) - set(weak) for found in codes.values())
    elsewhere = None if all(codes.values()) else _carried_elsewhere(context, codes)
    return [
        _positional(site, codes[site.path], alone=not full) if codes[site.path] else _blind(site, elsewhere)
        for site in context.sites
    ]


def _blind(site: Site, elsewhere: str | None) -> Outcome:
    layers = sum(block.repeat for block in site.context.candidate.blocks if block.mixers)
    evidence = {"mixing_layers": quantity(layers, "layers")}
    if elsewhere is not None and _has_schedule(site):
        reason = f"A_t = I, but the query schedule tells rows apart, and position comes {elsewhere}"
        return Outcome("pass", site.at("scaling.query_schedule"), reason, evidence=evidence)
    if elsewhere is not None:
        return Outcome(
            "fail",
            site.path,
            f"A_t = I and no other position code: this mixer sees tokens only; position comes {elsewhere}.",
            kind=Kind.POSITION_ELSEWHERE,
            evidence=evidence,
        )
    stack = "a bidirectional stack" if site.mixer.support.mask == "none" else "one causal layer"
    return Outcome(
        "fail",
        site.path,
        f"A_t = I in {stack} without any position code: permuting the past leaves the output unchanged.",
        kind=Kind.NO_POSITION,
        evidence=evidence,
        fix=_fix(site),
    )


def _fix(site: Site) -> Fix | None:
    """Rotary positions, where the keys have a pair of channels."""
    return setting("display", {site.at("rotation.source"): "constant"}) if site.mixer.key_dim > 1 else None


def _has_schedule(site: Site) -> bool:
    """The factor of the query changes within the target length."""
    return site.mixer.scaling.query_schedule != "none" and site.target.seq_len >= QUERY_SCHEDULE_FLOOR


def _positional(site: Site, codes: tuple[str, ...], *, alone: bool) -> Outcome:
    """A mixer with position codes of its own; `alone` where no mixer and no embedding of the stack has a full one."""
    if alone and codes == BY_OVERLAP:
        return Outcome(
            "pass",
            site.at("erase"),
            "order enters only through the overlap of keys: an erase without decay, rotation or convolution leaves"
            " orthogonal keys unordered.",
            kind=Kind.NOTE,
            evidence={"erase_gain": quantity(site.mixer.erase.gain, "gain")},
        )
    if alone and codes == LOCAL:
        width = site.mixer.io.short_conv.width
        return Outcome(
            "pass",
            site.at("io.short_conv"),
            f"local order only: A_t = I, and the short convolution sees {width} tokens.",
            kind=Kind.NOTE,
            evidence={"short_conv_width": quantity(width, "tokens")},
        )
    reason = ", ".join(WHAT[code] for code in codes)
    return Outcome("pass", site.at(codes[0]), reason, evidence={"position_codes": quantity(", ".join(codes))})


def _carried_elsewhere(context: Context, codes: Mapping[str, tuple[str, ...]]) -> str | None:
    """What carries position for a blind mixer; None where nothing does. Queries on the graph of the stack."""
    import networkx as nx  # only blind mixers need it

    stack = context.graph
    if stack.nodes[EMBEDDING]["positions"] != "none":
        return f"from {stack.nodes[EMBEDDING]['positions']} embeddings"
    mixers: dict[str, Any] = {node: data for node, data in stack.nodes(data=True) if data["kind"] == "mixer"}
    positional = [node for node, data in mixers.items() if codes[data["path"]]]
    if positional:
        first = min(positional, key=lambda node: (mixers[node]["layer"], node))
        return f"from another mixer, in layer {mixers[first]['layer'] + 1}"
    if any(data.get("order", "forward").startswith("columns") for _, _, data in stack.edges(data=True)):
        return "from the orders in which the branches read"
    masked = [node for node, data in mixers.items() if data["mixer"].support.mask != "none"]
    scheduled = [site.path for site in context.sites if _has_schedule(site)]
    uneven = [node for node, data in mixers.items() if data["path"] in scheduled]
    for nodes, what in ((masked, "the causal mask"), (uneven, "the query schedule")):
        if any(mixers.keys() & nx.descendants(stack, node) for node in nodes):
            return f"through {what} in depth only"
    return None


rule = Rule(
    code="CD301",
    name="position-blind",
    group="proof",
    precision="very-high",
    what="A_t = I, and no shear, lift, convolution, window, chunk, index gate or position embedding: the coefficients"
    " depend on the tokens alone.",
    why="One causal layer then maps every permutation of the past to the same output, and a bidirectional stack is"
    " equivariant at any depth.",
    exceptions=(
        "A causal mask and two or more layers can encode position (arXiv 2402.05969): info.",
        "Embeddings, an earlier mixer or another layer of a hybrid carry position: info.",
        "`target.task: set` declares the invariance as intended: not judged.",
        "A short convolution gives local order: pass with a remark; so does an erase alone, by the overlap of keys. No"
        " remark where embeddings or another mixer know positions.",
        "A window or chunk that the target length does not reach drops nothing and tells nothing apart.",
        "A query schedule changes whole rows: it does not order the past, but counts beside other layers.",
    ),
    fix="Give A_t a decay or a rotation, add a shear, or set `model.positions`.",
    references=("arXiv 2510.09389, principle 3", "arXiv 2402.05969"),
    passes=(
        {"mixer": {"readout": {"kind": "exponential"}, "rotation": {"source": "constant"}}},
        {"mixer": {"io": {"short_conv": {"width": 4, "on": ["k"]}}}},
        "catalogue:mamba2",
    ),
    fails=(
        {"mixer": {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}},
        {"blocks": [{"repeat": 4, "mixer": {"readout": {"kind": "exponential"}, "support": {"mask": "none"}}}]},
        "catalogue:softmax_nope",
    ),
    kinds=(
        Kind.POSITION_ELSEWHERE,
        Kind.NO_POSITION,
        Kind.NOTE,
    ),
    fields_read=(
        "decay",
        "rotation",
        "erase",
        "shear",
        "lift",
        "support",
        "scaling.gate",
        "scaling.query_schedule",
        "io.short_conv",
        "blocks",
        "model.positions",
        "target.task",
    ),
    check=judge,
    reads_stack=True,
)
