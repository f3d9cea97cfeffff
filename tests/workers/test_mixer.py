"""The one mixer module: scales at initialisation, stages, causality, gradients."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from designspace.mixer import MixerSpec
from tests.strategies import random_mixer
from workers.coefficients import outputs
from workers.forms import quadratic, recurrent
from workers.layers import ShortConvolution
from workers.mixer import OUTPUT_GATE, Mixer, OutputStage, chosen_form
from workers.optimization import parameter_groups
from workers.probe import later_token_effect, unit_rms

HEADS = {"num_heads": 4, "state_dim": 8, "head_dim": 8}
DIM = 32


def spec(**fields: Any) -> MixerSpec:
    return MixerSpec.model_validate({"heads": HEADS, **fields})


def is_causal(mixer: MixerSpec) -> bool:
    return mixer.support.mask != "none" and mixer.features.map_over == "features"


CAUSAL = [seed for seed in range(120) if is_causal(random_mixer(seed))]


@pytest.mark.parametrize("seed", CAUSAL)
def test_later_tokens_never_reach_a_causal_mixer(seed: int) -> None:
    mixer = Mixer(random_mixer(seed), model_dim=16, seed=seed)
    x, other = (unit_rms(12, 16, seed=seed, name=name).float() for name in ("x", "other"))
    effect = later_token_effect(mixer, x, other)
    assert effect == 0.0 or (math.isnan(effect) and not mixer(x).isfinite().any())  # 0 / 0 everywhere says nothing


@pytest.mark.parametrize("seed", range(60))
def test_gradients_are_finite_where_outputs_are(seed: int) -> None:
    mixer = Mixer(random_mixer(seed), model_dim=16, seed=seed)
    x = unit_rms(10, 16, seed=seed, name="x").float().requires_grad_()
    y = mixer(x)
    if not y.isfinite().all():  # only where the definition is 0/0 itself, or an output norm without eps divides by 0
        defined = outputs(mixer.spec, mixer.project(x)[0])
        assert not defined.isfinite().all() or mixer.spec.io.norm_eps == 0
        return
    y.square().mean().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in mixer.parameters())


@pytest.mark.parametrize("width", [0, 4])
def test_queries_and_keys_start_with_the_declared_scale(width: int) -> None:
    short_conv = {"width": width, "on": ["q", "k", "v"] if width else []}
    features = {"q_std": 2.0, "k_std": 0.5}
    mixer = Mixer(spec(features=features, io={"short_conv": short_conv}), model_dim=256, seed=0)
    signals, _ = mixer.project(unit_rms(128, 256, seed=1, name="x").float())
    for x, std in ((signals.q, 2.0), (signals.k, 0.5), (signals.v, 1.0)):
        assert x[:, width:].std().item() == pytest.approx(std, rel=0.15)


def test_specs_share_the_weights_of_what_they_share() -> None:
    plain = Mixer(spec(), model_dim=DIM, seed=5)
    decay = {"granularity": "diagonal", "map": "sigmoid"}
    gated = Mixer(spec(decay=decay, io={"gate": "silu"}), model_dim=DIM, seed=5)
    assert torch.equal(plain.projection.weight, gated.projection.weight[: plain.projection.weight.shape[0]])
    assert torch.equal(plain.output.weight, gated.output.weight)
    assert not torch.equal(plain.output.weight, Mixer(spec(), model_dim=DIM, seed=6).output.weight)


def test_recurrent_parameters_take_no_weight_decay() -> None:
    mamba = spec(decay={"granularity": "diagonal"}, scaling={"gate": "dt"}, support={"diagonal": "D"})
    mixer = Mixer(mamba, model_dim=DIM, seed=0)
    decaying, still = parameter_groups(mixer, 0.1)
    assert still["params"] == list(mixer.signal.values())
    assert set(mixer.signal) == {"decay_rate", "gate_bias", "skip"}
    assert len(decaying["params"]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("seq_len", [1, 3, 9])
def test_short_convolution_is_a_causal_depthwise_convolution(seq_len: int) -> None:
    convolution = ShortConvolution(6, 4, seed=0, name="c").double()
    x = torch.randn(2, seq_len, 6, dtype=torch.float64, requires_grad=True)
    taps = convolution.taps.flip(0).t()[:, None]
    plain = F.conv1d(F.pad(x.transpose(1, 2), (3, 0)), taps, groups=6).transpose(1, 2)
    torch.testing.assert_close(convolution(x), plain)
    weight = torch.randn_like(plain)
    ours = torch.autograd.grad((convolution(x) * weight).sum(), [x, convolution.taps])
    torch.testing.assert_close(ours, torch.autograd.grad((plain * weight).sum(), [x, convolution.taps]))


@pytest.mark.parametrize("order", ["norm_then_gate", "gate_then_norm"])
def test_output_stage_keeps_the_declared_order(order: str) -> None:
    stage = OutputStage(spec(io={"output_norm": "head_rms", "gate": "sigmoid", "order": order, "norm_eps": 0.0}))
    y, gate = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 32)
    factor = gate.sigmoid().view(2, 3, 4, 8)
    first = y if order == "norm_then_gate" else y * factor
    unit = first / first.square().mean(-1, keepdim=True).sqrt()
    expected = unit * factor if order == "norm_then_gate" else unit
    torch.testing.assert_close(stage(y, gate), expected.flatten(2))


@pytest.mark.parametrize(
    ("norm", "groups", "count"), [("head_rms", 4, 8), ("group_rms", 2, 32), ("full_rms", 1, 32), ("head_ln", 4, 16)]
)
def test_output_norm_sees_its_channels(norm: str, groups: int, count: int) -> None:
    stage = OutputStage(spec(io={"output_norm": norm, "norm_eps": 0.0}, heads={**HEADS, "kv_groups": 2}))
    y = torch.randn(2, 3, 4, 8).double()
    parts = y.reshape(2, 3, groups, -1)
    centred = parts - parts.mean(-1, keepdim=True) if norm == "head_ln" else parts
    expected = centred / centred.square().mean(-1, keepdim=True).sqrt()
    torch.testing.assert_close(stage.double()(y, None), expected.flatten(2))
    assert sum(p.numel() for p in stage.parameters()) == count


def test_form_follows_execution_where_the_spec_has_it() -> None:
    recurrence = {"form": "recurrent"}
    assert chosen_form(spec()) is quadratic.form
    assert chosen_form(spec(execution=recurrence)) is recurrent.form
    softmax: dict[str, Any] = {"readout": {"kind": "exponential"}, "normalization": {"kind": "sum"}}
    assert chosen_form(spec(execution=recurrence, **softmax)) is quadratic.form


def test_forms_of_a_mixer_agree() -> None:
    fields: dict[str, Any] = {
        "decay": {"granularity": "scalar", "initial": (0.9, 0.99)},
        "erase": {"direction": "key", "rank": 2},
        "scaling": {"gate": "tied_to_erase"},
        "features": {"map": "silu", "norm": "l2"},
        "io": {"short_conv": {"width": 3, "on": ["k"]}, "output_norm": "head_rms", "gate": "silu"},
    }
    x = unit_rms(17, DIM, seed=0, name="x").float()
    one, other = (
        Mixer(spec(execution={"form": form}, **fields), model_dim=DIM, seed=0)(x) for form in ("quadratic", "recurrent")
    )
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_output_gate_is_projected_after_everything_else() -> None:
    mixer = Mixer(spec(io={"gate": "silu"}), model_dim=DIM, seed=0)
    assert list(mixer.shapes) == ["q", "k", "v", OUTPUT_GATE]
    assert mixer.shapes[OUTPUT_GATE].channels == 32
