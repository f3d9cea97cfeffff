"""A candidate as a torch module, built from its stack."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from designspace.candidate import Block, Candidate, ChannelMixer, Parallel
from designspace.composition import positions
from designspace.errors import SpecError
from designspace.streams import VALUES
from workers.layers import embedding, linear, norm
from workers.mixer import Mixer

EMBEDDING_STD = 1.0  # of embeddings and learned positions: a residual stream of unit rms, also without a norm
SINUSOID_PERIOD = 10_000.0  # longest wavelength over 2 pi (arXiv 1706.03762, section 3.5)
DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}


def build(candidate: Candidate, *, seed: int) -> "Model":
    """The model of a candidate in float32 on the CPU; the same seed gives the same weights bit for bit.

    Raises:
        SpecError: a mixer lies outside the grammar.
    """
    for path, outside in candidate.outside():
        raise SpecError(f"`{path}` lies outside the grammar and cannot be built: {outside.reason}", path=path)
    return Model(candidate, seed=seed)


class Model(nn.Module):
    """int64 tokens [batch, seq_len] -> logits [batch, seq_len, vocab_size].

    Parameters, one part a line (inner = num_heads * head_dim; streams: `designspace.streams`):
      embedding   vocab_size * model_dim; learned positions add target.seq_len * model_dim, sinusoidal none
      norm        one for the mixers of a layer and one for its channel mixer: rms model_dim, layer 2 model_dim, none 0
      projection  model_dim * channels of every stream of `raw_shapes`, and model_dim * inner for an output gate
      latent      (1 + num_heads * (state_dim - shared_key_dim + head_dim)) * latent_dim, in place of streams of k and v
      convolution width * channels of the streams it acts on
      signal      all `parameter_shapes`: decay bias and rate, gate bias, gains, D, bonus, sink, taps, ...
      output norm head_rms head_dim, head_ln 2 head_dim, group_rms and full_rms inner
      output      inner * model_dim
      merge       `concat` of m parallel mixers: m * model_dim * model_dim; `sum` and `mean` none, learnable weights m;
                  branches that share values have no values, output norm, gate and output after the first
      channel     hidden = round(ratio * model_dim): swiglu 3 model_dim * hidden, mlp 2 model_dim * hidden
      head        final RMSNorm model_dim, then vocab_size * model_dim, untied
    No linear map has a bias.
    """

    def __init__(self, candidate: Candidate, *, seed: int) -> None:
        super().__init__()
        sizes = candidate.model
        self.positions, self.seq_len = sizes.positions, candidate.target.seq_len
        self.residual_dtype = DTYPES[sizes.residual_dtype]
        self.embedding = embedding(sizes.vocab_size, sizes.model_dim, seed=seed, name="embedding", std=EMBEDDING_STD)
        self.learned_positions = (
            embedding(self.seq_len, sizes.model_dim, seed=seed, name="positions", std=EMBEDDING_STD)
            if sizes.positions == "learned"
            else None
        )
        blocks = [block for block in candidate.blocks for _ in range(block.repeat)]
        self.layers = nn.ModuleList(
            Layer(block, candidate, seed=seed, name=f"layers.{index}") for index, block in enumerate(blocks)
        )
        self.final_norm = norm("rms", sizes.model_dim)
        self.head = linear(sizes.model_dim, sizes.vocab_size, seed=seed, name="head")

    def forward(self, tokens: Int[Tensor, "batch seq_len"]) -> Float[Tensor, "batch seq_len vocab_size"]:
        """Logits of the next token (or of whatever the task asks) at every position.

        Raises:
            ValueError: more tokens than learned positions.
        """
        x = self.embedding(tokens)
        x = x + self._positions(x) if self.positions != "none" else x
        x = x.to(self.residual_dtype)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.final_norm(x.float()))  # type: ignore[no-any-return]

    def _positions(self, x: Tensor) -> Tensor:
        if self.learned_positions is None:
            return sinusoids(x.shape[1], x.shape[2]).to(x)
        if x.shape[1] > self.seq_len:
            raise ValueError(
                f"`positions: learned` has {self.seq_len} positions, got {x.shape[1]} tokens; raise `target.seq_len`."
            )
        return self.learned_positions.weight[: x.shape[1]]


class Layer(nn.Module):
    """One layer: x <- lambda x + mixers(norm(x)), then x <- x + channel(norm(x)); a post-norm comes after the sum."""

    def __init__(self, block: Block, candidate: Candidate, *, seed: int, name: str) -> None:
        super().__init__()
        model_dim, kind = candidate.model.model_dim, block.norm.kind
        gain = (2 * candidate.num_layers) ** -0.5
        self.residual_dtype = DTYPES[candidate.model.residual_dtype]
        self.skip, self.placement = block.skip.weight, block.norm.placement
        self.mixer: MixerBranches | None = None
        self.channel: ChannelMixing | None = None
        if block.mixers:
            self.mixer_norm = norm(kind, model_dim)
            self.mixer = MixerBranches(block, candidate, seed=seed, name=f"{name}.mixer", gain=gain)
        if block.channel_mixer.kind != "none":
            self.channel_norm = norm(kind, model_dim)
            self.channel = ChannelMixing(block.channel_mixer, model_dim, seed=seed, name=f"{name}.channel", gain=gain)

    def forward(self, x: Float[Tensor, "batch seq_len model_dim"]) -> Float[Tensor, "batch seq_len model_dim"]:
        """The residual stream after the layer."""
        if self.mixer is not None:
            x = self._sub_layer(x, self.mixer_norm, self.mixer, self.skip)
        if self.channel is not None:
            x = self._sub_layer(x, self.channel_norm, self.channel, 1.0)
        return x

    def _sub_layer(self, x: Tensor, around: nn.Module, inner: nn.Module, skip: float) -> Tensor:
        """Pre: lambda x + f(norm(x)); post: norm(lambda x + f(x)). The stream is kept in the residual dtype."""
        full = x.float()
        kept = full if skip == 1.0 else skip * full
        out: Tensor = kept + inner(around(full)) if self.placement == "pre" else around(kept + inner(full))
        return out.to(self.residual_dtype)


class MixerBranches(nn.Module):
    """The mixers of a layer side by side on the same input: a weighted sum, a mean, or a linear map of all (concat).

    A branch may read the tokens in an order of its own. With shared values the coefficients are added up before they
    act on the values of the first branch: its output stage and projection follow.
    """

    def __init__(self, block: Block, candidate: Candidate, *, seed: int, name: str, gain: float) -> None:
        super().__init__()
        model_dim, count = candidate.model.model_dim, len(block.mixers)
        parallel = block.mixer if isinstance(block.mixer, Parallel) else None
        self.orders = () if parallel is None else parallel.orders or ()
        self.row_length = None if parallel is None else parallel.row_length
        self.shared_values = parallel is not None and parallel.shared_values
        weights = torch.tensor((1.0,) if parallel is None else parallel.branch_weights)
        self.is_plain = bool((weights == 1.0).all()) and not (parallel is not None and parallel.learnable_weights)
        if parallel is not None and parallel.learnable_weights:
            self.weights: Tensor = nn.Parameter(weights)
        else:
            self.register_buffer("weights", weights, persistent=False)
        self.mixers = nn.ModuleList(
            Mixer(
                spec,
                model_dim=model_dim,
                seed=seed,
                name=f"{name}{branch}",
                target_len=candidate.target.seq_len,
                output_gain=gain,
                borrows_values=self.shared_values and branch > 0,
            )
            for branch, spec in enumerate(block.mixers)
        )
        joined = parallel is not None and parallel.merge == "concat"
        self.join = linear(model_dim * count, model_dim, seed=seed, name=f"{name}.merge") if joined else None

    def forward(self, x: Float[Tensor, "batch seq_len model_dim"]) -> Float[Tensor, "batch seq_len model_dim"]:
        """The merged outputs."""
        if self.shared_values:
            return self._with_shared_values(x)
        outputs = [self._read(branch, mixer, x) for branch, mixer in enumerate(self._branches)]
        if self.join is not None:
            return self.join(torch.cat(outputs, dim=-1))  # type: ignore[no-any-return]
        if len(outputs) == 1:
            return outputs[0]
        return self._weighted(outputs)

    @property
    def _branches(self) -> list[Mixer]:
        return [mixer for mixer in self.mixers if isinstance(mixer, Mixer)]

    def _weighted(self, outputs: list[Tensor]) -> Tensor:
        together = torch.stack(outputs)
        return together.sum(0) if self.is_plain else torch.einsum("b...,b->...", together, self.weights)

    def _read(self, branch: int, mixer: Mixer, x: Tensor) -> Tensor:
        """The output of a branch that reads the tokens in its order, put back in place."""
        order = self.orders[branch] if self.orders else "forward"
        if order == "forward":
            return mixer(x)  # type: ignore[no-any-return]
        read = torch.tensor(positions(order, x.shape[1], self.row_length), device=x.device)
        return mixer(x[:, read])[:, read.argsort()]  # type: ignore[no-any-return]

    def _with_shared_values(self, x: Tensor) -> Tensor:
        first, *others = self._branches
        raw, gate = first.raw(x)
        values = {name: raw[name] for name in VALUES if name in raw}
        sums = [first.mixed(raw), *(other.mixed(other.raw(x)[0] | values) for other in others)]
        return first.finish(self._weighted(sums), gate)


class ChannelMixing(nn.Module):
    """swiglu: W3 (silu(W1 x) * W2 x) (arXiv 2002.05202); mlp: W2 gelu(W1 x)."""

    def __init__(self, spec: ChannelMixer, model_dim: int, *, seed: int, name: str, gain: float) -> None:
        super().__init__()
        hidden = round(spec.ratio * model_dim)
        self.inner = linear(model_dim, hidden, seed=seed, name=f"{name}.inner")
        self.gate = linear(model_dim, hidden, seed=seed, name=f"{name}.gate") if spec.kind == "swiglu" else None
        self.outer = linear(hidden, model_dim, seed=seed, name=f"{name}.outer", gain=gain)

    def forward(self, x: Float[Tensor, "batch seq_len model_dim"]) -> Float[Tensor, "batch seq_len model_dim"]:
        """The outputs, position by position."""
        hidden: Tensor = self.inner(x)
        hidden = F.gelu(hidden) if self.gate is None else F.silu(self.gate(x)) * hidden
        out: Tensor = self.outer(hidden)
        return out


def sinusoids(seq_len: int, dim: int) -> Float[Tensor, "seq_len dim"]:
    """Sine and cosine position code, scaled to unit rms (arXiv 1706.03762, section 3.5)."""
    half = (dim + 1) // 2
    rate = torch.exp(-math.log(SINUSOID_PERIOD) / half * torch.arange(half, dtype=torch.float64))
    phase = torch.arange(seq_len, dtype=torch.float64)[:, None] * rate
    return (math.sqrt(2.0) * torch.cat((phase.sin(), phase.cos()), dim=-1)[:, :dim]).float()
