"""Every form computes one function: values, gradients and causality."""

import math

import numpy as np
import pytest
import torch
from given import NAMES, candidate, drawn, in_single, mixer_of

from checkers import check
from designspace.mixer import MixerSpec
from designspace.specfile import load
from workers.coefficients import coefficients, outputs
from workers.forms import quadratic, recurrent
from workers.realise import random_signals
from workers.signals import Signals


def small(mixer: MixerSpec) -> MixerSpec:
    """The catalogue mixer with few heads, so that a test is quick."""
    data = mixer.model_dump(by_alias=True)
    heads = data["heads"]
    heads["num_heads"] = min(heads["num_heads"], 2)
    heads["state_dim"] = min(heads["state_dim"], 8)
    heads["head_dim"] = min(heads["head_dim"], 4)
    heads["kv_groups"] = None
    heads["latent_dim"], heads["shared_key_dim"] = None, 0
    if data["shear"]["slopes"] is not None:
        data["shear"]["slopes"] = None
    if data["lift"]["width"]:
        data["lift"]["width"] = min(data["lift"]["width"], 16)
    return MixerSpec.model_validate(data)


@pytest.mark.parametrize("name", NAMES)
def test_quadratic_is_recurrent_for_the_catalogue_in_float32(name: str) -> None:
    for located in load(f"catalogue:{name}").mixers():
        spec = small(located.mixer)
        if recurrent.form.invalid_reason(spec) is not None:
            assert not spec.is_finite_memory or spec.support.chunk or spec.support.window
            continue
        for length in (1, 2, 17, 64):
            signals = random_signals(spec, seed=length, batch=1, seq_len=length)
            exact = outputs(spec, signals)
            assert exact.isfinite().all()
            single = in_single(signals)
            scale = max(float(exact.abs().max()), 1e-6)
            first, second = quadratic.form.apply(spec, single), recurrent.form.apply(spec, single)
            assert float((first - second).abs().max()) <= 1e-4 * scale, (name, length)
            assert float((first - exact).abs().max()) <= 1e-4 * scale, (name, length)


def condition(spec: MixerSpec, signals: Signals) -> torch.Tensor:
    """max row sum |phi| / |eta|: of the coefficients themselves."""
    return coefficients(spec, signals).abs().sum(-1).amax()


def test_forms_agree_in_float64_for_200_random_specs() -> None:
    rng = np.random.default_rng(2)
    finite_memory = 0
    for number in range(200):
        spec = mixer_of(drawn(rng))
        signals = random_signals(spec, seed=number, batch=1, seq_len=9)
        exact = outputs(spec, signals)
        found = [quadratic.form.apply(spec, signals)]
        if recurrent.form.invalid_reason(spec) is None:
            finite_memory += 1
            found.append(recurrent.form.apply(spec, signals))
        for one in found:
            assert torch.equal(one.isfinite(), exact.isfinite()), spec
            keep = exact.isfinite()
            limit = 1e-9 * max(1.0, float(condition(spec, signals).nan_to_num(nan=1.0, posinf=1e300)))
            worst = float((one - exact)[keep].abs().max()) if keep.any() else 0.0
            assert worst <= limit * max(1.0, float(signals.v.abs().max())), (worst, limit, spec)
    assert finite_memory > 40


def test_forms_agree_in_float32_for_200_random_sound_specs() -> None:
    """Specs without a CD6 or CD8 error, with a recurrent form."""
    rng = np.random.default_rng(3)
    seen = 0
    worst = 0.0
    while seen < 200:
        raw = drawn(rng)
        spec = mixer_of(raw)
        if recurrent.form.invalid_reason(spec) is not None:
            continue
        report = check(candidate({"mixer": raw}))
        if any(one.code[2] in "68" and one.severity == "error" for one in report.findings):
            continue
        seen += 1
        signals = random_signals(spec, seed=seen, batch=1, seq_len=(1, 2, 17, 64)[seen % 4])
        single = in_single(signals)
        first, second = quadratic.form.apply(spec, single), recurrent.form.apply(spec, single)
        exact = outputs(spec, signals)
        keep = exact.isfinite() & first.isfinite()
        assert torch.equal(first.isfinite(), second.isfinite()), raw
        if not keep.any():
            continue
        scale = max(float(exact[keep].abs().max()), 1e-3)
        error = float((first - second)[keep].abs().max()) / scale
        worst = max(worst, error)
        assert error <= 1e-4, (error, raw)


def test_gradients_of_the_forms_agree() -> None:
    rng = np.random.default_rng(4)
    seen = 0
    while seen < 40:
        spec = mixer_of(drawn(rng))
        if recurrent.form.invalid_reason(spec) is not None:
            continue
        signals = random_signals(spec, seed=seen, batch=1, seq_len=7)
        exact = outputs(spec, signals)
        if not exact.isfinite().all():
            continue
        seen += 1
        gradients = []
        for form in (quadratic.form, recurrent.form):
            leaves = {key: one.clone().requires_grad_(True) for key, one in vars(signals).items() if one is not None}
            y = form.apply(spec, Signals(**leaves))
            weight = torch.linspace(-1.0, 1.0, y.numel(), dtype=y.dtype).reshape(y.shape)
            (y * weight).sum().backward()
            gradients.append({key: one.grad for key, one in leaves.items()})
        size = max(float(one.abs().max()) for one in gradients[0].values() if one is not None)
        if not math.isfinite(size) or size > 1e6:
            continue
        for key, first in gradients[0].items():
            second = gradients[1][key]
            first = torch.zeros(()) if first is None else first
            second = torch.zeros(()) if second is None else second
            assert float((first - second).abs().max()) <= 1e-7 * max(size, 1.0), (key, spec)


def test_causality_is_exact() -> None:
    rng = np.random.default_rng(5)
    for number in range(60):
        spec = mixer_of(drawn(rng))
        signals = random_signals(spec, seed=number, batch=1, seq_len=8)
        alpha = coefficients(spec, signals)
        rank = spec.erase.rank
        future = torch.arange(8 * rank)[None, :] // rank > torch.arange(8)[:, None]
        assert (alpha.nan_to_num()[..., future] == 0).all()
        # and from the tokens: later signals change nothing before
        half = 4
        changed = {}
        for key, one in vars(signals).items():
            if one is None or one.dim() < 3 or one.shape[1] not in (8, 8 * rank):
                changed[key] = one
                continue
            cut = half * (one.shape[1] // 8)
            changed[key] = torch.cat([one[:, :cut], one[:, cut:].flip(1) * 0.9], dim=1)
        for form in (quadratic.form, recurrent.form):
            if form.invalid_reason(spec) is not None:
                continue
            first, second = form.apply(spec, signals), form.apply(spec, Signals(**changed))
            assert torch.equal(first[:, :half].nan_to_num(), second[:, :half].nan_to_num()), (form.name, spec)
