"""Decays, gates and static keys of catalogue entries start where the published initialisation puts them.

Each law below is the reference's initialisation in closed form or on a grid of quantiles; the entry holds its ends, or
its 5 % and 95 % quantiles, rounded.
"""

import cmath
import math
from collections.abc import Callable, Iterable
from statistics import NormalDist

import pytest
import torch
from torch.nn.functional import softplus

from designspace import catalogue
from designspace.spec import Range
from workers.initial import initial_parameters

ROUNDING = 0.03  # of -log a: the entries hold two or three digits
NORMAL = NormalDist()
TORCH_LINEAR = 1.0 / math.sqrt(3.0)  # std of nn.Linear's uniform weights times sqrt(inputs), on inputs of variance 1
GRID = 400  # quantiles of each variable
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


def _normals(std: float) -> list[float]:
    return [std * NORMAL.inv_cdf(share) for share in _midpoints(GRID)]


def _log_uniform_step(share: float) -> float:
    return DT[0] * math.pow(DT[1] / DT[0], share)


def _of_rate(lowest: float, highest: float) -> Range:
    """Quantiles of exp(-A dt), A uniform, dt log-uniform; `A_log` and `dt_bias` of fla's delta layers."""
    rates = [lowest + (highest - lowest) * share for share in _midpoints(GRID)]
    return _quantiles(math.exp(-rate * _log_uniform_step(share)) for rate in rates for share in _midpoints(GRID))


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


def _slstm() -> Range:
    """Forget biases 5 - 12 (c / (C - 1))^(..) over the channels of a head (NX-AI/xlstm, powerlaw_blockdependent)."""
    return _sigmoid(5.0 - 12.0), _sigmoid(5.0)


def _rodimus() -> Range:
    """exp(-tau g) of fla's biases: g = softplus log-uniform in [0.001, 0.1], tau = sigmoid uniform in [1/16, 0.9]."""
    powers = [1 / 16 + (0.9 - 1 / 16) * share for share in _midpoints(GRID)]
    return _quantiles(math.exp(-power * _log_uniform_step(share)) for power in powers for share in _midpoints(GRID))


def _capped(x: float) -> float:
    return 15.0 * math.tanh(x / 15.0)


def _wall() -> Range:
    """Weights of std 0.02 on 2048 inputs of variance 1 and a bias of 8 (`gate_init_bias` of fla)."""
    return _of_normal(0.02 * math.sqrt(2048), lambda x: _sigmoid(8.0 + x))


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
    "vmamba": lambda: _corners(1.0, 16.0),
    "mamba2": lambda: _corners(1.0, 16.0),  # A uniform in [1, 16]
    "log_linear_mamba2": lambda: _corners(1.0, 24.0),  # A = 1..H in fla, H = 24
    "mamba3_siso": lambda: _corners(math.log(2.0), math.log(2.0)),  # A = softplus(0)
    "rg_lru": _rg_lru,
    "mingru": _mingru,
    "minlstm": _minlstm,
    "qlstm": _qlstm,
    "qlstm_reversed": _qlstm,  # sigmoid(-f)^1
    "mlstm_exp": _mlstm_exp,
    "mlstm_sig": _mlstm_sig,
    "mlstm_sig_nonorm": _mlstm_sig,
    "slstm_R0": _slstm,
    "rodimus": _rodimus,
    "s4": lambda: _bilinear_radii(_hippo_legs()[0]),
    "s4d": _s4d,
    "h3": _s4d,  # the bilinear rule has these ends too
    "wall": _wall,
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
    "vmamba": DT,
    "mamba2": DT,
    "log_linear_mamba2": DT,
    "mamba3_siso": DT,
    "mlstm_exp": (math.exp(_capped(-10.0)), math.exp(_capped(-10.0))),  # input bias -10
    "mlstm_sig": (_sigmoid(-10.0), _sigmoid(-10.0)),
    "mlstm_sig_nonorm": (_sigmoid(-10.0), _sigmoid(-10.0)),
}
UNPUBLISHED = {  # entries whose decay starts where no published initialisation puts it
    "longhorn",  # no range: the decay follows from |k|
    "rfa_gate",  # no public code with the gate
}
MODES = 32


def test_every_entry_with_a_changing_decay_is_compared_with_its_published_start() -> None:
    changing = {
        name
        for name in catalogue.names()
        for located in catalogue.get(name).candidate.mixers()
        if located.mixer.decay.granularity != "none" and located.mixer.decay.source != "constant"
    }
    assert changing == PUBLISHED.keys() | UNPUBLISHED


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


@pytest.mark.parametrize("name", ["mamba", "falcon_mamba", "vmamba"])
def test_rates_of_mamba_are_the_whole_numbers(name: str) -> None:
    """A_log = log(1..n) in every channel, and softplus(dt_bias) spans [0.001, 0.1]."""
    parameters = initial_parameters(catalogue.get(name).mixer, seed=0)
    assert parameters["decay_rate"][7].exp().tolist() == pytest.approx(list(range(1, 17)), rel=0.001)
    step = softplus(parameters["gate_bias"])
    assert step.min().item() == pytest.approx(DT[0], rel=0.01)
    assert step.max().item() == pytest.approx(DT[1], rel=0.01)


