"""Verified by a closed form: one triangular inverse (UT transform) and torch scaled_dot_product_attention.

arXiv 2505.16381, section 3: A = lower(Q K^T) - lower(Q W^T) T^-1 strictly lower(W K^T) with
T^-1 = (I + strictly lower(D W W^T))^-1 D, D = diag(beta), beta = 2 sigmoid, w of unit length (eps 1e-6 under the root);
then softmax(A / sqrt(n)).
"""

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from tests.references.harness import Raw
from tests.references.parts import attention


def formula(mixer: MixerSpec, raw: Raw, parameters: Raw) -> Tensor:
    """The scores minus q . k enter as a bias."""
    q, k = raw["q"].transpose(1, 2), raw["k"].transpose(1, 2)
    w = raw["direction"].transpose(1, 2)
    w = w / torch.sqrt((w * w).sum(-1, keepdim=True) + 1e-6)
    beta = torch.diag_embed(2.0 * torch.sigmoid(raw["gain"][..., 0].transpose(1, 2)))
    eye = torch.eye(q.shape[2], dtype=q.dtype)
    inverse = torch.linalg.inv(eye + (beta @ w @ w.mT).tril(-1)) @ beta
    removed = (q @ w.mT).tril() @ inverse @ (w @ k.mT).tril(-1)
    scale = q.shape[-1] ** -0.5
    return attention(raw["q"], raw["k"], raw["v"], scale=scale, bias=-scale * removed)
