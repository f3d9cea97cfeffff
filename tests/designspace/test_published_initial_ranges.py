"""Decays, gates and static keys of catalogue entries start where the published initialisation puts them.

Each law below is the reference's initialisation in closed form or on a grid of quantiles; the entry holds its ends, or
its 5 % and 95 % quantiles, rounded.
"""

import cmath
import math
from collections.abc import Callable, Iterable, Sequence
from statistics import NormalDist

import pytest
from torch.nn.functional import softplus

from designspace import catalogue
from designspace.spec import Range
from workers.initial import initial_parameters

ROUNDING = 0.03  # of -log a: the entries hold two or three digits
NORMAL = NormalDist()
TORCH_LINEAR = 1.0 / math.sqrt(3.0)  # std of nn.Linear's uniform weights times sqrt(inputs), on inputs of variance 1
DT = (0.001, 0.1)  # log-uniform (Mamba and its successors, S4D, S5)


def _midpoints(count: int) -> list[float]:
    """Evenly spaced quantiles of a uniform variable."""
    return [(index + 0.5) / count for index in range(count)]


def _quantiles(values: Iterable[float]) -> Range:
    ordered = sorted(values)
    return ordered[round(0.05 * (len(ordered) - 1))], ordered[round(0.95 * (len(ordered) - 1))]


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def _of_normal(std: float, decay: Callable[[float], float]) -> Range:
    """Quantiles of an increasing function of a centred normal pre-activation."""
    return decay(std * NORMAL.inv_cdf(0.05)), decay(std * NORMAL.inv_cdf(0.95))


def _normals(std: float, count: int = 400) -> list[float]:
    return [std * NORMAL.inv_cdf(share) for share in _midpoints(count)]


def _log_uniform_step(share: float) -> float:
    return DT[0] * math.pow(DT[1] / DT[0], share)


def _of_rate(lowest: float, highest: float) -> Range:
    """Quantiles of exp(-A dt), A uniform, dt log-uniform; `A_log` and `dt_bias` of fla's delta layers."""
    rates = [lowest + (highest - lowest) * share for share in _midpoints(400)]
    return _quantiles(math.exp(-rate * _log_uniform_step(share)) for rate in rates for share in _midpoints(400))


def _corners(lowest: float, highest: float) -> Range:
    """The ends of exp(-A dt) over A in [lowest, highest] and dt in [0.001, 0.1]."""
    return math.exp(-highest * DT[1]), math.exp(-lowest * DT[0])


def _rwkv(
    decay: Callable[[float], float],
    exponent: Callable[[float], float],
    *,
    first: float,
    span: float,
    channels: int,
    layers: int,
) -> Range:
    """Over the channels h and layers l of `first + span (h / (H - 1))^exponent(l / (L - 1))` (BlinkDL/RWKV-LM)."""
    depths = [layer / (layers - 1) for layer in range(layers)]
    widths = [channel / (channels - 1) for channel in range(channels)]
    return _quantiles(decay(first + span * width ** exponent(depth)) for depth in depths for width in widths)


def _double_exponential(x: float) -> float:
    return math.exp(-math.exp(x))


def _rwkv4() -> Range:
    return _rwkv(_double_exponential, lambda depth: 0.7 + 1.3 * depth, first=-5.0, span=8.0, channels=768, layers=12)


def _rwkv5() -> Range:
    return _rwkv(_double_exponential, lambda depth: 0.7 + 1.3 * depth, first=-6.0, span=5.0, channels=2048, layers=24)


def _rwkv7() -> Range:
    """The logit is -7 + 5 (..) + 0.5, and w = exp(-e^(-1/2) sigmoid(logit))."""
    return _rwkv(
        lambda x: math.exp(-math.exp(-0.5) * _sigmoid(x)),
        lambda depth: 0.85 + math.sqrt(depth),
        first=-6.5,
        span=5.0,
        channels=768,
        layers=12,
    )


def _simple_gla() -> Range:
    """Weights of std 0.02 on 1024 inputs of variance 1 (fla's `initializer_range`), then sigmoid^(1/16)."""
    return _of_normal(0.02 * math.sqrt(1024), lambda x: _sigmoid(x) ** (1 / 16))


def _gla() -> Range:
    """The same through a map of rank 16."""
    return _of_normal(0.02 * math.sqrt(16) * 0.02 * math.sqrt(1024), lambda x: _sigmoid(x) ** (1 / 16))


