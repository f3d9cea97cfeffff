"""CD301 position-blind: nothing tells the mixer where a key stands."""

from collections.abc import Iterable

from checkers.finding import quantity
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from designspace.mixer import MixerSpec

EMBEDDING = "embedding"


def judge(context: Context) -> Iterable[Outcome]:
    """P3 on the whole model: a blind mixer is an error only where no other part of the stack carries position."""
    blind = [site for site in context.sites if site.mixer.is_position_blind]
    if context.target.task == "set":
        return [
            Outcome("inapplicable", site.path, "`task: set` declares that order carries no meaning")
            for site in context.sites
        ]
    elsewhere = _carried_elsewhere(context) if blind else None
    return [
        _judge_blind(site, elsewhere) if site.mixer.is_position_blind else _judge_positional(site)
        for site in context.sites
    ]


def _judge_blind(site: Site, elsewhere: str | None) -> Outcome:
    evidence = {"layers": quantity(site.context.candidate.num_layers, "layers")}
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
    )


def _judge_positional(site: Site) -> Outcome:
    mixer = site.mixer
    if not mixer.evolution_is_identity:
        only_erase = mixer.lift.kind == "none" and all(
            part.is_identity for part in (mixer.decay, mixer.rotation, mixer.shear)
        )
        if only_erase and not _is_local(mixer):
            return Outcome(
                "pass",
                site.at("erase"),
                "order enters only through the overlap of keys: an erase without decay, rotation or convolution leaves"
                " orthogonal keys unordered.",
                kind=Kind.NOTE,
            )
        return Outcome("pass", site.at("decay"), "A_t moves stored keys, so the coefficients know the distance")
    if mixer.io.short_conv.width > 1 and mixer.support.window is None and mixer.support.chunk is None:
        return Outcome(
            "pass",
            site.at("io.short_conv"),
            f"local order only: A_t = I, and the short convolution sees {mixer.io.short_conv.width} tokens.",
            kind=Kind.NOTE,
            evidence={"short_conv_width": quantity(mixer.io.short_conv.width, "tokens")},
        )
    return Outcome("pass", site.path, "a window, a chunk or an index gate tells positions apart")


def _is_local(mixer: MixerSpec) -> bool:
    return mixer.io.short_conv.width > 1 or mixer.support.window is not None or mixer.support.chunk is not None


def _carried_elsewhere(context: Context) -> str | None:
    """What carries position for a blind mixer; None where nothing does. Queries on the graph of the stack."""
    import networkx as nx  # only blind mixers need it

    stack = context.graph
    if stack.nodes[EMBEDDING]["positions"] != "none":
        return f"from {stack.nodes[EMBEDDING]['positions']} embeddings"
    mixers = {node: data["mixer"] for node, data in stack.nodes(data=True) if data["kind"] == "mixer"}
    positional = [node for node, mixer in mixers.items() if not mixer.is_position_blind]
    if positional:
        first = min(positional, key=lambda node: (stack.nodes[node]["layer"], node))
        return f"from another mixer, in layer {stack.nodes[first]['layer'] + 1}"
    causal = [node for node, mixer in mixers.items() if mixer.support.mask != "none"]
    feeds = any(mixers.keys() & nx.descendants(stack, node) for node in causal)
    return "through the causal mask in depth only" if feeds else None


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
        "A short convolution gives local order: pass with a remark; so does an erase alone, by the overlap of keys.",
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
