"""Linear maps, short convolution and norms; weights come from named random streams, never from global random state."""

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

from workers.initial import normal

NORM_EPS = 1.0e-5  # of the norms around the sub-layers


def linear(in_dim: int, out_dim: int, *, seed: int, name: str, gain: float = 1.0) -> nn.Linear:
    """A linear map without bias whose outputs have standard deviation `gain` for inputs of unit rms."""
    return linear_of(normal((out_dim, in_dim), seed=seed, name=name) * (gain * in_dim**-0.5))


def linear_of(weight: Float[Tensor, "out_dim in_dim"]) -> nn.Linear:
    """A linear map without bias with these weights, in float32."""
    out_dim, in_dim = weight.shape
    made = nn.Linear(in_dim, out_dim, bias=False, device="meta")
    made.weight = nn.Parameter(weight.float())
    return made


def embedding(count: int, dim: int, *, seed: int, name: str, std: float) -> nn.Embedding:
    """A table of `count` vectors with normal entries of standard deviation `std`."""
    return nn.Embedding(count, dim, _weight=normal((count, dim), seed=seed, name=name).float() * std)


def norm(kind: Literal["rms", "layer", "none"], dim: int) -> nn.Module:
    """The norm of a sub-layer: RMSNorm (dim weights), LayerNorm (2 dim) or nothing."""
    match kind:
        case "rms":
            return nn.RMSNorm(dim, eps=NORM_EPS)
        case "layer":
            return nn.LayerNorm(dim, eps=NORM_EPS)
        case "none":
            return nn.Identity()


class ShortConvolution(nn.Module):
    """Causal depthwise convolution, out_t = sum over lags of taps[lag] x_(t - lag). It keeps the scale of its input."""

    def __init__(self, channels: int, width: int, *, seed: int, name: str) -> None:
        super().__init__()
        self.taps = nn.Parameter((normal((width, channels), seed=seed, name=name) * width**-0.5).float())

    def forward(self, x: Float[Tensor, "batch seq_len channels"]) -> Float[Tensor, "batch seq_len channels"]:
        """The convolution, with zeros before the first token."""
        out: Tensor = _Convolve.apply(x, self.taps)
        return out


class _Convolve(torch.autograd.Function):
    """The sum over lags with its gradient written out: 3 times faster on a CPU than conv1d with groups, which
    transposes, and than autograd over slices, which pads the gradient of each.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, taps: Tensor) -> Tensor:
        ctx.save_for_backward(x, taps)
        out = x * taps[0]
        for lag in range(1, min(len(taps), x.shape[1])):
            out[:, lag:].addcmul_(x[:, :-lag], taps[lag])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        (grad,), (x, taps) = grads, ctx.saved_tensors
        x_grad, taps_grad = grad * taps[0], torch.zeros_like(taps)
        taps_grad[0] = (grad * x).sum((0, 1))
        for lag in range(1, min(len(taps), x.shape[1])):
            x_grad[:, :-lag].addcmul_(grad[:, lag:], taps[lag])
            taps_grad[lag] = (grad[:, lag:] * x[:, :-lag]).sum((0, 1))
        return x_grad, taps_grad
