"""CD703 short-reach: only windows, and not enough of them in depth to cover the length."""

from collections.abc import Iterable

from checkers.finding import quantity
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.composition import Parallel
from designspace.mixer import MixerSpec


def judge(context: Context) -> Iterable[Outcome]:
    """Reach 1 + sum of (W - 1) over the layers; aligned chunks never let anything across their edges."""
    if not context.sites:
        return []
    merged = (block.mixer for block in context.candidate.blocks)
    if any(isinstance(mixer, Parallel) and mixer.orders is not None for mixer in merged):
        reason = "branches read in orders of their own, in which a span of tokens is no distance"
        return [Outcome("inapplicable", "blocks", reason)]
    free = next((site for site in context.sites if step_span(site.mixer) is None), None)
    if free is not None:
        return [Outcome("pass", free.path, "a mixer of the stack reads the whole past")]
    return [_judge_reach(context)]


def _judge_reach(context: Context) -> Outcome:
    seq_len, spans = context.target.seq_len, widest_spans(context)
    reach = _common_chunk(context.sites) or 1 + sum(
        (spans[index] - 1) * block.repeat for index, block in enumerate(context.candidate.blocks)
    )
    evidence = {
        "reach": quantity(reach, "tokens"),
        "layers": quantity(context.candidate.num_layers, "layers"),
        "widest_span": quantity(max(spans), "tokens per layer"),
        "seq_len": quantity(seq_len, "tokens"),
    }
    if reach >= seq_len:
        reason = f"the windows reach {reach:,} tokens back in depth"
        return Outcome("pass", context.sites[0].path, reason, evidence=evidence)
    return Outcome(
        "fail",
        context.sites[0].at("support"),
        f"every mixer reads a bounded span: together the layers reach {reach:,} tokens, fewer than the length"
        f" {seq_len:,}.",
        kind=Kind.MEMORY,
        evidence=evidence,
        assumptions=("information moves at most (span - 1) positions per layer",),
    )


def step_span(mixer: MixerSpec) -> int | None:
    """Tokens that one layer reads, the current one included; None where it reads the whole past.

    Beyond the taps of a filter the score is 0: such keys keep the weight phi(0).
    """
    taps = mixer.lift.width if readouts.value(mixer.readout, 0.0) == 0.0 else None
    spans = [span for span in (mixer.support.window, mixer.support.chunk, taps) if span is not None]
    return min(spans) + max(mixer.io.short_conv.width - 1, 0) if spans else None


def widest_spans(context: Context) -> list[int]:
    """Tokens that a layer of each block reads: the widest of its branches, the token itself without a mixer."""
    found = [1] * len(context.candidate.blocks)
    for site in context.sites:
        span = step_span(site.mixer)
        if span is not None:
            found[site.located.block] = max(found[site.located.block], span)
    return found


def _common_chunk(sites: tuple[Site, ...]) -> int | None:
    """The largest chunk, if every mixer is chunked with its edges among theirs, and no convolution crosses them."""
    chunks = [site.mixer.support.chunk for site in sites]
    sizes = [chunk for chunk in chunks if chunk is not None]
    crossed = any(site.mixer.io.short_conv.width > 1 for site in sites)
    if crossed or len(sizes) < len(chunks) or any(max(sizes) % size for size in sizes):
        return None
    return max(sizes)


rule = Rule(
    code="CD703",
    name="short-reach",
    group="suspect",
    precision="very-high",
    what="Every mixer is a window, a chunk or a convolution, and 1 + depth (W - 1) is below the target length.",
    why="Information moves at most W - 1 positions per layer: the last token cannot depend on the first one.",
    exceptions=(
        "One mixer that reads the whole past, in any layer, lifts the limit.",
        "A short convolution, or chunks with other edges, carry information across the edge of a chunk.",
        "Branches that read in orders of their own are not judged.",
    ),
    fix="Add depth, widen the windows, or mix in one recurrent or full-attention layer.",
    references=("arXiv 2004.05150", "arXiv 2310.06825, section 2"),
    passes=(
        {"target": {"seq_len": 128}, "mixer": {"readout": {"kind": "exponential"}, "support": {"window": 128}}},
        "catalogue:softmax_rope",
    ),
    fails=(
        {"blocks": [{"repeat": 2, "mixer": {"readout": {"kind": "exponential"}, "support": {"window": 64}}}]},
        {"mixer": {"readout": {"kind": "exponential"}, "support": {"chunk": 256}}},
    ),
    kinds=(Kind.MEMORY,),
    fields_read=(
        "readout",
        "support.window",
        "support.chunk",
        "lift.width",
        "io.short_conv",
        "blocks",
        "target.seq_len",
    ),
    check=judge,
    reads_stack=True,
)
