"""The facts of theory.md, checked on coefficients by hand."""

import math

import torch
from given import mixer_of

from workers.coefficients import coefficients, transition
from workers.forms import recurrent
from workers.realise import random_signals
from workers.signals import Signals

N, LENGTH = 4, 8
HEADS = {"num_heads": 1, "state_dim": N, "head_dim": N}


def random_qkv() -> list[torch.Tensor]:
    """q, k, v: (batch 1, LENGTH, head 1, N) each."""
    torch.manual_seed(0)
    return [torch.randn(1, LENGTH, 1, N, dtype=torch.float64) for _ in range(3)]


def test_a_scalar_decay_is_a_factor_outside_the_score_or_inside_exp() -> None:
    """Fact 2: identity readout, constant scalar decay = factor a^(i-j) outside the score; under exp it is inside."""
    q, k, v = random_qkv()
    a = 0.8
    decay = {"granularity": "scalar", "source": "constant", "map": "fixed", "range": [a, a]}
    log_decay = torch.full((1, LENGTH, 1, 1), math.log(a), dtype=torch.float64)
    lag = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)[None, :]
    plain = (q[0, :, 0] @ k[0, :, 0].T) * N**-0.5
    factor = torch.tril(a ** lag.clamp(min=0).double())
    found = coefficients(mixer_of({"heads": HEADS, "decay": decay}), Signals(q=q, k=k, v=v, log_decay=log_decay))
    assert torch.allclose(found[0, 0], factor * plain, atol=1e-12)
    exponential = {"heads": HEADS, "decay": decay, "readout": {"kind": "exponential"}}
    found = coefficients(mixer_of(exponential), Signals(q=q, k=k, v=v, log_decay=log_decay))
    assert torch.allclose(found[0, 0], torch.tril(torch.exp(factor * plain)), atol=1e-12)


def test_an_erase_of_a_unit_key_projects_or_reflects() -> None:
    """Fact 7: erase with unit keys: beta = 1 projects, 2 reflects."""
    q, k, v = random_qkv()
    unit = k / k.norm(dim=-1, keepdim=True)
    for beta, eigenvalue in ((1.0, 0.0), (2.0, -1.0), (0.5, 0.5)):
        spec = mixer_of({"heads": HEADS, "erase": {"direction": "key", "gain": [0.0, 2.0]}})
        gain = torch.full((1, LENGTH, 1, 1), beta, dtype=torch.float64)
        matrix = transition(spec, Signals(q=q, k=unit, v=v, gain=gain), 3)[0, 0]
        values = torch.linalg.eigvalsh(matrix).sort().values
        wanted = torch.tensor(sorted([eigenvalue] + [1.0] * (N - 1)), dtype=torch.float64)
        assert torch.allclose(values, wanted, atol=1e-12)


def test_static_keys_and_a_constant_decay_are_a_convolution() -> None:
    """Fact 8: static q, k with a time-invariant A is a convolution (Toeplitz)."""
    spec = mixer_of(
        {
            "heads": HEADS,
            "features": {"map": "static"},
            "decay": {"granularity": "diagonal", "source": "learned", "map": "sigmoid"},
        }
    )
    alpha = coefficients(spec, random_signals(spec, seed=1, batch=1, seq_len=LENGTH))[0, 0]
    for offset in range(LENGTH):
        diagonal = torch.diagonal(alpha, -offset)
        assert torch.allclose(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-12)


def test_an_exponential_of_a_constant_query_has_finite_memory() -> None:
    """Fact 9: exp readout, constant q: the recurrence is finite."""
    spec = mixer_of(
        {
            "heads": {**HEADS, "state_dim": 1},
            "features": {"map": "ones"},
            "readout": {"kind": "exponential"},
            "shear": {"source": "constant", "slopes": 0.3},
            "normalization": {"kind": "sum"},
            "scaling": {"base": 1.0, "gate": "none"},
        }
    )
    assert spec.is_finite_memory
    assert recurrent.form.invalid_reason(spec) is None
