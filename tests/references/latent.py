"""Multi-head latent attention without keys and values: queries absorb the map of the keys, outputs that of the values.

Source: arXiv 2405.04434, equations 9 to 19 and the remark after equation 13; transformers DeepseekV3Attention.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from tests.references.draws import Raw
from tests.references.formulas.mla import interleaved_rotary
from tests.references.parts import lags

LATENT_EPS = 1e-6  # of the norm of the latent vector


def absorbed(raw: Raw, up: Tensor, *, head_dim: int) -> Tensor:
    """y [batch, seq_len, num_heads, head_dim].

    Args:
        raw: q [batch, seq_len, num_heads, n], rotating channels first; latent and shared_key [batch, seq_len, 1, .].
        up: rows of each head for the rest of its key, then for its value, [num_heads * (rest + head_dim), latent_dim].
    """
    q, shared = raw["q"], raw["shared_key"]
    rotating = shared.shape[-1]
    latent = F.rms_norm(raw["latent"][:, :, 0], raw["latent"].shape[-1:], eps=LATENT_EPS)
    up = up.reshape(q.shape[2], -1, latent.shape[-1])
    of_keys, of_values = up[:, :-head_dim], up[:, -head_dim:]
    content = torch.einsum("bihn,hnl,bjl->bhij", q[..., rotating:], of_keys, latent)
    turned_q, turned_k = (interleaved_rotary(x, rotating) for x in (q[..., :rotating], shared))
    position = torch.einsum("bihn,bjn->bhij", turned_q, turned_k[:, :, 0])
    score = (content + position) / q.shape[-1] ** 0.5
    weight = score.masked_fill(lags(q.shape[1]) < 0, -torch.inf).softmax(-1)
    return torch.einsum("bhij,bjl,hdl->bihd", weight, latent, of_values)