def _s4d_lin() -> list[complex]:
    """lambda_m = -1/2 + i pi m (arXiv 2206.11893)."""
    return [complex(-0.5, math.pi * m) for m in range(MODES)]


def _s4d_inv() -> list[complex]:
    """lambda_m = -1/2 + i (N / pi) (N / (2 m + 1) - 1), N = 2 MODES (the same paper)."""
    state = 2 * MODES
    return [complex(-0.5, state / math.pi * (state / (2 * m + 1) - 1)) for m in range(MODES)]


def _hippo_legs() -> tuple[list[complex], list[complex]]:
    """(lambda, B) of the normal part of HiPPO-LegS in its eigenbasis, of each conjugate pair the upper one.

    A_nm = -sqrt((2n + 1)(2m + 1)) below the diagonal, -(n + 1) on it; A + P P^T with P = sqrt(n + 1/2) is normal
    (arXiv 2111.00396, theorem 1; S5, arXiv 2208.04933, starts from the same).
    """
    order = torch.arange(2 * MODES, dtype=torch.float64)
    column = (2 * order + 1).sqrt()
    legs = -torch.outer(column, column).tril(-1) - torch.diag(order + 1)
    low_rank = (order + 0.5).sqrt()
    values, vectors = torch.linalg.eig(legs + torch.outer(low_rank, low_rank))
    write = torch.linalg.solve(vectors, column.to(vectors.dtype))
    upper = values.imag > 0
    return values[upper].tolist(), write[upper].tolist()


@pytest.mark.parametrize("values", [_s4d_lin(), _s4d_inv(), _hippo_legs()[0]], ids=["lin", "inv", "legs"])
def test_every_diagonal_recipe_starts_with_the_radii_of_s4d(values: list[complex]) -> None:
    """By zero-order hold the radius is |exp(dt lambda)|, whatever the frequencies: S4D-Lin, S4D-Inv, S4 and S5."""
    assert len(values) == MODES
    for end, step in zip(_s4d(), reversed(DT), strict=True):
        assert [abs(cmath.exp(step * value)) for value in values] == pytest.approx([end] * MODES, rel=1e-6)


def _bilinear(value: complex, step: float) -> complex:
    """The factor of the bilinear rule (arXiv 2111.00396, section 2.3)."""
    return (1 + step * value / 2) / (1 - step * value / 2)


def _bilinear_radii(values: list[complex]) -> Range:
    """Quantiles over modes and steps."""
    steps = [_log_uniform_step(share) for share in _midpoints(GRID)]
    return _quantiles(abs(_bilinear(value, step)) for value in values for step in steps)


def test_the_bilinear_rule_leaves_the_ends_of_h3_where_zero_order_hold_has_them() -> None:
    radii = [abs(_bilinear(value, step)) for value in _s4d_lin() for step in DT]
    for end, published in zip((min(radii), max(radii)), _s4d(), strict=True):
        assert -math.log(end) == pytest.approx(-math.log(published), rel=ROUNDING)


def _angles(values: list[complex]) -> Range:
    """The ends of dt Im lambda (zero-order hold)."""
    return DT[0] * min(value.imag for value in values), DT[1] * max(value.imag for value in values)


def _bilinear_angles(values: list[complex]) -> Range:
    angles = [abs(cmath.phase(_bilinear(value, step))) for value in values for step in DT]
    return min(angles), max(angles)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("s4d", _angles(_s4d_lin())),
        ("h3", _bilinear_angles(_s4d_lin())),
        ("s4", _bilinear_angles(_hippo_legs()[0])),
        ("lru_s5", (0.0, 2 * math.pi)),  # theta uniform
    ],
)
def test_angles_start_where_the_reference_puts_them(name: str, published: Range) -> None:
    assert catalogue.get(name).mixer.rotation.initial == pytest.approx(published, rel=0.001)


def _held(value: complex, step: float) -> complex:
    """(exp(dt lambda) - 1) / lambda: what zero-order hold makes of B = 1."""
    return (cmath.exp(step * value) - 1) / value


def _bilinear_write(value: complex, step: float) -> complex:
    """dt / (1 - dt lambda / 2): what the bilinear rule makes of B = 1."""
    return step / (1 - step * value / 2)


def _static_std(rule: Callable[[complex, float], complex], values: list[complex], write: list[complex]) -> float:
    """Of the real and imaginary parts of the discretised B over steps and modes."""
    squares = [
        abs(rule(value, _log_uniform_step(share)) * weight) ** 2
        for share in _midpoints(GRID)
        for value, weight in zip(values, write, strict=True)
    ]
    return math.sqrt(sum(squares) / len(squares) / 2)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("s4d", _static_std(_held, _s4d_lin(), [1.0] * MODES)),
        ("h3", _static_std(_bilinear_write, _s4d_lin(), [1.0] * MODES)),
        ("s4", _static_std(_bilinear_write, *_hippo_legs())),
    ],
)
def test_static_vectors_start_at_the_published_size(name: str, published: float) -> None:
    """q = 2 C with C complex standard normal, k as above with B = 1 (S4D) or that of HiPPO (S4)."""
    features = catalogue.get(name).mixer.features
    assert features.k_std == pytest.approx(published, rel=ROUNDING)
    assert features.q_std == pytest.approx(2 * math.sqrt(0.5), rel=ROUNDING)
