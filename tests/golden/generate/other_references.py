"""Golden files from smaller packages of PyPI (run on a CPU; see README.md beside this file)."""

from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from accelerated_scan.ref import scan
from case import Case, Draw, Reference, head_first, main
from LRU_pytorch import LRU
from mambapy.mamba import MambaBlock
from minGRU_pytorch.minGRU import g as positive
from minGRU_pytorch.minGRU import minGRU
from minGRU_pytorch.minLSTM import minLSTM
from mlstm_kernels.torch.parallel.native_siging.fw import mlstm_siging_parallel_fw
from performer_pytorch.performer_pytorch import (
    causal_linear_attention_noncuda,
    gaussian_orthogonal_random_matrix,
    softmax_kernel,
)
from s5.init import make_DPLR_HiPPO
from s5.s5_model import apply_ssm, discretize_zoh
from torch import Tensor
from x_transformers.attend import Attend
from xlstm.blocks.slstm.src.vanilla import slstm_forward, slstm_pointwise_function_registry

HEADS, WIDTH, VALUE_WIDTH, CHANNELS = 2, 8, 6, 6


def _qkv(draw: Draw) -> tuple[Tensor, Tensor, Tensor]:
    shape = (HEADS, draw.seq_len)
    return draw.normal(*shape, WIDTH), draw.normal(*shape, WIDTH), draw.normal(*shape, VALUE_WIDTH)


def _channel_wise(draw: Draw, v: Tensor, **signals: Tensor) -> dict[str, Tensor]:
    """q = k = 1 for every channel of v, (channels, T)."""
    ones = torch.ones(v.shape[0], draw.seq_len, 1)
    return {"q": ones, "k": ones, "v": v[..., None], **signals}


def performer(draw: Draw) -> Case:
    """Positive random features; the package subtracts maxima and adds 1e-4 inside, and 1e-6 to the summed features."""
    q, k, v = _qkv(draw)
    torch.manual_seed(draw.seed)
    projection = gaussian_orthogonal_random_matrix(12, WIDTH)
    q = softmax_kernel(q[None], projection_matrix=projection, is_query=True)
    k = softmax_kernel(k[None], projection_matrix=projection, is_query=False)
    y = causal_linear_attention_noncuda(q, k, v[None], eps=0.0)
    signals = {"q": q[0], "k": k[0], "v": v}
    return Case(
        "performer-pytorch softmax_kernel and causal_linear_attention_noncuda (eps 0)", signals, y[0], {"width": 12}
    )


def mingru(draw: Draw) -> Case:
    """The log-space scan of the package; v is its positive map g of the candidate."""
    hidden, z_logit, y = _run(draw, minGRU(CHANNELS), "to_hidden_and_gate", 2)
    z = z_logit.sigmoid()
    signals = _channel_wise(draw, positive(hidden), a=1.0 - z, gate=z)
    return Case("minGRU-pytorch minGRU", signals, y[..., None])


def minlstm(draw: Draw) -> Case:
    """a = f / (f + i), b = i / (f + i)."""
    hidden, f_logit, i_logit, y = _run(draw, minLSTM(CHANNELS), "to_hidden_and_f_i_gate", 3)
    f, i = f_logit.sigmoid(), i_logit.sigmoid()
    signals = _channel_wise(draw, positive(hidden), a=f / (f + i), gate=i / (f + i))
    return Case("minGRU-pytorch minLSTM", signals, y[..., None])


def _run(draw: Draw, module: Any, projection: str, count: int) -> tuple[Tensor, ...]:
    """The streams of the projection and the output in float64 (the scan in log space costs digits), (channels, T)."""
    layer = getattr(module.double(), projection)
    layer.weight.copy_(draw.normal(*layer.weight.shape) * CHANNELS**-0.5)
    x = draw.normal(1, draw.seq_len, CHANNELS).double()
    return tuple(part[0].mT for part in (*layer(x).chunk(count, dim=-1), module(x)))


def qlstm(draw: Draw) -> Case:
    """The forget gate sigmoid(f)."""
    return _qlstm(draw, draw.normal(CHANNELS, draw.seq_len).sigmoid())


def qlstm_reversed(draw: Draw) -> Case:
    """The reversed gate: sigmoid(-f)^relu(alpha) with alpha > 0 per channel."""
    power = draw.uniform(CHANNELS, 1, low=0.2, high=2.0)
    return _qlstm(draw, (-draw.normal(CHANNELS, draw.seq_len)).sigmoid() ** power)


def _qlstm(draw: Draw, a: Tensor) -> Case:
    """The scan of the published code; input and output gates multiply outside it."""
    v = draw.normal(CHANNELS, draw.seq_len).sigmoid() * draw.normal(CHANNELS, draw.seq_len)
    gate = draw.normal(CHANNELS, draw.seq_len).sigmoid()
    y = gate * scan(a[None], v[None])[0]
    signals = _channel_wise(draw, v, a=a, out_gate=gate[..., None])
    return Case("accelerated-scan ref.scan", signals, y[..., None])


