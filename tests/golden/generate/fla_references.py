"""Golden files from the naive functions of fla-core (run on a CPU; see README.md beside this file)."""

import torch
import torch.nn.functional as F
from case import Case, Draw, Reference, main, token_first, unit
from fla.modules.feature_map import DPFPFeatureMap, HedgehogFeatureMap, TaylorFeatureMap
from fla.modules.long_conv import fft_conv
from fla.ops.delta_rule.naive import delta_rule_recurrence
from fla.ops.forgetting_attn.naive import naive_forgetting_attn
from fla.ops.generalized_delta_rule.dplr.naive import dplr_recurrence
from fla.ops.gla.naive import naive_recurrent_gla
from fla.ops.hgrn.naive import naive_recurrent_hgrn
from fla.ops.linear_attn.naive import naive_recurrent_linear_attn
from fla.ops.log_linear_attn.naive import naive_log_linear_attn
from fla.ops.momentum_delta_rule.naive import recurrent_momentum_delta_rule_ref
from fla.ops.path_attn.naive import naive_path_attn
from fla.ops.rwkv6.recurrent_naive import naive_recurrent_rwkv6
from fla.ops.rwkv7.gate_output_correction import gate_output_correction_ref
from fla.ops.simple_gla.naive import naive_recurrent_simple_gla
from fla.ops.wall_attn import naive as wall
from torch import Tensor

HEADS, WIDTH, VALUE_WIDTH = 2, 8, 6
EPS_LINEAR = 1e-10  # added to the row sum by naive_recurrent_linear_attn


def _qkv(draw: Draw, width: int = WIDTH) -> tuple[Tensor, Tensor, Tensor]:
    shape = (HEADS, draw.seq_len)
    return draw.normal(*shape, width), draw.normal(*shape, width), draw.normal(*shape, VALUE_WIDTH)


def dpfp_fwp(draw: Draw) -> Case:
    """DPFP features with nu = 3, divided by their sum; the op scales q by n^-1/2, the paper does not."""
    raw_q, raw_k, v = _qkv(draw, 4)
    features = DPFPFeatureMap(head_dim=4, nu=3)
    q, k = (mapped / mapped.sum(-1, keepdim=True) for mapped in (features(raw_q), features(raw_k)))
    beta = draw.normal(HEADS, draw.seq_len).sigmoid()
    y, _ = delta_rule_recurrence(q[None] * q.shape[-1] ** 0.5, k[None], v[None], beta[None])
    signals = {"q": q, "k": k, "v": v, "beta": beta, "q_raw": raw_q, "k_raw": raw_k}
    return Case(
        "fla DPFPFeatureMap (nu 3), sum 1, and delta_rule_recurrence", signals, y[0], {"width": 3, "norm_eps": 0.0}
    )


def hedgehog(draw: Draw) -> Case:
    """The map applies a linear layer and a factor 2 first: they belong to the raw vectors."""
    x_q, x_k, v = _qkv(draw, 4)
    features = HedgehogFeatureMap(head_dim=4)
    features.layer.weight.copy_(draw.normal(4, 4) / 2.0)
    features.layer.bias.copy_(draw.normal(4))
    q, k = features(x_q), features(x_k)
    y = _normalised_linear(q, k, v)
    raw_q, raw_k = 2.0 * features.layer(x_q), 2.0 * features.layer(x_k)
    signals = {"q": q, "k": k, "v": v, "q_raw": raw_q, "k_raw": raw_k, "eps": torch.full((HEADS,), EPS_LINEAR)}
    return Case("fla HedgehogFeatureMap and naive_recurrent_linear_attn(normalize)", signals, y)


def taylor_features(draw: Draw) -> Case:
    """Based through its finite lift: 1 + z + z^2 / 2 as a product of features."""
    raw_q, raw_k, v = _qkv(draw, 4)
    features = TaylorFeatureMap(head_dim=4)
    q, k = features(raw_q), features(raw_k)
    signals = {"q": q, "k": k, "v": v, "q_raw": raw_q, "k_raw": raw_k, "eps": torch.full((HEADS,), EPS_LINEAR)}
    return Case("fla TaylorFeatureMap and naive_recurrent_linear_attn(normalize)", signals, _normalised_linear(q, k, v))


