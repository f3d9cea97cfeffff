"""From pre-activations to signals: ranges, initial ranges, shapes, feature maps."""

import math
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from designspace.decay import Decay, DecayMap
from designspace.features import Features
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.streams import decay_slots, parameter_shapes, raw_shapes
from tests.strategies import random_mixer
from workers import feature_maps, gates
from workers.forms import quadratic
from workers.initial import initial_parameters
from workers.realise import random_signals, realise

OWN_MAPS = [name for name in get_args(DecayMap) if name not in ("fixed", "one_minus_bk2")]
HEADS = {"num_heads": 8, "state_dim": 8, "head_dim": 2}
TIED = {"complement": {"gate": "sigmoid"}, "one_minus_bk2": {"gate": "sigmoid"}}


def spec(**fields: Any) -> MixerSpec:
    return MixerSpec.model_validate({"heads": HEADS, **fields})


def with_decay(name: str, **decay: Any) -> MixerSpec:
    source = {"source": "constant"} if name == "fixed" else {}
    scaling = TIED.get(name, {})
    return spec(decay={"granularity": "diagonal", "map": name, **source, **decay}, scaling=scaling)


def decay_of(mixer: MixerSpec, *, seq_len: int = 64) -> Tensor:
    log_decay = random_signals(mixer, seed=0, batch=2, seq_len=seq_len).log_decay
    assert log_decay is not None
    return log_decay.exp()


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        (name, bounds)
        for name in OWN_MAPS
        for bounds in ((0.0, 1.0), (0.25, 0.75), (0.5, 1.0), (0.5, 1.5))
        if name != "exp_lb_sigmoid" or bounds[0] > 0  # this map needs a lower bound
    ],
)
def test_decay_stays_in_the_declared_range(name: DecayMap, bounds: tuple[float, float]) -> None:
    x = torch.linspace(-40.0, 40.0, 4001, dtype=torch.float64, requires_grad=True)
    log_a = gates.log_decay(Decay(granularity="scalar", map=name, range=bounds), x, x_input=-x)
    low, high = bounds
    assert low - 1e-12 <= float(log_a.exp().min().detach())
    assert float(log_a.exp().max().detach()) <= high + 1e-12
    (slope,) = torch.autograd.grad(log_a.sum(), x)
    assert slope.isfinite().all()


@pytest.mark.parametrize("name", [name for name in OWN_MAPS if name not in ("rglru", "ratio")])
def test_preactivation_is_the_inverse_of_the_decay_map(name: DecayMap) -> None:
    decay = Decay(granularity="scalar", map=name, range=(0.1, 1.0))
    a = torch.tensor([0.2, 0.5, 0.9, 0.99, 0.999], dtype=torch.float64)
    torch.testing.assert_close(gates.log_decay(decay, gates.decay_preactivation(decay, a)).exp(), a)


@pytest.mark.parametrize("gate", ["sigmoid", "two_sigmoid", "exp", "exp_key", "dt"])
def test_preactivation_is_the_inverse_of_the_gate(gate: Any) -> None:
    scaling = Scaling(gate=gate, cap=15.0 if gate.startswith("exp") else None)
    value = torch.tensor([0.001, 0.1, 0.9], dtype=torch.float64)
    torch.testing.assert_close(gates.gate(scaling, gates.gate_preactivation(scaling, value)), value)


def log_gap(a: Tensor | float) -> Tensor:
    return torch.log1p(-torch.as_tensor(a, dtype=torch.float64))


@pytest.mark.parametrize("granularity", ["scalar", "diagonal"])
@pytest.mark.parametrize("name", [name for name in OWN_MAPS if name not in ("sigmoid_floor", "exp")])
def test_initial_decay_spans_the_declared_range(name: str, granularity: str) -> None:
    """5 % and 95 % quantiles over heads, channels and tokens, to a fifth of the range in log(1 - a)."""
    low, high = 0.9, 0.999
    bounds = (0.5, 1.0) if name == "exp_lb_sigmoid" else (0.0, 1.0)
    a = decay_of(with_decay(name, granularity=granularity, range=bounds, initial=(low, high)))
    ends = log_gap(a.flatten().quantile(torch.tensor([0.05, 0.95], dtype=torch.float64)))
    width = float(log_gap(low) - log_gap(high))
    assert (ends - torch.stack((log_gap(low), log_gap(high)))).abs().max() < 0.2 * width