def slstm_without_recurrence(draw: Draw) -> Case:
    """sLSTM with R = 0: exponential input gate, divided by the sum of its own gates."""
    raw = draw.normal(draw.seq_len, 1, 4, CHANNELS)  # input, forget, candidate and output
    states, _, _ = slstm_forward(
        raw.reshape(draw.seq_len, 1, 4 * CHANNELS),
        torch.zeros(4, 1, CHANNELS),
        torch.zeros(1, 4 * CHANNELS, CHANNELS),
        torch.zeros(4 * CHANNELS),
        slstm_pointwise_function_registry["slstm"],
    )
    i, f, z, o = raw[:, 0].double().permute(1, 2, 0)
    signals = _channel_wise(draw, z.tanh(), a=f.sigmoid(), gate=i.exp(), out_gate=o.sigmoid()[..., None])
    return Case("xlstm slstm_forward (vanilla) with R = 0", signals, states[0, 1:, 0].mT[..., None])


def mlstm_sig_nonorm(draw: Draw) -> Case:
    """mLSTM with sigmoid gates and no normaliser."""
    q, k, v = _qkv(draw)
    i, f = draw.normal(HEADS, draw.seq_len), draw.normal(HEADS, draw.seq_len) + 2.0
    y, _ = mlstm_siging_parallel_fw(q[None], k[None], v[None], i[None], f[None], normalize=False)
    signals = {"q": q, "k": k, "v": v, "a": f.double().sigmoid(), "gate": i.double().sigmoid()}
    return Case("mlstm_kernels native_siging mlstm_siging_parallel_fw(normalize=False)", signals, y[0])


def relu_attn(draw: Draw) -> Case:
    """phi = relu and no division by the length."""
    q, k, v = _qkv(draw)
    y, _ = Attend(causal=True, custom_attn_fn=F.relu)(q[None], k[None], v[None])
    return Case("x-transformers Attend(causal, custom_attn_fn=relu)", {"q": q, "k": k, "v": v}, y[0])


def mamba_mambapy(draw: Draw) -> Case:
    """The sequential scan of another implementation of Mamba."""
    state, shape = 4, (1, draw.seq_len)
    x, dt = draw.normal(*shape, CHANNELS), F.softplus(draw.normal(*shape, CHANNELS) - 1.0)
    rate = -draw.uniform(CHANNELS, state, low=0.2, high=2.0)
    k, q, skip = draw.normal(*shape, state), draw.normal(*shape, state), draw.normal(CHANNELS)
    block = SimpleNamespace(config=SimpleNamespace(d_inner=CHANNELS, d_state=state))
    y = MambaBlock.selective_scan_seq(block, x, dt, rate, k, q, skip)
    steps = head_first(dt, CHANNELS)
    signals = {name: head_first(stream, 1).expand(CHANNELS, -1, -1) for name, stream in (("q", q), ("k", k))}
    signals |= {"v": head_first(x, CHANNELS), "gate": steps[..., 0], "D": skip}
    signals["a"] = (rate.double()[:, None] * steps.double()).exp()
    return Case("mambapy MambaBlock.selective_scan_seq", signals, head_first(y, CHANNELS))


def lru_s5(draw: Draw) -> Case:
    """LRU with one input, one output and a real B: each complex state is a head, the output is their sum."""
    torch.manual_seed(draw.seed)
    states = 5
    layer = LRU(1, 1, states, rmin=0.5, rmax=0.99, max_phase=3.0)
    layer.B.copy_(torch.complex(draw.normal(states, 1), torch.zeros(states, 1)))
    u = draw.normal(1, draw.seq_len, 1)
    q = torch.stack([layer.C.real[0], layer.C.imag[0]], dim=-1)  # Re(C x) with x = (Re, -Im) in the frame of R(-angle)
    a = (-layer.nu_log.double().exp()).exp()
    signals = {
        "q": q[:, None].expand(-1, draw.seq_len, -1),
        "k": torch.tensor([1.0, 0.0]).expand(states, draw.seq_len, -1),
        "v": (u[0] * layer.B.real[:, 0]).mT[..., None],
        "a": a[:, None],
        "ang": layer.theta_log.double().exp()[:, None],
        "gate": layer.gamma_log.exp()[:, None].expand(-1, draw.seq_len),
        "D": F.one_hot(torch.tensor(0), states) * layer.D[0, 0] / layer.B.real[0, 0],
        "combine": torch.ones(1, states),
    }
    return Case("LRU-pytorch LRU", signals, layer(u).reshape(1, draw.seq_len, 1), {"pair": "half", "half": 1})


def s4d(draw: Draw) -> Case:
    """S4D-Lin, zero-order hold: n / 2 complex states per channel, y = 2 Re(C x) + D u."""
    poles = torch.complex(torch.full((3,), -0.5), torch.pi * torch.arange(3))
    signals, y = _diagonal_ssm(draw, poles, draw.normal(2, draw.seq_len))
    return Case("s5-pytorch discretize_zoh and apply_ssm, one channel at a time", signals, y, _halves(signals))


