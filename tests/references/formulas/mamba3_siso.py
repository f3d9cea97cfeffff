"""Verified by the recurrence of the published step function: rotated keys, a decaying state, the previous token's term.

Lahoti et al., 2026, arXiv 2603.15569, and state-spaces/mamba mamba3_siso_step_ref: h_t = a_t h_(t-1) + (1 - l_t) dt_t
a_t B_(t-1) x_(t-1) + l_t dt_t B_t x_t, y = C . h + D x, with B and C turned by the running sum of dt_t pi
tanh(angle_t), a = exp(-A dt), l = sigmoid; eps 1e-5 beside the mean of squares.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import for_heads, rms

SMALL = {"decay": {"initial": (0.05, 0.99)}}  # as after training: a floor of the decay would show


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    x = raw["v"]
    heads = x.shape[2]
    step = F.softplus(raw["gate"][..., 0] + parameters["gate_bias"])
    decay = torch.exp(-torch.exp(parameters["decay_rate"][:, 0]) * step)
    phase = (step[..., None] * torch.pi * torch.tanh(raw["angle"])).cumsum(1)
    c = _turned(for_heads(rms(raw["q"], parameters["q_gain"], eps=1e-5), heads), phase)
    b = _turned(for_heads(rms(raw["k"], parameters["k_gain"], eps=1e-5), heads), phase)
    share = torch.sigmoid(raw["tap"][..., 0])
    written = b[..., :, None] * x[..., None, :]
    state, previous, rows = torch.zeros_like(written[:, 0]), torch.zeros_like(written[:, 0]), []
    for t in range(x.shape[1]):
        late = (1.0 - share[:, t]) * step[:, t] * decay[:, t]
        now = share[:, t] * step[:, t]
        state = decay[:, t, :, None, None] * state + late[..., None, None] * previous
        state = state + now[..., None, None] * written[:, t]
        previous = written[:, t]
        rows.append(torch.einsum("bhn,bhnp->bhp", c[:, t], state) + parameters["skip"][:, None] * x[:, t])
    return torch.stack(rows, dim=1)


def _turned(x: Tensor, phase: Tensor) -> Tensor:
    """Neighbouring channels (2m, 2m + 1) as complex numbers times e^(i phase); the others stay."""
    moving = 2 * phase.shape[-1]
    turning = torch.view_as_complex(x[..., :moving].reshape(*x.shape[:-1], -1, 2).contiguous())
    turned = torch.view_as_real(turning * torch.polar(torch.ones_like(phase), phase)).flatten(-2)
    return torch.cat([turned, x[..., moving:]], dim=-1)
