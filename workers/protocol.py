"""Training protocols: everything about a run that is not the candidate, the task or the seed. Data, not code.

`tiny` (the default) trains one candidate on one task with one seed in at most 20 s on one core. It can say which mixers
learn a task fast at 64 dims and two layers, and it separates those that miss a mechanism (position, selectivity,
erasing) from those that have it. It cannot say how a mixer scales, which of two good mixers is better in the long run
(a run still at chance is undecided, not bad: learning comes in jumps after plateaus), or anything about language; and
because mixers without a short convolution are given one (without it none leaves chance in this budget), it cannot tell
whether a mixer needs it. Never call its numbers MAD scores.

`mad` keeps the published settings of MAD (arXiv 2403.17844, section 3 and appendix B) for GPUs: 200 epochs over 12,800
sequences, batch 128, model_dim 128, two mixers and two SwiGLU, state of 4096 in total, bfloat16. It runs one learning
rate and weight decay (the published score is the best of six), follows the paper's cosine (mad-lab's own code never
steps it), scores weights at the end (mad-lab: at the lowest perplexity on what is also its test set), and measures
accuracy over the whole test set (mad-lab: class-balanced per batch of 128, then averaged).
"""

import math
from collections.abc import Mapping
from typing import Literal, TypeVar

from pydantic import Field

from designspace.candidate import Block, Candidate, Parallel
from designspace.errors import SpecError
from designspace.io import ShortConv
from designspace.job import Record
from designspace.mixer import MixerSpec
from designspace.outside import Outside
from workers.task import Task, TaskParameters

P = TypeVar("P", bound=TaskParameters)
SET_BY_PROTOCOL = (
    "model.model_dim",
    "model.vocab_size",
    "target.seq_len",
    "repeat",
    "heads.num_heads",
    "heads.state_dim",
    "heads.head_dim",
)  # fields of a candidate that `Protocol.adapt` replaces, by the end of their path


class ModelSizes(Record):
    """Sizes a protocol gives to every candidate.

    Heads keep their layout: `multi` gets num_heads keys of state_dim and values of head_dim, `channel` one head with
    channel_state_dim numbers for each of the model_dim channels. A state_dim of 1 stays 1: it is another mixer (a gated
    average), not a small state.
    """

    model_dim: int = Field(ge=1)
    num_layers: int = Field(ge=1)
    num_heads: int = Field(ge=1)
    state_dim: int = Field(ge=1)
    head_dim: int = Field(ge=1)
    channel_state_dim: int = Field(ge=1)
    short_conv_width: int = Field(0, ge=0, description="Taps on q, k and v for mixers without a short convolution.")


