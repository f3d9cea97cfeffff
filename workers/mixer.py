"""The only mixer module: any point of the grammar as projections, signals, one form, and an output stage."""

from typing import assert_never

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.streams import RawShape, convolved, latent_widths, projections
from workers.form import Form
from workers.forms import quadratic, recurrent
from workers.initial import derived_seed, initial_parameters, normal, raw_std
from workers.layers import ShortConvolution, linear, linear_of
from workers.realise import realise
from workers.signals import Signals

LATENT_EPS = 1e-6  # of the norm of the latent vector (DeepSeek-V2)
OUTPUT_GATE = "output_gate"  # name of the projection that gates the output


class Mixer(nn.Module):
    """x -> projections -> short convolution -> signals -> form -> output norm and gate -> projection.

    The projections are one linear map whose rows have the initial standard deviation of their pre-activation for
    inputs of unit rms. `signal` holds everything recurrent (decay rates, biases, gains, D): float32, not in a linear
    map, so that training applies no weight decay to it. Specs that share a part start from the same weights there.

    Args:
        spec: the mixer.
        model_dim: width of the residual stream.
        seed, name: of the random streams of the weights.
        target_len: target.seq_len, for `length_kind: target`.
        output_gain: standard deviation of the output for heads of unit rms.
        borrows_values: values, output stage and output projection are those of another branch
            (`Parallel.shared_values`): `mixed` is all there is.
    """

    def __init__(
        self,
        spec: MixerSpec,
        *,
        model_dim: int,
        seed: int,
        name: str = "mixer",
        target_len: int | None = None,
        output_gain: float = 1.0,
        borrows_values: bool = False,
    ) -> None:
        super().__init__()
        self.spec = spec
        self.target_len = target_len
        self.form = chosen_form(spec)
        self.shapes = projected_shapes(spec, borrows_values=borrows_values)
        self.projection = (
            linear_of(_projection_weight(spec, self.shapes, model_dim, seed=seed, name=name))
            if self.shapes
            else nn.Identity()  # static queries and keys for the values of another branch
        )
        self.convolved = convolved(spec, borrows_values=borrows_values)
        width, channels = spec.io.short_conv.width, sum(self.shapes[one].channels for one in self.convolved)
        self.convolution = (
            ShortConvolution(channels, width, seed=seed, name=f"{name}.convolution") if channels else nn.Identity()
        )
        start = initial_parameters(spec, seed=derived_seed(seed, name))
        self.signal = nn.ParameterDict({one: nn.Parameter(value.float()) for one, value in start.items()})
        self.latent = None if spec.heads.latent_dim is None else LatentMap(spec, seed=seed, name=f"{name}.latent")
        if borrows_values:
            return
        self.stage = OutputStage(spec)
        inner = spec.heads.num_heads * spec.heads.head_dim
        self.output = linear(inner, model_dim, seed=seed, name=f"{name}.output", gain=output_gain)

    def forward(self, x: Float[Tensor, "batch seq_len model_dim"]) -> Float[Tensor, "batch seq_len model_dim"]:
        """The outputs of the mixer, before the residual sum."""
        raw, gate = self.raw(x)
        return self.finish(self.mixed(raw), gate)

    def raw(self, x: Float[Tensor, "batch seq_len model_dim"]) -> tuple[dict[str, Tensor], Tensor | None]:
        """Pre-activations of the tokens, and that of the output gate [batch, seq_len, num_heads * head_dim]."""
        parts = self._parts(self.projection(x)) if self.shapes else {}
        gate = parts.pop(OUTPUT_GATE, None)
        raw = {name: _micro_steps(part, self.shapes[name]) for name, part in parts.items()}
        return raw if self.latent is None else self.latent(raw), gate

    def mixed(self, raw: dict[str, Tensor]) -> Float[Tensor, "batch seq_len num_heads head_dim"]:
        """The sum of coefficients times values, before the output stage."""
        signals = realise(self.spec, raw, dict(self.signal.items()))
        return self.form.apply(self.spec, signals, target_len=self.target_len)

    def finish(self, y: Float[Tensor, "batch seq_len num_heads head_dim"], gate: Tensor | None) -> Tensor:
        """Output stage and output projection."""
        return self.output(self.stage(y, gate))  # type: ignore[no-any-return]

    def project(self, x: Float[Tensor, "batch seq_len model_dim"]) -> tuple[Signals, Tensor | None]:
        """Signals of the tokens, and the pre-activation of the output gate [batch, seq_len, num_heads * head_dim]."""
        raw, gate = self.raw(x)
        return realise(self.spec, raw, dict(self.signal.items())), gate

    def _parts(self, projected: Tensor) -> dict[str, Tensor]:
        """The projection cut into its named parts; the convolved ones come first."""
        sizes = [shape.channels for shape in self.shapes.values()]
        channels = sum(sizes[: len(self.convolved)])
        if not channels:
            return dict(zip(self.shapes, torch.split(projected, sizes, dim=-1), strict=True))
        smooth = torch.split(self.convolution(projected[..., :channels]), sizes[: len(self.convolved)], dim=-1)
        rest = torch.split(projected[..., channels:], sizes[len(self.convolved) :], dim=-1)
        return dict(zip(self.shapes, (*smooth, *rest), strict=True))


def _micro_steps(x: Float[Tensor, "batch seq_len channels"], shape: RawShape) -> Tensor:
    """Micro-steps side by side, in memory of its own: strided slices are several times slower on a CPU."""
    return x.reshape(x.shape[0], x.shape[1] * shape.steps, shape.heads, shape.width).contiguous()