def test_unbounded_map_spans_its_range_in_the_logarithm() -> None:
    log_a = decay_of(with_decay("exp", initial=(0.5, 0.9))).log().flatten()
    quantiles = log_a.quantile(torch.tensor([0.05, 0.95], dtype=torch.float64))
    ends = torch.tensor([0.5, 0.9], dtype=torch.float64).log()
    assert (quantiles - ends).abs().max() < 0.2 * float(ends[1] - ends[0])


def test_longhorn_decay_starts_near_its_range() -> None:
    a = decay_of(with_decay("one_minus_bk2", initial=(0.95, 0.999)))
    assert float(a.quantile(0.05)) > 0.9
    assert 0.95 < float(a.median()) < 0.999


def test_step_size_spans_its_initial_range_and_drives_the_decay() -> None:
    mixer = spec(decay={"granularity": "scalar"}, scaling={"gate": "dt", "base": 1.0})
    signals = random_signals(mixer, seed=0, batch=4, seq_len=64)
    assert signals.gate is not None
    assert signals.log_decay is not None
    quantiles = signals.gate.flatten().quantile(torch.tensor([0.05, 0.95], dtype=torch.float64)).log()
    expected = torch.tensor([0.001, 0.1], dtype=torch.float64).log()
    assert (quantiles - expected).abs().max() < 0.2 * math.log(100.0)
    rate = -signals.log_decay[..., 0] / signals.gate
    torch.testing.assert_close(rate, torch.linspace(1, 16, 8, dtype=torch.float64).expand_as(rate))


def test_single_decay_gets_its_whole_range_from_the_tokens() -> None:
    a = decay_of(
        spec(decay={"granularity": "scalar", "map": "sigmoid", "initial": (0.9, 0.99)}, heads={"num_heads": 1})
    )
    quantiles = a.flatten().quantile(torch.tensor([0.05, 0.95], dtype=torch.float64))
    assert float(quantiles[0]) < 0.93
    assert float(quantiles[1]) > 0.97


@pytest.mark.parametrize("seed", range(150))
def test_signals_have_the_documented_shapes(seed: int) -> None:
    mixer, batch, seq_len = random_mixer(seed), 2, 5
    heads, n, rank = mixer.heads.num_heads, mixer.key_dim, mixer.erase.rank
    signals = random_signals(mixer, seed=seed, batch=batch, seq_len=seq_len)
    token, step = (seq_len, heads), (seq_len * rank, heads)
    assert signals.q.shape == (batch, *token, n)
    assert signals.k.shape == (batch, *step, n)
    assert signals.v.shape == (batch, *step, mixer.heads.head_dim)
    width = 1 if mixer.decay.granularity == "scalar" else n
    gain_width = n if mixer.erase.per_channel else 1
    per_token = {"log_decay": (width,), "shear": (), "tap": (), "momentum": (), "rate": (), "log_eta": ()}
    per_step = {"gain": (gain_width,), "direction": (n,), "second": (n,), "gate": ()}
    for place, group in ((token, per_token), (step, per_step)):
        for name, rest in group.items():
            signal = getattr(signals, name)
            assert signal is None or (signal.shape[1:] == (*place, *rest) and signal.shape[0] in (1, batch)), name


@pytest.mark.parametrize("seed", range(60))
def test_every_declared_input_reaches_realise(seed: int) -> None:
    """Each pre-activation and parameter is read: leaving one out is an error."""
    mixer = random_mixer(seed)
    raw = {name: torch.randn(1, 3 * shape.steps, shape.heads, shape.width) for name, shape in raw_shapes(mixer).items()}
    parameters = {name: value.float() for name, value in initial_parameters(mixer, seed=seed).items()}
    assert {name: tuple(value.shape) for name, value in parameters.items()} == parameter_shapes(mixer)
    read: set[str] = set()

    class Spy(dict[str, Tensor]):
        def __getitem__(self, name: str) -> Tensor:
            read.add(name)
            return super().__getitem__(name)

        def get(self, name: str, default: Any = None) -> Any:
            read.add(name)
            return super().get(name, default)

    realise(mixer, Spy(raw), Spy(parameters))
    assert read >= set(raw) | set(parameters)