def _hgrn() -> Range:
    """Floors l / L of 24 layers: the running softmax of equal logits, less its first value."""
    gates = [_sigmoid(x) for x in _normals(0.02 * math.sqrt(1024))]
    return _quantiles(layer / 24 + (1 - layer / 24) * gate for layer in range(24) for gate in gates)


def _rg_lru() -> Range:
    """`rnn_param_init` of google-deepmind/recurrentgemma: softplus(p) = -log rad with rad^2 uniform in a ring, and
    a = exp(-8 r softplus(p)) at r = sigmoid(0). The paper words it otherwise (a^c in [0.9, 0.999]).
    """
    return 0.9 ** (8 * 0.5), 0.999 ** (8 * 0.5)


def _mingru() -> Range:
    return _of_normal(TORCH_LINEAR, lambda x: 1.0 - _sigmoid(-x))


def _minlstm() -> Range:
    gates = [_sigmoid(x) for x in _normals(TORCH_LINEAR)]
    return _quantiles(forget / (forget + write) for forget in gates for write in gates)


def _qlstm() -> Range:
    """The forget logit has the variance of the convolved input: four taps and a bias, each uniform in +-1/2."""
    return _of_normal(math.sqrt(4 / 12 + 1 / 12), _sigmoid)


def _mlstm_exp() -> Range:
    """Forget biases 3 to 6 over the heads, softly capped at 15 (xLSTM 7B)."""
    return _sigmoid(_capped(3.0)), _sigmoid(_capped(6.0))


def _mlstm_sig() -> Range:
    return _sigmoid(3.0), _sigmoid(6.0)


def _capped(x: float) -> float:
    return 15.0 * math.tanh(x / 15.0)


def _s4d() -> Range:
    """|exp(dt lambda)| with Re lambda = -1/2."""
    return math.exp(-0.5 * DT[1]), math.exp(-0.5 * DT[0])


def _lru() -> Range:
    """|lambda|^2 uniform in [0.9^2, 0.999^2]: exp(-exp(nu_log)), nu_log = log(-1/2 log(u (..) + 0.9^2))."""

    def radius(u: float) -> float:
        nu_log = math.log(-0.5 * math.log(u * (0.999**2 - 0.9**2) + 0.9**2))
        return math.exp(-math.exp(nu_log))

    return radius(0.0), radius(1.0)


