"""What several reference formulas need. Nothing here imports `workers`.

Shapes: q [batch, seq_len, num_heads, n], k and v [batch, seq_len, streams, .], streams dividing num_heads.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def for_heads(x: Tensor, num_heads: int) -> Tensor:
    """Each stream repeated for the consecutive heads that share it (grouped-query attention, arXiv 2305.13245)."""
    return x.repeat_interleave(num_heads // x.shape[2], dim=2)


def lags(seq_len: int) -> Tensor:
    """i - j for query i and key j, [seq_len, seq_len]."""
    position = torch.arange(seq_len)
    return position[:, None] - position[None, :]


def attention(
    q: Tensor, k: Tensor, v: Tensor, *, scale: float, bias: Tensor | None = None, window: int | None = None
) -> Tensor:
    """Causal softmax attention by torch's own kernel.

    Args:
        bias: added to the scaled scores, [(batch,) num_heads, seq_len, seq_len].
        window: keys that a query sees, itself included; None = all.
    """
    lag = lags(q.shape[1])
    hidden = (lag < 0) if window is None else (lag < 0) | (lag >= window)
    mask = torch.zeros_like(lag, dtype=q.dtype).masked_fill(hidden, -torch.inf)
    y = F.scaled_dot_product_attention(
        q.transpose(1, 2),
        k.transpose(1, 2),
        v.transpose(1, 2),
        attn_mask=mask if bias is None else mask + bias,
        scale=scale,
        enable_gqa=True,
    )
    return y.transpose(1, 2)


def rotary(x: Tensor, *, theta: float, channels: int | None = None) -> Tensor:
    """Rotary embedding as multiplication by exp(i t theta^(-2m/channels)); the pair m is (x_m, x_(m + channels/2)).

    Source: arXiv 2104.09864, section 3.2.2; the pairing of LLaMA and GPT-NeoX.

    Args:
        channels: of which the first rotate; None = all.
    """
    channels = channels or x.shape[-1]
    first, second = x[..., :channels].chunk(2, dim=-1)
    exponent = torch.arange(0, channels, 2, dtype=x.dtype) / channels
    phase = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * theta**-exponent
    turned = torch.complex(first, second) * torch.polar(torch.ones_like(phase), phase)[:, None]
    return torch.cat([turned.real, turned.imag, x[..., channels:]], dim=-1)


def rms(x: Tensor, gain: Tensor, *, eps: float) -> Tensor:
    """x / sqrt(mean of squares + eps) times a gain per channel (arXiv 1910.07467, eq. 4)."""
    return F.rms_norm(x, x.shape[-1:], eps=eps) * gain


def read_sums(q: Tensor, k: Tensor, v: Tensor, decay: Tensor | None = None) -> Tensor:
    """y_t = S_t^T q_t with S_t = a_t S_(t-1) + k_t v_t^T, step by step.

    Args:
        decay: a_t, [num_heads], or [batch, seq_len, num_heads]; None = 1.
    """
    q, k, v = (for_heads(x, q.shape[2]) for x in (q, k, v))
    factor = torch.ones(q.shape[:3], dtype=k.dtype) if decay is None else decay.expand(q.shape[:3])
    state = k.new_zeros(k.shape[0], k.shape[2], k.shape[3], v.shape[3])
    rows = []
    for t in range(q.shape[1]):
        state = factor[:, t, :, None, None] * state + k[:, t, :, :, None] * v[:, t, :, None, :]
        rows.append(torch.einsum("bhn,bhnd->bhd", q[:, t], state))
    return torch.stack(rows, dim=1)


def read_average(q: Tensor, k: Tensor, v: Tensor, *, eps: float = 0.0, decay: Tensor | None = None) -> Tensor:
    """S_t^T q_t / (z_t . q_t + eps), z_t being the state of the values 1 (arXiv 2006.16236, eq. 18 to 20)."""
    total = read_sums(q, k, torch.cat([v, torch.ones_like(v[..., :1])], dim=-1), decay)
    return total[..., :-1] / (total[..., -1:] + eps)