def s4(draw: Draw) -> Case:
    """The same with the poles of HiPPO-LegS, the normal part in its eigenbasis, that have Im > 0."""
    poles = torch.from_numpy(make_DPLR_HiPPO(6)[0])
    signals, y = _diagonal_ssm(draw, poles[poles.imag > 0].to(torch.complex64), draw.normal(2, draw.seq_len))
    return Case("s5-pytorch make_DPLR_HiPPO, discretize_zoh and apply_ssm", signals, y, _halves(signals))


def h3(draw: Draw) -> Case:
    """y = q * ssm(k v): the gates of H3 around the state space; what the shift makes of k is an input here.

    The skip D q k v is a bonus that acts on one static channel.
    """
    q, k, v = (draw.normal(2, draw.seq_len) for _ in range(3))
    poles = torch.complex(torch.full((3,), -0.5), torch.pi * torch.arange(3))
    signals, y = _diagonal_ssm(draw, poles, k * v)
    static_q, static_k = signals["q"][:, 0], signals["k"][:, 0]
    bonus = torch.zeros_like(static_q)
    bonus[:, 0] = signals.pop("D") / (static_q[:, 0] * static_k[:, 0])
    signals |= {"q": signals["q"] * q[..., None], "k": signals["k"] * k[..., None], "v": v[..., None], "bonus": bonus}
    return Case(
        "s5-pytorch discretize_zoh and apply_ssm between two products", signals, y * q[..., None], _halves(signals)
    )


def _halves(signals: dict[str, Tensor]) -> dict[str, Any]:
    return {"pair": "half", "half": signals["ang"].shape[-1]}


def _diagonal_ssm(draw: Draw, poles: Tensor, u: Tensor) -> tuple[dict[str, Tensor], Tensor]:
    """The signals and the output of one diagonal state space per channel of u, (channels, T)."""
    states, channels = len(poles), u.shape[0]
    b, c = (torch.complex(draw.normal(channels, states), draw.normal(channels, states)) for _ in range(2))
    step, skip = draw.uniform(channels, low=0.05, high=0.5), draw.normal(channels)
    outputs, keys, factors = [], [], []
    for channel in range(channels):
        factor, key = discretize_zoh(poles, b[channel, :, None], step[channel].expand(states))
        y, _ = apply_ssm(factor, key, 2.0 * c[channel, None], skip[channel, None], u[channel, :, None])
        outputs.append(y)
        keys.append(key[:, 0])
        factors.append((poles.to(torch.complex128) * step[channel].double()).exp())
    factor, key = torch.stack(factors), torch.stack(keys)
    at_every_step = (-1, u.shape[1], -1)
    signals = {
        "q": torch.cat([2.0 * c.real, 2.0 * c.imag], dim=-1)[:, None].expand(at_every_step),
        "k": torch.cat([key.real, -key.imag], dim=-1)[:, None].expand(at_every_step),
        "v": u[..., None],
        "a": factor.abs().repeat(1, 2)[:, None],
        "ang": factor.angle(),
        "D": skip,
    }
    return signals, torch.stack(outputs)


def s5(draw: Draw) -> Case:
    """S5 with one input and one output: each complex state is a head of width 2, the output is their sum."""
    states = 4
    poles = torch.complex(-draw.uniform(states, low=0.2, high=1.0), draw.uniform(states, low=0.0, high=6.0))
    b, c = (torch.complex(draw.normal(states), draw.normal(states)) for _ in range(2))
    step = draw.uniform(states, low=0.05, high=0.5)
    factor, key = discretize_zoh(poles, b[:, None], step)
    u = draw.normal(draw.seq_len, 1)
    y, _ = apply_ssm(factor, key, c[None], torch.zeros(1), u)
    exact = (poles.to(torch.complex128) * step.double()).exp()
    at_every_step = (-1, draw.seq_len, -1)
    signals = {
        "q": torch.stack([c.real, c.imag], dim=-1)[:, None].expand(at_every_step),
        "k": torch.stack([key[:, 0].real, -key[:, 0].imag], dim=-1)[:, None].expand(at_every_step),
        "v": u.expand(states, -1, -1),
        "a": exact.abs()[:, None],
        "ang": exact.angle()[:, None],
        "combine": torch.ones(1, states),
    }
    return Case("s5-pytorch discretize_zoh and apply_ssm", signals, y[None], {"pair": "half", "half": 1})


REFERENCES: dict[str, Reference] = {
    "h3": h3,
    "lru_s5": lru_s5,
    "mamba_mambapy": mamba_mambapy,
    "mingru": mingru,
    "minlstm": minlstm,
    "mlstm_sig_nonorm": mlstm_sig_nonorm,
    "performer": performer,
    "qlstm": qlstm,
    "qlstm_reversed": qlstm_reversed,
    "relu_attn": relu_attn,
    "s4": s4,
    "s4d": s4d,
    "s5": s5,
    "slstm_R0": slstm_without_recurrence,
}
PACKAGES = (
    "accelerated-scan",
    "LRU-pytorch",
    "mambapy",
    "minGRU-pytorch",
    "mlstm_kernels",
    "performer-pytorch",
    "s5-pytorch",
    "x-transformers",
    "xlstm",
)

if __name__ == "__main__":
    main(REFERENCES, PACKAGES)
