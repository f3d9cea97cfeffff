"""A candidate: the stack of blocks, its sizes and its target. The spec file is this record."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Discriminator, Field, Tag, model_validator

from designspace.composition import Parallel as Parallel
from designspace.mixer import MixerSpec
from designspace.outside import Outside
from designspace.spec import Dtype, Nonnegative, Spec, invalid
from designspace.suppression import Lint
from designspace.target import Target

MAX_LAYERS = 1024
MAX_NAME = 200  # characters
MAX_REASON = 400  # characters


class ModelSpec(Spec):
    """What surrounds the blocks. `positions` are added to the embeddings."""

    model_dim: Annotated[int, Field(ge=1, le=1_048_576)] = 256
    vocab_size: Annotated[int, Field(ge=1, le=16_777_216)] = 512
    positions: Literal["none", "learned", "sinusoidal"] = "none"
    residual_dtype: Dtype = "float32"


def _mixer_tag(value: Any) -> str:
    """Which member of `AnyMixer` the input means, so that errors speak of that member only.

    Tags are names of records: they stand in the place of an error, where a key of the file could not be told from them.
    """
    match value:
        case {"parallel": _} | Parallel():
            return Parallel.__name__
        case {"outside": _} | Outside():
            return Outside.__name__
        case _:
            return MixerSpec.__name__


AnyMixer = Annotated[
    Annotated[MixerSpec, Tag(MixerSpec.__name__)]
    | Annotated[Parallel, Tag(Parallel.__name__)]
    | Annotated[Outside, Tag(Outside.__name__)],
    Discriminator(_mixer_tag),
]


class Skip(Spec):
    """The residual path around the mixer: x <- lambda x + mixer(norm(x)) (lambda-skip, arXiv 2410.10609)."""

    weight: Nonnegative = Field(default=1.0, alias="lambda")


class Norm(Spec):
    """Norm of a sub-layer."""

    kind: Literal["rms", "layer", "none"] = "rms"
    placement: Literal["pre", "post"] = "pre"


class ChannelMixer(Spec):
    """The position-wise part of a block; `ratio` is the hidden width over model_dim."""

    kind: Literal["none", "swiglu", "mlp"] = "swiglu"
    ratio: Annotated[float, Field(gt=0, le=64)] = 2.667


class Block(Spec):
    """`repeat` equal layers: a mixer and a channel mixer, each with skip and norm. Instead of one mixer there may be
    several in parallel, one outside the grammar, or none.
    """

    repeat: Annotated[int, Field(ge=1, le=MAX_LAYERS)] = 1
    mixer: AnyMixer | None = MixerSpec()
    skip: Skip = Skip()
    norm: Norm = Norm()
    channel_mixer: ChannelMixer = ChannelMixer()
    lint: Lint = Lint()

    @property
    def mixers(self) -> tuple[MixerSpec, ...]:
        """The mixers of the grammar that run side by side."""
        match self.mixer:
            case None | Outside():
                return ()
            case Parallel(branches=mixers):
                return mixers
            case mixer:
                return (mixer,)


class Located(NamedTuple):
    """A mixer with its place: path in the spec file, block index, number of layers that repeat it; whether its values
    and output stage are another branch's (`shared_values`).
    """

    path: str
    block: int
    repeat: int
    mixer: MixerSpec
    borrows_values: bool = False


class Approximation(Spec):
    """A key of the config.json a candidate was imported from that it follows in part: what stands in its place."""

    key: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON)]


class Candidate(Spec):
    """A whole spec file. Its identity is `designspace.canonical.fingerprint`, not its name."""

    sextant: Literal[1] = 1
    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME)] = "unnamed"
    target: Target = Target()
    model: ModelSpec = ModelSpec()
    blocks: Annotated[tuple[Block, ...], Field(min_length=1, max_length=MAX_LAYERS)]
    approximated: Annotated[tuple[Approximation, ...], Field(max_length=MAX_LAYERS)] = Field(
        default=(), description="what an import left out"
    )
    lint: Lint = Lint()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.num_layers > MAX_LAYERS:
            raise invalid("blocks", f"the stack has {self.num_layers} layers after repeat, more than {MAX_LAYERS}.")
        written = sum(len(block.mixers) for block in self.blocks)
        if written > MAX_LAYERS:
            raise invalid("blocks", f"the file holds {written} mixers with all branches, more than {MAX_LAYERS}.")
        return self

    @property
    def num_layers(self) -> int:
        """Depth: layers after repeat."""
        return sum(block.repeat for block in self.blocks)

    @property
    def is_causal(self) -> bool:
        """No mixer reads later tokens: no mask `none`, no order of reading but `forward`."""
        orders = all(block.mixer.is_causal for block in self.blocks if isinstance(block.mixer, Parallel))
        return orders and all(located.mixer.support.mask != "none" for located in self.mixers())

    def outside(self) -> Iterator[tuple[str, Outside]]:
        """Path and record of every mixer outside the grammar."""
        for index, block in enumerate(self.blocks):
            if isinstance(block.mixer, Outside):
                yield f"blocks[{index}].mixer", block.mixer

    def mixers(self) -> Iterator[Located]:
        """Every mixer of the grammar in the file once, with its path."""
        for index, block in enumerate(self.blocks):
            match block.mixer:
                case None | Outside():
                    continue
                case Parallel(branches=mixers, shared_values=shared):
                    for branch, mixer in enumerate(mixers):
                        path = f"blocks[{index}].mixer.parallel[{branch}]"
                        yield Located(path, index, block.repeat, mixer, borrows_values=shared and branch > 0)
                case mixer:
                    yield Located(f"blocks[{index}].mixer", index, block.repeat, mixer)


def single(mixer: MixerSpec, *, name: str = "unnamed", depth: int = 1, target: Target | None = None) -> Candidate:
    """A stack of `depth` equal layers."""
    return Candidate(name=name, target=target or Target(), blocks=(Block(repeat=depth, mixer=mixer),))
