"""CD703 short-reach: only windows, and not enough of them in depth to cover the length."""

from collections.abc import Iterable

from checkers.finding import quantity
from checkers.rule import Context, Outcome, Rule
from checkers.severity import Kind
from designspace import readout as readouts
from designspace.composition import Parallel
from designspace.mixer import MixerSpec


def judge(context: Context) -> Iterable[Outcome]:
    """What the last output can depend on, layer by layer from the top: windows, chunks with their edges, taps."""
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
    seq_len = context.target.seq_len
    reach = seq_len - _earliest(context)
    spans = [span for site in context.sites if (span := step_span(site.mixer)) is not None]
    evidence = {
        "reach": quantity(reach, "tokens"),
        "layers": quantity(context.candidate.num_layers, "layers"),
        "widest_span": quantity(max(spans), "tokens per layer"),
        "seq_len": quantity(seq_len, "tokens"),
    }
    if reach >= seq_len:
        reason = f"the last of {reach:,} tokens depends on the first one through the windows of the stack"
        return Outcome("pass", context.sites[0].path, reason, evidence=evidence)
    return Outcome(
        "fail",
        context.sites[0].at("support"),
        f"every mixer reads a bounded span: through all layers the last token depends on {reach:,} tokens, fewer than"
        f" the length {seq_len:,}.",
        kind=Kind.MEMORY,
        evidence=evidence,
        assumptions=("information moves at most (span - 1) positions per layer",),
    )


def step_span(mixer: MixerSpec) -> int | None:
    """Tokens that one layer reads, the current one included; None where it reads the whole past.

    Beyond the taps of a filter the score is 0: such keys keep the weight phi(0).
    """
    spans = [span for span in (mixer.support.window, mixer.support.chunk, _taps(mixer)) if span is not None]
    if _norm_sees_phases(mixer):
        return None
    return min(spans) + max(mixer.io.short_conv.width - 1, 0) if spans else None


def _norm_sees_phases(mixer: MixerSpec) -> bool:
    """A norm behind the rotation that depends on the phase, which is a sum over the whole past where angles read it."""
    features = mixer.features
    sees = features.norm == "sum" or features.norm_has_gain
    turns = mixer.rotation.source == "input" and not mixer.rotation.is_identity
    return sees and turns and features.norm_order == "after_rotation"


def _taps(mixer: MixerSpec) -> int | None:
    return mixer.lift.width if readouts.value(mixer.readout, 0.0) == 0.0 else None


def _earliest(context: Context) -> int:
    """The first token, from 0, that the last output depends on."""
    position = context.target.seq_len - 1
    mixers: dict[int, list[MixerSpec]] = {}
    for site in context.sites:
        mixers.setdefault(site.located.block, []).append(site.mixer)
    for index, block in reversed(list(enumerate(context.candidate.blocks))):
        for _ in range(block.repeat):
            before = position
            position = min((_reads_from(mixer, before) for mixer in mixers.get(index, ())), default=before)
            if position == before:
                break
    return position


def _reads_from(mixer: MixerSpec, position: int) -> int:
    """The first token, from 0, that an output at `position` of this layer depends on: a convolution of keys or values
    reads on from the first visible key, one of the queries from the query.
    """
    support, conv, first = mixer.support, mixer.io.short_conv, 0
    for span in (support.window, _taps(mixer)):
        if span is not None:
            first = max(first, position - span + 1)
    if support.chunk is not None:
        first = max(first, position // support.chunk * support.chunk)
    before = conv.width - 1
    keys = first - before if {"k", "v"} & set(conv.on) else first
    return max(min(keys, position - before if "q" in conv.on else position), 0)


rule = Rule(
    code="CD703",
    name="short-reach",
    group="suspect",
    precision="very-high",
    what="Every mixer is a window, a chunk or a convolution, and through all layers the last token of the target length"
    " does not depend on the first one.",
    why="Information moves at most W - 1 positions per layer, so windows reach 1 + depth (W - 1) tokens back; no depth"
    " crosses the edge of aligned chunks.",
    exceptions=(
        "One mixer that reads the whole past, in any layer, lifts the limit.",
        "A short convolution, a window, or chunks with other edges may carry information across the edge of a chunk.",
        "A sum norm or a norm with a learned gain behind a rotation by the token sees phases that add up over the whole"
        " past, which lifts the limit as well.",
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