def chosen_form(spec: MixerSpec) -> Form:
    """How the mixer is computed: recurrent where `execution.form` asks for it and the spec has it, else quadratic.

    Execution does not change the function, so a form that does not exist here (`chunked`, `fused`, ...) is no error.
    """
    wants_recurrence = spec.execution.form in ("recurrent", "scan")
    if wants_recurrence and recurrent.form.invalid_reason(spec) is None:
        return recurrent.form
    return quadratic.form


class LatentMap(nn.Module):
    """Keys and values of all heads from one RMS-normed vector per token; the first key channels bypass it.

    Source: multi-head latent attention, arXiv 2405.04434, equations 9 to 17.
    """

    def __init__(self, spec: MixerSpec, *, seed: int, name: str) -> None:
        super().__init__()
        heads, latent = spec.heads, spec.heads.latent_dim or 0
        self.num_heads, self.widths = heads.num_heads, latent_widths(spec)
        self.norm = nn.RMSNorm(latent, eps=LATENT_EPS)
        self.up = linear(latent, heads.num_heads * sum(self.widths), seed=seed, name=name, gain=spec.features.k_std)

    def forward(self, raw: dict[str, Tensor]) -> dict[str, Tensor]:
        """Replace `latent` and `shared_key` [batch, seq_len, 1, width] by k and v of every head."""
        made = self.up(self.norm(raw["latent"])).unflatten(-1, (self.num_heads, -1)).squeeze(2)
        k, v = made.split(self.widths, dim=-1)
        if "shared_key" in raw:
            k = torch.cat((raw["shared_key"].expand(-1, -1, self.num_heads, -1), k), dim=-1)
        rest = {name: part for name, part in raw.items() if name not in ("latent", "shared_key")}
        return {**rest, "k": k, "v": v}


def projected_shapes(spec: MixerSpec, *, borrows_values: bool = False) -> dict[str, RawShape]:
    """Everything projected from a token: the pre-activations, the convolved first, then the output gate."""
    shapes = projections(spec, borrows_values=borrows_values)
    first = convolved(spec, borrows_values=borrows_values)
    ordered = {name: shapes[name] for name in (*first, *(name for name in shapes if name not in first))}
    if spec.io.gate != "none" and not borrows_values:
        ordered[OUTPUT_GATE] = RawShape(spec.heads.num_heads, spec.heads.head_dim)
    return ordered


def _projection_weight(
    spec: MixerSpec, shapes: dict[str, RawShape], model_dim: int, *, seed: int, name: str
) -> Float[Tensor, "channels model_dim"]:
    std = raw_std(spec) | {OUTPUT_GATE: 1.0, "latent": 1.0, "shared_key": spec.features.k_std}
    rows = [
        normal((shape.channels, model_dim), seed=seed, name=f"{name}.{part}") * (std[part] * model_dim**-0.5)
        for part, shape in shapes.items()
    ]
    return torch.cat(rows)


class OutputStage(nn.Module):
    """Output norm and gate in the declared order: [batch, seq_len, num_heads, head_dim] -> heads side by side."""

    def __init__(self, spec: MixerSpec) -> None:
        super().__init__()
        self.io = spec.io
        self.norm = _OutputNorm(spec)

    def forward(
        self, y: Float[Tensor, "batch seq_len num_heads head_dim"], gate: Tensor | None
    ) -> Float[Tensor, "batch seq_len inner"]:
        """The heads after norm and gate."""
        if gate is None:
            return self.norm(y).flatten(2)  # type: ignore[no-any-return]
        factor = _activated(self.io, gate)
        if self.io.order == "norm_then_gate":
            return self.norm(y).flatten(2) * factor  # type: ignore[no-any-return]
        return self.norm(y * factor.view_as(y)).flatten(2)  # type: ignore[no-any-return]


def _activated(io: InputOutput, gate: Tensor) -> Tensor:
    match io.gate:
        case "silu":
            return F.silu(gate)
        case "sigmoid":
            return gate.sigmoid()
        case "gelu":
            return F.gelu(gate)
        case "none":
            return torch.ones_like(gate)
        case _:
            assert_never(io.gate)


class _OutputNorm(nn.Module):
    """head_rms and head_ln share their weights between heads; group_rms and full_rms have one weight per channel."""

    def __init__(self, spec: MixerSpec) -> None:
        super().__init__()
        self.kind, self.eps = spec.io.output_norm, spec.io.norm_eps
        self.groups = spec.heads.groups if self.kind == "group_rms" else 1
        size = output_norm_size(spec)
        self.weight = nn.Parameter(torch.ones(size)) if size else None
        self.bias = nn.Parameter(torch.zeros(size)) if self.kind == "head_ln" else None

    def forward(self, y: Float[Tensor, "batch seq_len num_heads head_dim"]) -> Tensor:
        """The normalised outputs, same shape."""
        match self.kind:
            case "none":
                return y
            case "head_rms":
                return F.rms_norm(y, y.shape[-1:], self.weight, self.eps)
            case "head_ln":
                return F.layer_norm(y, y.shape[-1:], self.weight, self.bias, self.eps)
            case "group_rms" | "full_rms":
                flat = y.reshape(*y.shape[:2], self.groups, -1)
                unit = F.rms_norm(flat, flat.shape[-1:], None, self.eps).flatten(2)
                return (unit if self.weight is None else unit * self.weight).view_as(y)
            case _:
                assert_never(self.kind)


def output_norm_size(spec: MixerSpec) -> int:
    """Number of weights of the output norm (LayerNorm has as many biases again)."""
    match spec.io.output_norm:
        case "none":
            return 0
        case "head_rms" | "head_ln":
            return spec.heads.head_dim
        case "group_rms" | "full_rms":
            return spec.heads.num_heads * spec.heads.head_dim
        case _:
            assert_never(spec.io.output_norm)
