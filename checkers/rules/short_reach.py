"""CD703 short-reach: only windows, and not enough of them in depth to cover the length."""

from collections.abc import Iterable

from checkers.finding import quantity
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from designspace.mixer import MixerSpec


def judge(context: Context) -> Iterable[Outcome]:
    """Reach 1 + sum of (W - 1) over the layers; a chunk never lets anything across its edge."""
    if not context.sites:
        return []
    spans = {site.path: step_span(site.mixer) for site in context.sites}
    free = [site for site in context.sites if spans[site.path] is None]
    if free:
        return [Outcome("pass", free[0].path, "a mixer of the stack reads the whole past")]
    reach = _reach(context, spans)
    seq_len = context.target.seq_len
    if reach >= seq_len:
        return [Outcome("pass", context.sites[0].path, f"the windows reach {reach:,} tokens back in depth")]
    return [
        Outcome(
            "fail",
            context.sites[0].at("support"),
            f"every mixer reads a bounded span: together the layers reach {reach:,} tokens, fewer than the length"
            f" {seq_len:,}.",
            kind=Kind.MEMORY,
            evidence={
                "reach": quantity(reach, "tokens"),
                "layers": quantity(context.candidate.num_layers, "layers"),
                "seq_len": quantity(seq_len, "tokens"),
            },
        )
    ]


def step_span(mixer: MixerSpec) -> int | None:
    """Tokens that one layer reads, the current one included; None where it reads the whole past."""
    convolution = max(mixer.io.short_conv.width - 1, 0)
    for span in (mixer.support.window, mixer.support.chunk, mixer.lift.width):
        if span is not None:
            return span + convolution
    return None


def _reach(context: Context, spans: dict[str, int | None]) -> int:
    """Layers add up, parallel branches take the widest; if every mixer is chunked, the chunk is all."""
    if all(site.mixer.support.chunk is not None for site in context.sites):
        return max(span or 1 for span in spans.values())
    widest: dict[int, tuple[int, Site]] = {}
    for site in context.sites:
        span = spans[site.path] or 1
        if span > widest.get(site.located.block, (0, site))[0]:
            widest[site.located.block] = (span, site)
    return 1 + sum((span - 1) * site.located.repeat for span, site in widest.values())


rule = Rule(
    code="CD703",
    name="short-reach",
    group="suspect",
    precision="very-high",
    what="Every mixer is a window, a chunk or a convolution, and 1 + depth (W - 1) is below the target length.",
    why="Information moves at most W - 1 positions per layer: the last token cannot depend on the first one.",
    exceptions=("One mixer that reads the whole past, in any layer, lifts the limit.",),
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
    fields_read=("support.window", "support.chunk", "lift.width", "io.short_conv", "blocks", "target.seq_len"),
    check=judge,
    reads_stack=True,
)