PUBLISHED: dict[str, Callable[[], Range]] = {
    "simple_gla": _simple_gla,
    "gla": _gla,
    "hgrn": _hgrn,
    "hgrn2": _hgrn,
    "rwkv4": _rwkv4,
    "rwkv5": _rwkv5,
    "rwkv6": _rwkv5,
    "rwkv7": _rwkv7,
    "mamba": lambda: _corners(1.0, 16.0),  # A = 1..n, n = 16
    "falcon_mamba": lambda: _corners(1.0, 16.0),
    "mamba2": lambda: _corners(1.0, 16.0),  # A uniform in [1, 16]
    "log_linear_mamba2": lambda: _corners(1.0, 16.0),
    "mamba3_siso": lambda: _corners(math.log(2.0), math.log(2.0)),  # A = softplus(0)
    "rg_lru": _rg_lru,
    "mingru": _mingru,
    "minlstm": _minlstm,
    "qlstm": _qlstm,
    "mlstm_exp": _mlstm_exp,
    "mlstm_sig": _mlstm_sig,
    "s4d": _s4d,
    "lru_s5": _lru,
    "gated_deltanet": lambda: _of_rate(0.0, 16.0),
    "comba": lambda: _of_rate(0.0, 16.0),
    "gated_deltaproduct": lambda: _of_rate(0.0, 16.0),
    "momentum_deltanet": lambda: _of_rate(0.0, 16.0),
    "kda": lambda: _of_rate(1.0, 16.0),
    "gdn2": lambda: _of_rate(1.0, 16.0),
}
GATES: dict[str, Range] = {
    "mamba": DT,
    "falcon_mamba": DT,
    "mamba2": DT,
    "log_linear_mamba2": DT,
    "mamba3_siso": DT,
    "mlstm_exp": (math.exp(_capped(-10.0)), math.exp(_capped(-10.0))),  # input bias -10
    "mlstm_sig": (_sigmoid(-10.0), _sigmoid(-10.0)),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_decay_starts_where_the_reference_puts_it(name: str) -> None:
    initial = catalogue.get(name).mixer.decay.initial
    assert initial is not None
    for declared, published in zip(initial, PUBLISHED[name](), strict=True):
        assert -math.log(declared) == pytest.approx(-math.log(published), rel=ROUNDING)


@pytest.mark.parametrize("name", GATES)
def test_gate_starts_where_the_reference_puts_it(name: str) -> None:
    initial = catalogue.get(name).mixer.scaling.initial
    assert initial == pytest.approx(GATES[name], rel=ROUNDING)


@pytest.mark.parametrize(("name", "rates"), [("mamba", range(1, 17)), ("falcon_mamba", range(1, 17))])
def test_rates_of_mamba_are_the_whole_numbers(name: str, rates: Sequence[int]) -> None:
    """A_log = log(1..n) in every channel, and softplus(dt_bias) spans [0.001, 0.1]."""
    parameters = initial_parameters(catalogue.get(name).mixer, seed=0)
    assert parameters["decay_rate"][7].exp().tolist() == pytest.approx(list(rates))
    step = softplus(parameters["gate_bias"])
    assert step.min().item() == pytest.approx(DT[0], rel=0.01)
    assert step.max().item() == pytest.approx(DT[1], rel=0.01)


def _s4d_lin(modes: int) -> list[complex]:
    """lambda_m = -1/2 + i pi m (arXiv 2206.11893)."""
    return [complex(-0.5, math.pi * m) for m in range(modes)]


def _s4d_inv(modes: int) -> list[complex]:
    """lambda_m = -1/2 + i (N / pi) (N / (2 m + 1) - 1), N = 2 modes (the same paper)."""
    state = 2 * modes
    return [complex(-0.5, state / math.pi * (state / (2 * m + 1) - 1)) for m in range(modes)]


@pytest.mark.parametrize("law", [_s4d_lin, _s4d_inv])
def test_every_diagonal_recipe_starts_with_the_radii_of_s4d(law: Callable[[int], list[complex]]) -> None:
    """By zero-order hold the radius is |exp(dt lambda)|, whatever the frequencies."""
    for end, step in zip(_s4d(), reversed(DT), strict=True):
        assert [abs(cmath.exp(step * value)) for value in law(32)] == pytest.approx([end] * 32)


@pytest.mark.parametrize("state", [4, 64])
def test_hippo_legs_starts_with_the_radii_of_s4d(state: int) -> None:
    """S4 and S5 keep the eigenvalues of the normal part of HiPPO-LegS, A + P P^T with P = sqrt(n + 1/2): twice its
    symmetric part is -I, so they all have real part -1/2 (arXiv 2111.00396, theorem 1; arXiv 2208.04933).
    """
    legs = [
        [-math.sqrt((2 * n + 1) * (2 * m + 1)) if n > m else -(n + 1.0) if n == m else 0.0 for m in range(state)]
        for n in range(state)
    ]
    low_rank = [math.sqrt(n + 0.5) for n in range(state)]
    normal = [[legs[n][m] + low_rank[n] * low_rank[m] for m in range(state)] for n in range(state)]
    for n in range(state):
        for m in range(state):
            assert normal[n][m] + normal[m][n] == pytest.approx(-1.0 if n == m else 0.0, abs=1e-9)


def test_bilinear_radii_of_s4_lie_in_the_range_of_s4d() -> None:
    """S4 discretises by (1 + dt lambda / 2) / (1 - dt lambda / 2) instead: nearer to 1 at high frequency."""
    low, high = _s4d()
    for step in DT:
        radii = [abs((1 + 0.5 * step * value) / (1 - 0.5 * step * value)) for value in _s4d_lin(32)]
        assert all(low - 1e-4 < radius < high + 1e-4 for radius in radii)


def test_static_vectors_of_s4d_start_at_the_published_size() -> None:
    """q = 2 C with C complex standard normal; k = (exp(dt lambda) - 1) / lambda for B = 1, over channels and modes."""
    features = catalogue.get("s4d").mixer.features
    steps = [_log_uniform_step(share) for share in _midpoints(400)]
    square = [abs((cmath.exp(step * value) - 1) / value) ** 2 for step in steps for value in _s4d_lin(32)]
    assert features.k_std == pytest.approx(math.sqrt(sum(square) / len(square) / 2), rel=ROUNDING)
    assert features.q_std == pytest.approx(2 * math.sqrt(0.5), rel=ROUNDING)
