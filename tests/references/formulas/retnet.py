"""Verified by the recurrence over a complex state.

arXiv 2307.08621, section 2.1, recurrent form: S_t = gamma e^(i theta) S_(t-1) + k_t v_t^T, y_t = Re(q_t^* S_t) /
sqrt(n), with gamma_h = 1 - 2^(-5-h), h = 0..H-1; theta_m = 10000^(-2m/n) and pairs (m, m + n/2) as in fla
naive_retention.
"""

import math

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw

SMALL = {"num_heads": 8}  # the decays are those of eight heads


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """Retention, one complex number per pair of channels."""
    q, k, v = _complex(raw["q"]), _complex(raw["k"]), raw["v"]
    pairs, num_heads = q.shape[-1], q.shape[2]
    gamma = torch.tensor([1.0 - 2.0 ** (-5 - head) for head in range(num_heads)], dtype=v.dtype)
    theta = 10000.0 ** -(torch.arange(pairs, dtype=v.dtype) / pairs)
    transition = torch.polar(gamma[:, None].expand(-1, pairs), -theta.expand(num_heads, -1))
    state = torch.zeros(v.shape[0], num_heads, pairs, v.shape[-1], dtype=q.dtype)
    rows = []
    for t in range(v.shape[1]):
        state = transition[..., None] * state + k[:, t, :, :, None] * v[:, t, :, None, :]
        rows.append(torch.einsum("bhm,bhmd->bhd", q[:, t].conj(), state).real)
    return torch.stack(rows, dim=1) / math.sqrt(raw["q"].shape[-1])


def _complex(x: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.complex(first, second)