def test_specs_that_share_a_name_share_its_numbers() -> None:
    softmax = spec(readout={"kind": "exponential"}, normalization={"kind": "sum"})
    gated = with_decay("sigmoid", granularity="scalar")
    one, other = (random_signals(mixer, seed=3, batch=2, seq_len=4) for mixer in (softmax, gated))
    torch.testing.assert_close((one.q, one.k, one.v), (other.q, other.k, other.v), rtol=0, atol=0)
    again = random_signals(softmax, seed=4, batch=2, seq_len=4)
    assert not torch.equal(one.q, again.q)


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
def test_rotated_pairs_decay_together(pairing: str) -> None:
    rotation = {"source": "constant", "pairing": pairing, "fraction": 0.5}
    mixer = spec(decay={"granularity": "diagonal", "map": "sigmoid"}, rotation=rotation)
    assert decay_slots(mixer) == 6
    first, second = feature_maps.pair_channels(2, pairing)
    a = decay_of(mixer)
    torch.testing.assert_close(a[..., first], a[..., second])
    assert len(set(a[0, 0, 0].tolist())) == 6


@pytest.mark.parametrize("shared", ["kv", "qk"])
def test_heads_of_a_group_share_their_stream(shared: str) -> None:
    heads = {**HEADS, "kv_groups": 2, "shared": shared}
    signals = random_signals(spec(heads=heads), seed=0, batch=1, seq_len=3)
    common, own = (signals.v, signals.q) if shared == "kv" else (signals.q, signals.v)
    torch.testing.assert_close(common[:, :, :4], common[:, :, :1].expand(-1, -1, 4, -1))
    torch.testing.assert_close(signals.k[:, :, 4:], signals.k[:, :, 4:5].expand(-1, -1, 4, -1))
    assert not torch.equal(own[:, :, 0], own[:, :, 1])


def test_taylor_features_multiply_to_the_series() -> None:
    q, k = torch.randn(2, 6, 5, 3, 8, dtype=torch.float64).unbind(0)
    features = Features(map="taylor2")
    z = (q * k).sum(-1) * 8**-0.5
    product = (feature_maps.mapped(features, q) * feature_maps.mapped(features, k)).sum(-1)
    torch.testing.assert_close(product, 1 + z + z**2 / 2)


def test_random_features_estimate_their_kernels() -> None:
    generator = torch.Generator().manual_seed(0)
    q, k = 0.5 * torch.randn(2, 1, 4, 1, 8, dtype=torch.float64, generator=generator)
    favor, rff = (Features.model_validate({"map": name, "width": 20_000}) for name in ("favor", "rff"))
    estimate = (feature_maps.mapped(favor, q) * feature_maps.mapped(favor, k)).sum(-1)
    torch.testing.assert_close(estimate, ((q * k).sum(-1) * 8**-0.5).exp(), rtol=0.05, atol=0)
    unit_q, unit_k = (torch.nn.functional.normalize(x, dim=-1) for x in (q, k))
    estimate = (feature_maps.mapped(rff, q) * feature_maps.mapped(rff, k)).sum(-1)
    torch.testing.assert_close(estimate, (-0.5 * (unit_q - unit_k).square().sum(-1)).exp(), rtol=0.05, atol=0.02)


@pytest.mark.parametrize(("norm", "length"), [("l2", 1.0), ("rms", 8**0.5), ("layernorm", 8**0.5)])
def test_norm_sets_the_length_of_keys(norm: Any, length: float) -> None:
    k = feature_maps.normalised(Features(norm=norm, gain=3.0, eps=0.0), torch.randn(2, 3, 4, 8).double(), None)
    torch.testing.assert_close(k.norm(dim=-1), torch.full((2, 3, 4), 3.0 * length).double())


@pytest.mark.parametrize("erase", [{"direction": "none"}, {"direction": "free"}])
def test_even_gain_makes_the_weighted_norm_commute_with_the_rotation(erase: dict[str, str]) -> None:
    """Equivalence 6: after_rotation differs from before_rotation by the gains per channel alone."""
    common: dict[str, Any] = {"rotation": {"source": "input"}, "erase": erase}
    late = spec(features={"norm": "rms_weighted", "norm_order": "after_rotation", "gain": 0.5}, **common)
    early = spec(features={"norm": "rms", "gain": 0.5}, **common)
    raw = {name: torch.randn(2, 9, s.heads, s.width, dtype=torch.float64) for name, s in raw_shapes(late).items()}
    one = realise(late, raw, initial_parameters(late, seed=0))
    other = realise(early, raw, initial_parameters(early, seed=0))
    assert one.angle is None
    torch.testing.assert_close(quadratic.coefficients(late, one), quadratic.coefficients(early, other))


def test_sequence_softmax_reads_the_future() -> None:
    features = Features(map="softmax_pm", map_over="sequence")
    x = torch.randn(1, 6, 1, 4)
    assert not torch.equal(feature_maps.mapped(features, x)[:, :3], feature_maps.mapped(features, x[:, :3]))