class Protocol(Record):
    """How a run trains and measures.

    Exactly one of `steps` (fresh sequences at every step) and `epochs` (passes over the task's published training set)
    is set. The learning rate rises linearly over the first warmup_fraction of the steps and falls by a cosine to
    final_fraction of its peak at the last one.
    """

    name: str
    scale: Literal["published", "tiny"] = Field(description="Which sizes of the task.")
    sizes: ModelSizes
    batch_size: int = Field(ge=1)
    steps: int | None = Field(None, ge=1)
    epochs: int | None = Field(None, ge=1)
    learning_rate: float = Field(gt=0, description="Peak.")
    warmup_fraction: float = Field(ge=0, lt=1)
    final_fraction: float = Field(ge=0, le=1)
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = Field(0.0, ge=0, description="On weights of linear maps and embeddings only.")
    max_gradient_norm: float | None = Field(None, gt=0)
    precision: Literal["float32", "bfloat16"] = "float32"
    validation_size: int = Field(ge=1, description="Sequences.")
    test_size: int = Field(ge=1, description="Sequences.")
    evaluations: int = Field(ge=1, description="Points of the learning curve, evenly spaced.")
    limit_seconds: float | None = Field(None, gt=0, description="Wall time after which a run ends as `timeout`.")
    stop_accuracy: float | None = Field(None, gt=0, le=1, description="Validation accuracy at which a run ends early.")

    def parameters(self, task: Task[P]) -> P:
        """The sizes of `task` under this protocol."""
        return task.parameters if self.scale == "published" else task.tiny

    def train_size(self, task: Task[P], steps: int) -> int:
        """Sequences drawn for training: new ones for `steps` batches, or the published set."""
        return task.train_size if self.epochs is not None else steps * self.batch_size

    def num_steps(self, task: Task[P]) -> int:
        """Optimizer steps of a full run."""
        if self.steps is not None:
            return self.steps
        batches = -(-task.train_size // self.batch_size)
        return batches * (self.epochs or 1)

    def adapt(self, candidate: Candidate, *, vocab_size: int, seq_len: int) -> Candidate:
        """The candidate with this protocol's sizes; readout, evolution, scaling and normalization stay as they are.

        Set: model_dim, vocab_size, target.seq_len, heads (`ModelSizes`), a short convolution where there is none, the
        number of layers. A stack of equal blocks gets num_layers of them; a hybrid keeps each distinct block once, in
        the order of first appearance, but of those that differ in numbers alone (decays or weights that change from
        layer to layer) num_layers from the first to the last. Norms, skips and channel mixers are kept. Two candidates
        that differ only in what is set here train alike.

        Raises:
            SpecError: a mixer lies outside the grammar, or reads later tokens.
        """
        if not candidate.is_causal:
            raise SpecError(
                "the candidate reads later tokens (`support.mask: none` or `orders`), where a task's answers stand;"
                " use a causal mask and forward orders."
            )
        blocks = _representatives(candidate.blocks, self.sizes.num_layers)
        repeat = self.sizes.num_layers if len(blocks) == 1 else 1
        raw = candidate.model_dump(by_alias=True)
        raw["model"] |= {"model_dim": self.sizes.model_dim, "vocab_size": vocab_size}
        raw["target"] |= {"seq_len": seq_len}
        raw["blocks"] = [_resize_block(block, self.sizes) | {"repeat": repeat} for block in blocks]
        return Candidate.model_validate(raw)


TINY = Protocol(
    name="tiny",
    scale="tiny",
    sizes=ModelSizes(
        model_dim=64,
        num_layers=2,
        num_heads=4,
        state_dim=16,
        head_dim=16,
        channel_state_dim=4,
        short_conv_width=4,
    ),
    batch_size=16,
    steps=250,
    learning_rate=6e-3,
    warmup_fraction=0.1,
    final_fraction=0.02,
    weight_decay=0.01,
    max_gradient_norm=1.0,
    validation_size=128,
    test_size=512,
    evaluations=8,
    limit_seconds=120.0,
    stop_accuracy=0.999,
)

MAD = Protocol(
    name="mad",
    scale="published",
    sizes=ModelSizes(model_dim=128, num_layers=2, num_heads=8, state_dim=16, head_dim=16, channel_state_dim=16),
    batch_size=128,
    epochs=200,
    learning_rate=5e-4,
    warmup_fraction=0.0,
    final_fraction=0.002,
    betas=(0.9, 0.98),
    precision="bfloat16",
    validation_size=1280,
    test_size=1280,
    evaluations=200,
    stop_accuracy=0.999,
)

PROTOCOLS: Mapping[str, Protocol] = {protocol.name: protocol for protocol in (TINY, MAD)}


def named(name: str) -> Protocol:
    """The protocol called `name`.

    Raises:
        SpecError: there is none.
    """
    if name not in PROTOCOLS:
        raise SpecError(f"`protocol` must be one of {', '.join(PROTOCOLS)}, got {name!r}.")
    return PROTOCOLS[name]


def _representatives(blocks: tuple[Block, ...], count: int) -> tuple[Block, ...]:
    """The distinct blocks; `count` of those that differ in numbers alone, the first and the last among them."""
    distinct = tuple(dict.fromkeys(block.model_copy(update={"repeat": 1}) for block in blocks))
    alike: dict[object, list[Block]] = {}
    for block in distinct:
        alike.setdefault(_structure(block.model_dump()), []).append(block)
    kept = {
        group[round(index * (len(group) - 1) / max(count - 1, 1))] for group in alike.values() for index in range(count)
    }
    return tuple(block for block in distinct if block in kept)


def _structure(value: object) -> object:
    """A dumped record with every number that is no count left out."""
    match value:
        case dict():
            return tuple((key, _structure(item)) for key, item in value.items())
        case list() | tuple():
            return tuple(map(_structure, value))
        case float():
            return float
        case _:
            return value


def _resize_block(block: Block, sizes: ModelSizes) -> dict[str, object]:
    raw: dict[str, object] = block.model_dump(by_alias=True)
    match block.mixer:
        case None:
            pass
        case Outside(reason=reason):
            raise SpecError(f"a mixer lies outside the grammar and cannot be trained: {reason}")
        case Parallel(parallel=branches):
            raw["mixer"] = block.mixer.model_dump() | {"parallel": [_resize_mixer(mixer, sizes) for mixer in branches]}
        case mixer:
            raw["mixer"] = _resize_mixer(mixer, sizes)
    return raw


def _resize_mixer(mixer: MixerSpec, sizes: ModelSizes) -> dict[str, object]:
    raw = mixer.model_dump(by_alias=True)
    raw["heads"] |= _resize_heads(mixer, sizes)
    if mixer.io.short_conv.width == 0 and sizes.short_conv_width > 0:
        # Static queries and keys are the same at every position: only values are worth a convolution.
        streams = ("v",) if mixer.features.is_static else ("q", "k", "v")
        raw["io"]["short_conv"] = ShortConv(width=sizes.short_conv_width, on=streams).model_dump()
    if mixer.heads.layout == "channel" and mixer.is_finite_memory and mixer.execution.form == "auto":
        # Scores of every channel cost more than its small state: HGRN 77 against 429 ms a step, Mamba 496 against 815.
        raw["execution"]["form"] = "recurrent"
    if mixer.rotation.scaling is not None and mixer.rotation.scaling.kind == "longrope":
        raw["rotation"]["scaling"] = None  # one factor per pair of the published width
    width = mixer.features.feature_dim(raw["heads"]["state_dim"])
    if mixer.rotation.pairs(mixer.key_dim) and not mixer.rotation.pairs(width):
        raw["rotation"]["fraction"] = 2.0 / width  # at least one pair keeps turning
    if isinstance(mixer.shear.slopes, tuple):
        raw["shear"]["slopes"] = _spread(mixer.shear.slopes, raw["heads"]["num_heads"])
    return raw


def _resize_heads(mixer: MixerSpec, sizes: ModelSizes) -> dict[str, int | None]:
    """Heads of the protocol's sizes that share streams in the proportion of the candidate's."""
    heads = mixer.heads
    match heads.layout:
        case "channel":
            num_heads, state_dim, head_dim = sizes.model_dim, sizes.channel_state_dim, 1
        case "multi":
            num_heads, state_dim, head_dim = sizes.num_heads, sizes.state_dim, sizes.head_dim
    groups = math.gcd(num_heads, max(1, num_heads * heads.groups // heads.num_heads))
    latent = (heads.latent_dim or 0) * num_heads * head_dim / (heads.num_heads * heads.head_dim)
    return {
        "latent_dim": None if heads.latent_dim is None else max(1, round(latent)),
        "shared_key_dim": min(round(heads.shared_key_dim * state_dim / heads.state_dim), state_dim - 1),
        "num_heads": num_heads,
        "head_dim": head_dim,
        "state_dim": 1 if heads.state_dim == 1 else state_dim,
        "kv_groups": None if groups == num_heads else groups,
    }


def _spread(slopes: tuple[float, ...], num_heads: int) -> tuple[float, ...]:
    """`num_heads` of the slopes, evenly spaced over the list."""
    return tuple(slopes[head * len(slopes) // num_heads] for head in range(num_heads))