def _normalised_linear(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    y, _ = naive_recurrent_linear_attn(token_first(q), token_first(k), token_first(v), scale=1.0, normalize=True)
    return y[0].transpose(0, 1)


def hgrn(draw: Draw) -> Case:
    """Channels as heads; forget gate with the floor 0.2."""
    channels = 6
    a = 0.2 + 0.8 * draw.normal(channels, draw.seq_len).sigmoid()
    v = F.silu(draw.normal(channels, draw.seq_len))
    y, _ = naive_recurrent_hgrn(((1.0 - a) * v).mT[None], a.log().mT[None])
    ones = torch.ones(channels, draw.seq_len, 1)
    signals = {"q": ones, "k": ones, "v": v[..., None], "a": a, "gate": 1.0 - a}
    return Case("fla naive_recurrent_hgrn", signals, y[0].mT[..., None])


def log_linear_mamba2(draw: Draw) -> Case:
    """Level weights per token and head; k is written with dt, the skip D of the layer is outside this function."""
    q, k, v = _qkv(draw)
    levels = draw.uniform(HEADS, draw.seq_len, (draw.seq_len - 1).bit_length() + 1, low=0.1, high=1.5)
    dt = draw.uniform(HEADS, draw.seq_len, low=0.05, high=1.0)
    log_a = -dt * draw.uniform(HEADS, 1, low=0.1, high=1.0)
    y = naive_log_linear_attn(
        token_first(q), token_first(dt[..., None] * k), token_first(v), token_first(log_a), token_first(levels)
    )
    signals = {"q": q, "k": k, "v": v, "a": log_a.double().exp(), "gate": dt, "levels": levels}
    return Case("fla naive_log_linear_attn", signals, y[0].transpose(0, 1))


def deltanet_neg(draw: Draw) -> Case:
    """beta in (0, 2)."""
    q, k, v = _qkv(draw)
    q, k = unit(q), unit(k)
    beta = 2.0 * draw.normal(HEADS, draw.seq_len).sigmoid()
    y, _ = delta_rule_recurrence(q[None], k[None], v[None], beta[None])
    return Case("fla delta_rule_recurrence, beta = 2 sigmoid", {"q": q, "k": k, "v": v, "beta": beta}, y[0])


def path(draw: Draw) -> Case:
    """PaTH without a forget gate (g = 0)."""
    q, k, v = _qkv(draw)
    w = unit(draw.normal(HEADS, draw.seq_len, WIDTH))
    beta = 2.0 * draw.normal(HEADS, draw.seq_len).sigmoid()
    inputs = [token_first(x) for x in (q, k, v, w, beta, torch.zeros_like(beta))]
    y = naive_path_attn(*inputs, scale=WIDTH**-0.5)
    signals = {"q": q, "k": k, "v": v, "kap": w, "beta": beta}
    return Case("fla naive_path_attn with g = 0", signals, y[0].transpose(0, 1))


def fox_pro(draw: Draw) -> Case:
    """Forgetting attention of q and k with a weighted RMS norm per head (the norm of the layer, written out here)."""
    raw_q, raw_k, v = _qkv(draw)
    gain_q, gain_k = draw.uniform(WIDTH, low=0.5, high=1.5), draw.uniform(WIDTH, low=0.5, high=1.5)
    q, k = F.rms_norm(raw_q, (WIDTH,), gain_q, 1e-6), F.rms_norm(raw_k, (WIDTH,), gain_k, 1e-6)
    log_f = F.logsigmoid(draw.normal(HEADS, draw.seq_len) + 2.0)
    y = naive_forgetting_attn(token_first(q), token_first(k), token_first(v), token_first(log_f))
    signals = {"q": q, "k": k, "v": v, "shear": log_f}
    return Case("torch rms_norm and fla naive_forgetting_attn", signals, y[0].transpose(0, 1))


def wall_attention(draw: Draw) -> Case:
    """A decay per channel inside the exponential; the Triton prefix sum is replaced by torch.cumsum."""
    wall.chunk_global_cumsum = _prefix_sum
    q, k, v = _qkv(draw)
    log_a = F.logsigmoid(draw.normal(HEADS, draw.seq_len, WIDTH) + 2.0)
    y = wall.naive_wall_attn(token_first(q), token_first(k), token_first(v), token_first(log_a), scale=WIDTH**-0.5)
    signals = {"q": q, "k": k, "v": v, "a": log_a.double().exp()}
    return Case("fla naive_wall_attn with torch.cumsum as its prefix sum", signals, y[0].transpose(0, 1))


def _prefix_sum(g: Tensor, *, scale: float, cu_seqlens: None = None) -> Tensor:
    if cu_seqlens is not None:
        raise ValueError("sequences of several lengths are not needed here.")
    return g.double().cumsum(1).mul(scale).float()


def rwkv5(draw: Draw) -> Case:
    """The RWKV-6 recurrence with a decay that does not see the token."""
    q, k, v = _qkv(draw)
    log_a = -draw.normal(HEADS, 1, WIDTH).sub(1.0).exp()
    bonus = draw.normal(HEADS, WIDTH)
    w = log_a.expand(-1, draw.seq_len, -1)
    y, _ = naive_recurrent_rwkv6(q[None], k[None], v[None], w[None], bonus, scale=1.0)
    signals = {"q": q, "k": k, "v": v, "a": log_a.double().exp(), "bonus": bonus}
    return Case("fla naive_recurrent_rwkv6 with a constant w", signals, y[0])


def rwkv7_bonus(draw: Draw) -> Case:
    """RWKV-7 with its bonus and output gate, without the group norm between; the op scales r by n^-1/2."""
    r, k, v = _qkv(draw)
    direction = unit(draw.normal(HEADS, draw.seq_len, WIDTH))
    beta = draw.normal(HEADS, draw.seq_len, WIDTH).sigmoid()
    log_a = -(0.5**0.5) * draw.normal(HEADS, draw.seq_len, WIDTH).sigmoid()
    o, _ = dplr_recurrence(
        r[None] * WIDTH**0.5, k[None], v[None], -direction[None], (beta * direction)[None], log_a[None]
    )
    bonus = draw.normal(HEADS, WIDTH)
    gate = draw.normal(HEADS, draw.seq_len, VALUE_WIDTH).sigmoid()
    flat = (1, draw.seq_len, HEADS * VALUE_WIDTH)
    y = gate_output_correction_ref(
        o.transpose(1, 2).reshape(flat),
        token_first(r),
        token_first(k),
        bonus,
        token_first(v),
        token_first(gate).reshape(flat),
    )
    signals = {"q": r, "k": k, "v": v, "a": log_a.double().exp(), "kap": direction, "beta": beta}
    return Case(
        "fla dplr_recurrence and gate_output_correction_ref",
        signals | {"bonus": bonus, "out_gate": gate},
        y.reshape(draw.seq_len, HEADS, VALUE_WIDTH).transpose(0, 1),
    )


def momentum_deltanet(draw: Draw) -> Case:
    """The erase reads with the key itself."""
    return _momentum(draw, key_share=None)


def momentum_deltanet_scaled(draw: Draw) -> Case:
    """The erase reads with p = c_h k."""
    return _momentum(draw, key_share=torch.tensor([0.6, 0.9]))


def _momentum(draw: Draw, key_share: Tensor | None) -> Case:
    q, k, v = _qkv(draw)
    q, k = unit(q), unit(k)
    p = k if key_share is None else key_share[:, None, None] * k
    beta, rate = (draw.normal(HEADS, draw.seq_len).sigmoid() for _ in range(2))
    log_a, log_mu = (F.logsigmoid(draw.normal(HEADS, draw.seq_len) + 2.0) for _ in range(2))
    y, _ = recurrent_momentum_delta_rule_ref(*(token_first(x) for x in (q, k, v, log_a, log_mu, p, beta, rate)))
    signals = {"q": q, "k": k, "v": v, "a": log_a.double().exp(), "beta": beta}
    signals |= {"momentum": log_mu.double().exp(), "rate": rate}
    if key_share is not None:
        signals["p"] = p
    return Case("fla recurrent_momentum_delta_rule_ref", signals, y[0].transpose(0, 1))


def longconv_hyena(draw: Draw) -> Case:
    """y = q * (h conv (k v)), the convolution by FFT; fft_conv adds its input, one more at lag 0."""
    channels = 4
    q, k, v = (draw.normal(channels, draw.seq_len) for _ in range(3))
    decay = torch.exp(-0.1 * torch.arange(draw.seq_len))
    filters = draw.normal(channels, draw.seq_len) * decay
    y = q * fft_conv((k * v)[None], filters, None, gelu=False)[0]
    taps = filters.clone()
    taps[:, 0] += 1.0
    signals = {"q": q[..., None], "k": k[..., None], "v": v[..., None], "taps": taps[:, None]}
    return Case("fla fft_conv between two products", signals, y[..., None])


def rodimus(draw: Draw) -> Case:
    """GLA whose write k softplus(g)^tau and decay exp(-softplus(g) tau) share a gate."""
    q, k, v = _qkv(draw)
    gate, tau = F.softplus(draw.normal(HEADS, draw.seq_len, WIDTH)), draw.normal(HEADS, draw.seq_len, WIDTH).sigmoid()
    k, log_a = unit(k) * gate**tau, -gate * tau
    y, _ = naive_recurrent_gla(token_first(q), token_first(k), token_first(v), token_first(log_a))
    return Case("fla naive_recurrent_gla", {"q": q, "k": k, "v": v, "a": log_a.double().exp()}, y[0].transpose(0, 1))


def transnormer(draw: Draw) -> Case:
    """Silu features and the constant decay of fla's Lightning attention: -(8 / H) h, no decay in head 0."""
    q, k, v = _qkv(draw)
    q, k = F.silu(q), F.silu(k)
    log_a = -(8.0 / HEADS) * torch.arange(HEADS)[:, None] * 0.1
    y, _ = naive_recurrent_simple_gla(*(token_first(x) for x in (q, k, v, log_a.expand(-1, draw.seq_len))), scale=1.0)
    return Case(
        "fla naive_recurrent_simple_gla", {"q": q, "k": k, "v": v, "a": log_a.double().exp()}, y[0].transpose(0, 1)
    )


REFERENCES: dict[str, Reference] = {
    "deltanet_neg": deltanet_neg,
    "dpfp_fwp": dpfp_fwp,
    "fox_pro": fox_pro,
    "hedgehog": hedgehog,
    "hgrn": hgrn,
    "log_linear_mamba2": log_linear_mamba2,
    "longconv_hyena": longconv_hyena,
    "momentum_deltanet": momentum_deltanet,
    "momentum_deltanet_scaled": momentum_deltanet_scaled,
    "path": path,
    "rodimus": rodimus,
    "rwkv5": rwkv5,
    "rwkv7_bonus": rwkv7_bonus,
    "taylor_features": taylor_features,
    "transnormer": transnormer,
    "wall": wall_attention,
}

if __name__ == "__main__":
    main(REFERENCES, ["fla-core"])
