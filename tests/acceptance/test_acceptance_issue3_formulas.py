"""Entries of the catalogue against recurrences in numpy, written from the papers, on the projections of a mixer.

A formula takes the projections of the tokens (as the mixer makes them) and the parameters of its gates; feature map,
norms, gates, scales and the sum over the past are the formula's own.
"""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import yaml
from given import Spec

from designspace.catalogue import get
from designspace.specfile import loads
from workers.mixer import Mixer
from workers.model import MixerBranches

Arrays = dict[str, np.ndarray]
TOKENS, HEADS, N, P = 9, 2, 4, 3


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def softplus(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(x))


def silu(x: np.ndarray) -> np.ndarray:
    return x * sigmoid(x)


def l2(x: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    return x / np.sqrt((x**2).sum(-1, keepdims=True) + eps)


def rms(x: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Causal softmax of (tokens, tokens)."""
    weights = np.exp(np.where(np.tril(np.ones_like(scores)) > 0, scores, -np.inf))
    return weights / weights.sum(-1, keepdims=True)


def rope(x: np.ndarray, theta: float = 10000.0, interleaved: bool = False) -> np.ndarray:
    """Rotate pair m of token t by t theta^(-2m/n): pairs (m, m + n/2), or (2m, 2m + 1)."""
    tokens, n = x.shape
    phase = np.exp(1j * np.arange(tokens)[:, None] * theta ** (-np.arange(0, n, 2) / n))
    turned = np.empty_like(x)
    first, second = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(0, n // 2), slice(n // 2, None))
    pairs = (x[:, first] + 1j * x[:, second]) * phase
    turned[:, first], turned[:, second] = pairs.real, pairs.imag
    return turned


def fox_pro(a: Arrays) -> np.ndarray:
    """arXiv 2503.02130: softmax(q.k n^-1/2 + sum of log f) with RMS-normed q and k."""
    q, k = rms(a["q"], 1e-5) * a["q_gain"], rms(a["k"], 1e-5) * a["k_gain"]
    log_f = np.log(sigmoid(a["shear"][:, 0] + a["shear_bias"])).cumsum()
    return softmax(q @ k.T / np.sqrt(N) + log_f[:, None] - log_f[None]) @ a["v"]


def wall(a: Arrays) -> np.ndarray:
    """Channel decays inside the score: sum_c q_ic k_jc prod f_c n^-1/2."""
    log_f = np.log(sigmoid(a["decay"] + a["decay_bias"])).cumsum(0)
    scores = np.einsum("ic,jc,ijc->ij", a["q"], a["k"], np.exp(log_f[:, None] - log_f[None])) / np.sqrt(N)
    return softmax(scores) @ a["v"]


def softmax_qknorm(a: Arrays) -> np.ndarray:
    q, k = rms(a["q"], 1e-6) * a["q_gain"], rms(a["k"], 1e-6) * a["k_gain"]
    return softmax(rope(q, 1e6) @ rope(k, 1e6).T / np.sqrt(N)) @ a["v"]


def path_fox(a: Arrays) -> np.ndarray:
    """arXiv 2505.16381: q_i^T H_i ... H_(j+1) k_j, H = I - beta w w^T, beta = 2 sigmoid; forget gate scaled too."""
    w, beta = l2(a["direction"]), 2 * sigmoid(a["gain"][:, 0])
    log_f = np.log(sigmoid(a["shear"][:, 0] + a["shear_bias"]))
    scores = np.zeros((TOKENS, TOKENS))
    for i in range(TOKENS):
        row, bias = a["q"][i].copy(), 0.0
        for j in range(i, -1, -1):
            scores[i, j] = (row @ a["k"][j] + bias) / np.sqrt(N)
            row, bias = row - beta[j] * (row @ w[j]) * w[j], bias + log_f[j]
    return softmax(scores) @ a["v"]


def softmax_alibi(a: Arrays) -> np.ndarray:
    slope = 2.0 ** (-8 * (a["head"] + 1) / HEADS)
    distance = np.arange(TOKENS)[:, None] - np.arange(TOKENS)[None]
    return softmax(a["q"] @ a["k"].T / np.sqrt(N) - slope * distance) @ a["v"]


def dpfp_fwp(a: Arrays) -> np.ndarray:
    """arXiv 2102.11174: W += sigmoid(beta) (v - W k') k'^T; k' = dpfp_3(k), dpfp_3(q), each divided by its sum."""

    def features(x: np.ndarray) -> np.ndarray:
        r = np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], -1)
        products = np.concatenate([r * np.roll(r, shift, -1) for shift in (1, 2, 3)], -1)
        return products / (products.sum(-1, keepdims=True) + 1e-6)

    return delta(features(a["q"]), features(a["k"]), a["v"], beta=sigmoid(a["gain"][:, 0]))


def delta(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, *, beta: np.ndarray, decay: np.ndarray | None = None
) -> np.ndarray:
    """S <- diag(a) S; S += beta k (v - S^T k)^T; y = S^T q."""
    state, outputs = np.zeros((k.shape[1], v.shape[1])), []
    for t in range(len(q)):
        if decay is not None:
            state = decay[t][:, None] * state
        state = state + beta[t] * np.outer(k[t], v[t] - state.T @ k[t])
        outputs.append(state.T @ q[t])
    return np.stack(outputs)


def deltanet_neg(a: Arrays) -> np.ndarray:
    q, k = l2(silu(a["q"])), l2(silu(a["k"]))
    return delta(q / np.sqrt(N), k, silu(a["v"]), beta=2 * sigmoid(a["gain"][:, 0]))


def kda(a: Arrays) -> np.ndarray:
    """arXiv 2510.26692, equation 1; a = exp(-e^A softplus(x + b)) per channel."""
    decay = np.exp(-a["rate"] * softplus(a["decay"] + a["decay_bias"]))
    return delta(
        l2(silu(a["q"])) / np.sqrt(N), l2(silu(a["k"])), silu(a["v"]), beta=sigmoid(a["gain"][:, 0]), decay=decay
    )


def gated_deltaproduct(a: Arrays) -> np.ndarray:
    """arXiv 2502.10297: the decay, then two delta steps of beta in (0, 2) per token, then the read."""
    decay = np.exp(-a["rate"] * softplus(a["decay"][:, 0] + a["decay_bias"]))
    k, beta, q = l2(silu(a["k"])), 2 * sigmoid(a["gain"][:, 0]), l2(silu(a["q"])) / np.sqrt(N)
    v = silu(a["v"])
    state, outputs = np.zeros((N, P)), []
    for t in range(TOKENS):
        state = decay[t] * state
        for step in (2 * t, 2 * t + 1):
            state = state + beta[step] * np.outer(k[step], v[step] - state.T @ k[step])
        outputs.append(state.T @ q[t])
    return np.stack(outputs)


def momentum_deltanet(a: Arrays) -> np.ndarray:
    """M <- mu M + eta k (S^T k - v)^T; S <- a S - beta M."""
    decay = np.exp(-a["rate"] * softplus(a["decay"][:, 0] + a["decay_bias"]))
    beta, mu, eta = (sigmoid(a[name][:, 0]) for name in ("gain", "momentum", "rate_logit"))
    q, k, v = l2(silu(a["q"])) / np.sqrt(N), l2(silu(a["k"])), a["v_active"]
    state, velocity, outputs = np.zeros((N, P)), np.zeros((N, P)), []
    for t in range(TOKENS):
        velocity = mu[t] * velocity + eta[t] * np.outer(k[t], state.T @ k[t] - v[t])
        state = decay[t] * state - beta[t] * velocity
        outputs.append(state.T @ q[t])
    return np.stack(outputs)


def mamba(a: Arrays) -> np.ndarray:
    """h <- exp(-A dt) h + dt B x; y = C.h + D x; dt = softplus, x = silu of the convolved input."""
    dt, x = softplus(a["gate"][:, 0] + a["gate_bias"]), silu(a["v"][:, 0])
    state, outputs = np.zeros(N), []
    for t in range(TOKENS):
        state = np.exp(-a["rate"] * dt[t]) * state + dt[t] * a["k"][t] * x[t]
        outputs.append(a["q"][t] @ state + a["skip"] * x[t])
    return np.array(outputs)[:, None]


def longhorn(a: Arrays) -> np.ndarray:
    """arXiv 2407.14207: s <- (1 - d k^2) s + d k x, d = g / (1 + g k.k)."""
    g, k, x = sigmoid(a["gate"][:, 0] + a["gate_bias"]), a["k"], silu(a["v"][:, 0])
    state, outputs = np.zeros(N), []
    for t in range(TOKENS):
        d = g[t] / (1 + g[t] * (k[t] @ k[t]))
        state = (1 - d * k[t] ** 2) * state + d * k[t] * x[t]
        outputs.append(a["q"][t] @ state + a["skip"] * x[t])
    return np.array(outputs)[:, None]


def hgrn2(a: Arrays) -> np.ndarray:
    """S <- diag(f) S + (1 - f) v^T, y = S^T silu(q) n^-1/2 (fla)."""
    f = sigmoid(a["decay"] + a["decay_bias"])
    state, outputs = np.zeros((N, P)), []
    for t in range(TOKENS):
        state = f[t][:, None] * state + np.outer(1 - f[t], a["v"][t])
        outputs.append(state.T @ silu(a["q"][t]) / np.sqrt(N))
    return np.stack(outputs)


def rodimus(a: Arrays) -> np.ndarray:
    """arXiv 2410.06577: a = exp(-tau g), key = g^tau k / |k|, g = softplus, tau = sigmoid; value times sigmoid."""
    g, tau = softplus(a["decay"] + a["decay_bias"]), sigmoid(a["decay_power"] + a["decay_power_bias"])
    k = a["k"] / np.linalg.norm(a["k"], axis=-1, keepdims=True) * g**tau
    v = a["v"] * sigmoid(a["v_gate"])
    state, outputs = np.zeros((N, P)), []
    for t in range(TOKENS):
        state = np.exp(-tau[t] * g[t])[:, None] * state + np.outer(k[t], v[t])
        outputs.append(state.T @ a["q"][t] / np.sqrt(N))
    return np.stack(outputs)


def mlstm_exp(a: Arrays) -> np.ndarray:
    """arXiv 2405.04517, 19 to 27, stabilised; input gate capped at 15 and eps 1e-6 as in xLSTM 7B."""
    log_i = 15 * np.tanh((a["gate"][:, 0] + a["gate_bias"]) / 15)
    log_f = np.log(sigmoid(a["decay"][:, 0] + a["decay_bias"]))
    memory, norm, m, outputs = np.zeros((N, P)), np.zeros(N), -np.inf, []
    for t in range(TOKENS):
        above = max(log_f[t] + m, log_i[t])
        keep, write = np.exp(log_f[t] + m - above), np.exp(log_i[t] - above)
        memory = keep * memory + write * np.outer(a["k"][t], a["v"][t]) / np.sqrt(N)
        norm, m = keep * norm + write * a["k"][t] / np.sqrt(N), above
        outputs.append(memory.T @ a["q"][t] / (max(abs(norm @ a["q"][t]), np.exp(-m)) + 1e-6))
    return np.stack(outputs)


def qlstm(a: Arrays) -> np.ndarray:
    """x <- sigmoid(f) x + sigmoid(i) u."""
    return scan(sigmoid(a["decay"][:, 0] + a["decay_bias"]), a["v"][:, 0] * sigmoid(a["v_gate"][:, 0]))


def qlstm_reversed(a: Arrays) -> np.ndarray:
    """x <- sigmoid(-f)^alpha x + sigmoid(i) u."""
    decay = sigmoid(-(a["decay"][:, 0] + a["decay_bias"])) ** a["rate"]
    return scan(decay, a["v"][:, 0] * sigmoid(a["v_gate"][:, 0]))


def rg_lru(a: Arrays) -> np.ndarray:
    """arXiv 2402.19427: a = exp(-8 softplus(L) sigmoid(r)); h <- a h + sqrt(1 - a^2) sigmoid(i) x."""
    decay = np.exp(-8 * softplus(a["decay_rate"]) * sigmoid(a["decay"][:, 0] + a["decay_bias"]))
    return scan(decay, np.sqrt(1 - decay**2) * a["v"][:, 0] * sigmoid(a["v_gate"][:, 0]))


def minlstm(a: Arrays) -> np.ndarray:
    f = sigmoid(a["decay"][:, 0] + a["decay_bias"])
    i = sigmoid(a["decay_input"][:, 0] + a["decay_input_bias"])
    return scan(f / (f + i), i / (f + i) * a["v"][:, 0])


def scan(decay: np.ndarray, write: np.ndarray) -> np.ndarray:
    state, outputs = 0.0, []
    for a, u in zip(decay, write, strict=True):
        state = a * state + u
        outputs.append(state)
    return np.array(outputs)[:, None]


def rwkv4(a: Arrays) -> np.ndarray:
    """wkv = (sum e^(k_j - (i-1-j) w) v_j + e^(u + k_i) v_i) / (same without v), w = exp(decay)."""
    w, u, key, v = (
        np.exp(a["decay_bias"][0]),
        np.log(a["bonus"][0]),
        a["key_logit"][:, 0] + a["gate_bias"],
        a["v"][:, 0],
    )
    outputs = []
    for i in range(TOKENS):
        weights = np.array([np.exp(key[j] - (i - 1 - j) * w) for j in range(i)] + [np.exp(u + key[i])])
        outputs.append(weights @ v[: i + 1] / weights.sum())
    return np.array(outputs)[:, None]


def retnet(a: Arrays) -> np.ndarray:
    gamma = 1 - 2.0 ** (-5 - a["head"])
    power = gamma ** np.maximum(np.arange(TOKENS)[:, None] - np.arange(TOKENS)[None], 0)
    return np.tril(rope(a["q"]) @ rope(a["k"]).T / np.sqrt(N) * power) @ a["v"]


def lightning_minimax(a: Arrays) -> np.ndarray:
    """Layer 0: decay exp(-2^(-8 h / 64) (1 + 1e-5)), h from 1; q, k, v = silu; no scale."""
    slope = 2.0 ** (-8 * (a["head"] + 1) / 64) * (1 + 1e-5)
    distance = np.maximum(np.arange(TOKENS)[:, None] - np.arange(TOKENS)[None], 0)
    return np.tril(silu(a["q"]) @ silu(a["k"]).T * np.exp(-slope * distance)) @ silu(a["v"])


def comba(a: Arrays) -> np.ndarray:
    """arXiv 2506.02475: S <- a S - a beta k (sigmoid(d) k)^T S + beta k v^T."""
    decay = np.exp(-a["rate"] * softplus(a["decay"][:, 0] + a["decay_bias"]))
    beta, second = sigmoid(a["gain"][:, 0]), sigmoid(a["second_logit"])
    q, k, v = l2(silu(a["q"])) / np.sqrt(N), l2(silu(a["k"])), a["v_active"]
    state, outputs = np.zeros((N, P)), []
    for t in range(TOKENS):
        state = decay[t] * state
        state = state + beta[t] * np.outer(k[t], v[t] - second * state.T @ k[t])
        outputs.append(state.T @ q[t])
    return np.stack(outputs)


def gdn2(a: Arrays) -> np.ndarray:
    """S <- (I - k (b * k)^T) diag(a) S + k (w * v)^T with gates b and w per channel, in this order of factors."""
    decay = np.exp(-a["rate"] * softplus(a["decay"] + a["decay_bias"]))
    erase, write = sigmoid(a["gain"]), sigmoid(a["v_gate"])
    q, k, v = l2(silu(a["q"])) / np.sqrt(N), l2(silu(a["k"])), silu(a["v"]) * write
    state, outputs = np.zeros((N, P)), []
    for t in range(TOKENS):
        state = decay[t][:, None] * state
        state = state - np.outer(k[t], state.T @ (erase[t] * k[t])) + np.outer(k[t], v[t])
        outputs.append(state.T @ q[t])
    return np.stack(outputs)


def rwkv7(a: Arrays) -> np.ndarray:
    """S <- diag(w) S - (a * u) (u^T S) + k v^T, w = exp(-e^-0.5 sigmoid(x)), and r . (bonus * k) v beside the read."""
    w, gain, u = np.exp(-np.exp(-0.5) * sigmoid(a["decay"] + a["decay_bias"])), sigmoid(a["gain"]), l2(a["direction"])
    state, outputs = np.zeros((N, P)), []
    for t in range(TOKENS):
        state = w[t][:, None] * state - np.outer(gain[t] * u[t], state.T @ u[t]) + np.outer(a["k"][t], a["v"][t])
        outputs.append(state.T @ a["q"][t] + (a["q"][t] * a["bonus"] * a["k"][t]).sum() * a["v"][t])
    return np.stack(outputs)


def gla(a: Arrays) -> np.ndarray:
    """S <- diag(sigmoid(x)^(1/16)) S + k v^T, y = S^T q n^-1/2."""
    decay = sigmoid(a["decay"] + a["decay_bias"]) ** (1 / 16)
    state, outputs = np.zeros((N, P)), []
    for t in range(TOKENS):
        state = decay[t][:, None] * state + np.outer(a["k"][t], a["v_active"][t])
        outputs.append(state.T @ a["q"][t] / np.sqrt(N))
    return np.stack(outputs)


def cosformer(a: Arrays) -> np.ndarray:
    """relu(q) . relu(k) cos(pi (i - j) / 2M), M = 512, over its row sum + 1e-6."""
    cosine = np.cos(np.pi / 1024 * (np.arange(TOKENS)[:, None] - np.arange(TOKENS)[None]))
    scores = np.tril(np.maximum(a["q"], 0) @ np.maximum(a["k"], 0).T * cosine)
    return scores @ a["v"] / (scores.sum(-1, keepdims=True) + 1e-6)


def hedgehog(a: Arrays) -> np.ndarray:
    def features(x: np.ndarray) -> np.ndarray:
        both = np.exp(np.concatenate([x, -x], -1))
        return both / both.sum(-1, keepdims=True)

    scores = np.tril(features(a["q"]) @ features(a["k"]).T)
    return scores @ a["v"] / (scores.sum(-1, keepdims=True) + 1e-6)


def based(a: Arrays) -> np.ndarray:
    z = a["q"] @ a["k"].T / np.sqrt(N)
    scores = np.tril(1 + z + z**2 / 2)
    return scores @ a["v"] / (scores.sum(-1, keepdims=True) + 1e-6)


def dsf_norm(a: Arrays) -> np.ndarray:
    """arXiv 2405.15731: q.k over exp(w . x_i)."""
    return np.tril(a["q"] @ a["k"].T) @ a["v"] / np.exp(a["log_eta"])


def slstm_R0(a: Arrays) -> np.ndarray:  # noqa: N802
    """arXiv 2405.04517, 8 to 17, without recurrent weights: a mean with exponential input gates."""
    f, i = sigmoid(a["decay"][:, 0] + a["decay_bias"]), np.exp(a["gate"][:, 0] + a["gate_bias"])
    return scan(f, i * np.tanh(a["v"][:, 0])) / scan(f, i)


def mingru(a: Arrays) -> np.ndarray:
    z = sigmoid(a["gate"][:, 0] + a["gate_bias"])
    return scan(1 - z, z * a["v"][:, 0])


def log_linear_mamba2(a: Arrays) -> np.ndarray:
    """arXiv 2506.04761: Mamba-2's matrix times a weight of the query for the level of each source.

    Level 0 is the token itself; source j lies in level 1 + (place of the highest bit in which i and j differ).
    """
    dt = softplus(a["gate"][:, 0] + a["gate_bias"])
    log_decay = np.cumsum(-a["rate"] * dt)
    levels = softplus(a["levels"] + np.log(np.e - 1))
    q, k, v, alpha = silu(a["q"]), silu(a["k"]), silu(a["v"]), np.zeros((TOKENS, TOKENS))
    for i in range(TOKENS):
        for j in range(i + 1):
            alpha[i, j] = q[i] @ k[j] * dt[j] * np.exp(log_decay[i] - log_decay[j]) * levels[i, (i ^ j).bit_length()]
    return alpha @ v + a["skip"] * v


def mamba3_siso(a: Arrays) -> np.ndarray:
    """h <- a R h + (1 - l) dt a R k_(t-1) v_(t-1) + l dt k v; angles dt pi tanh(x), l = sigmoid; RMS-normed q and k."""
    dt, l = softplus(a["gate"][:, 0] + a["gate_bias"]), sigmoid(a["tap"][:, 0])  # noqa: E741
    decay, angle = np.exp(-a["rate"] * dt), dt[:, None] * np.pi * np.tanh(a["angle"])
    q, k, v = rms(a["q"], 1e-5) * a["q_gain"], rms(a["k"], 1e-5) * a["k_gain"], a["v_active"]
    state, outputs = np.zeros((N, P)), []
    for t in range(TOKENS):
        carried = state if t == 0 else state + (1 - l[t]) * dt[t] * np.outer(k[t - 1], v[t - 1])
        state = decay[t] * turned(carried, angle[t]) + l[t] * dt[t] * np.outer(k[t], v[t])
        outputs.append(state.T @ q[t] + a["skip"] * v[t])
    return np.stack(outputs)


def turned(state: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """The pairs of rows that rotate, turned by minus their angle."""
    result = state.copy()
    for pair, w in enumerate(angle):
        first, second = 2 * pair, 2 * pair + 1
        result[first] = np.cos(w) * state[first] + np.sin(w) * state[second]
        result[second] = -np.sin(w) * state[first] + np.cos(w) * state[second]
    return result


FORMULAS: dict[str, Callable[[Arrays], np.ndarray]] = {
    one.__name__: one
    for one in (
        fox_pro, wall, softmax_qknorm, path_fox, softmax_alibi, dpfp_fwp, deltanet_neg, kda, gated_deltaproduct,
        momentum_deltanet, mamba, longhorn, hgrn2, rodimus, mlstm_exp, qlstm, qlstm_reversed, rg_lru, minlstm, rwkv4,
        retnet, lightning_minimax,
        comba,
        gdn2,
        rwkv7,
        gla,
        cosformer,
        hedgehog,
        based,
        dsf_norm,
        slstm_R0,
        mingru,
        log_linear_mamba2,
        mamba3_siso,
    )
}  # fmt: skip
LIMITS = {"mlstm_exp": 1e-6}  # its eps stands beside max(|n.q|, 1) here, times e^-m in the published code
MORE_HEADS = {"retnet": {"num_heads": 8}, "lightning_minimax": {"num_heads": 64}}  # their decays depend on the number


def small(name: str, **heads: int) -> Mixer:
    """The first mixer of an entry with small sizes and random parameters, in float64."""
    spec = get(name).candidate.blocks[0].mixers[0]
    sizes: Spec = {
        "num_heads": HEADS,
        "state_dim": min(spec.heads.state_dim, N),
        "head_dim": min(spec.heads.head_dim, P),
    }
    if name == "softmax_qknorm":
        sizes |= {"kv_groups": 1}
    change: Spec = {"use": name, "heads": sizes | heads}
    text = yaml.safe_dump({"model": {"model_dim": 8}, "mixer": change})
    mixer = Mixer(loads(text).blocks[0].mixers[0], model_dim=8, seed=1).double()
    generator = torch.Generator().manual_seed(2)
    for one in mixer.signal.values():
        one.data = torch.randn(one.shape, generator=generator, dtype=torch.float64)
    if name == "rwkv4":  # its bonus is e^u
        mixer.signal["bonus"].data.exp_()
    return mixer


def projections(mixer: Mixer, head: int) -> tuple[Arrays, np.ndarray]:
    """What a formula takes for one head, and what the mixer makes of it."""
    x = torch.randn(1, TOKENS, 8, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    with torch.no_grad():
        raw, _ = mixer.raw(x)
        y = mixer.mixed(raw)[0, :, head].numpy()
    arrays = {key: one[0, :, min(head, one.shape[2] - 1)].numpy() for key, one in raw.items()}
    arrays = {"rate_logit" if key == "rate" else key: one for key, one in arrays.items()}
    parameters = {key: one.detach().numpy() for key, one in mixer.signal.items()}
    arrays |= {
        key: one if key in ("q_gain", "k_gain") and one.ndim == 1 else one[head] for key, one in parameters.items()
    }
    if "decay_rate" in arrays:
        arrays["rate"] = np.exp(arrays["decay_rate"])
    active = mixer.spec.io.value_activation == "silu"
    return arrays | {"head": np.array(head), "v_active": silu(arrays["v"]) if active else arrays["v"]}, y


@pytest.mark.parametrize("name", FORMULAS)
def test_entry_computes_the_formula_of_its_paper(name: str) -> None:
    mixer = small(name, **MORE_HEADS.get(name, {}))
    for head in range(mixer.spec.heads.num_heads):
        arrays, y = projections(mixer, head)
        wanted = FORMULAS[name](arrays)
        assert y.shape == wanted.shape
        assert np.abs(y - wanted).max() <= LIMITS.get(name, 1e-9) * np.abs(wanted).max()


def test_mla_has_one_latent_vector_and_a_shared_rotated_key() -> None:
    """arXiv 2405.04434, 9 to 19: k = [rotated shared part, W c], v = W' c, scores over both parts times n^-1/2."""
    text = yaml.safe_dump(
        {
            "model": {"model_dim": 8},
            "mixer": {
                "use": "mla",
                "heads": {"num_heads": 2, "state_dim": 6, "head_dim": 3, "latent_dim": 5, "shared_key_dim": 2},
            },
        }
    )
    mixer = Mixer(loads(text).blocks[0].mixers[0], model_dim=8, seed=1).double()
    x = torch.randn(1, TOKENS, 8, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    with torch.no_grad():
        raw, _ = mixer.raw(x)
        y = mixer.mixed(raw)[0].numpy()
    q, k, v = (raw[name][0].numpy() for name in "qkv")
    assert np.abs(k[:, 0, :2] - k[:, 1, :2]).max() == 0
    latents = np.concatenate([k[:, :, 2:], v], -1).reshape(TOKENS, -1)
    assert np.linalg.matrix_rank(latents, tol=1e-9) <= 5
    for head in range(2):
        rotated = rope(q[:, head, :2], interleaved=True) @ rope(k[:, head, :2], interleaved=True).T
        scores = (rotated + q[:, head, 2:] @ k[:, head, 2:].T) / np.sqrt(6)
        assert np.abs(softmax(scores) @ v[:, head] - y[:, head]).max() <= 1e-12


def branches(mixer: Spec, *, model_dim: int = 8) -> MixerBranches:
    candidate = loads(yaml.safe_dump({"model": {"model_dim": model_dim}, "blocks": [{"mixer": mixer}]}))
    return MixerBranches(candidate.blocks[0], candidate, seed=1, name="m", gain=1.0).double()


def test_diff_is_the_difference_of_two_softmax_maps_on_one_value() -> None:
    """arXiv 2410.05258: (softmax(q1 k1) - l softmax(q2 k2)) v, RMS per head; l starts at 0.8 - 0.6 e^(-0.3 depth)."""
    entry = get("diff").candidate
    for depth, block in enumerate(entry.blocks):
        assert block.mixer.weights == pytest.approx((1.0, -(0.8 - 0.6 * np.exp(-0.3 * depth))))
        assert block.mixer.shared_values
    one = entry.blocks[3].mixer.model_dump(mode="json", exclude_defaults=True)
    for branch in one["parallel"]:
        branch["heads"] |= {"num_heads": 2, "state_dim": 4, "head_dim": 6}
    layer = branches(one)
    x = torch.randn(1, TOKENS, 8, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    first, second = layer.mixers
    with torch.no_grad():
        y = layer(x)[0].numpy()
        raw, other = first.raw(x)[0], second.raw(x)[0]
        heads = []
        for head in range(2):
            maps = [
                softmax(rope(part["q"][0, :, head].numpy()) @ rope(part["k"][0, :, head].numpy()).T / np.sqrt(4))
                for part in (raw, other)
            ]
            weight = float(layer.weights[1])
            mixed = (maps[0] + weight * maps[1]) @ raw["v"][0, :, head].numpy()
            heads.append(rms(mixed, first.spec.io.norm_eps))
        wanted = first.output(torch.from_numpy(np.concatenate(heads, -1))).numpy()
    assert weight == pytest.approx(-(0.8 - 0.6 * np.exp(-0.9)))
    assert np.abs(y - wanted).max() <= 1e-10 * np.abs(wanted).max()
    assert "v" not in other


def test_vmamba_is_four_scans_of_permuted_tokens_added_up() -> None:
    """Rows, columns and both backwards of an image of 3 x 4 tokens; each scan is Mamba's recurrence."""
    entry = get("vmamba").candidate.blocks[0].mixer.model_dump(mode="json", exclude_defaults=True)
    assert sorted(entry["orders"]) == ["backward", "columns", "columns_backward", "forward"]
    for branch in entry["parallel"]:
        branch["heads"] |= {"num_heads": 6, "state_dim": 4}
    entry["row_length"] = 4
    layer = branches(entry)
    x = torch.randn(1, 12, 8, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    rows = np.arange(12)
    columns = rows.reshape(3, 4).T.reshape(-1)
    orders = {"forward": rows, "backward": rows[::-1], "columns": columns, "columns_backward": columns[::-1]}
    total = np.zeros((12, 8))
    with torch.no_grad():
        for name, mixer in zip(entry["orders"], layer.mixers, strict=True):
            order = orders[name].copy()
            raw, gate = mixer.raw(x[:, order])
            parameters = {key: one.detach().numpy() for key, one in mixer.signal.items()}
            channels = [mamba_channel(raw, parameters, channel) for channel in range(6)]
            assert gate is None
            out = mixer.output(torch.from_numpy(np.stack(channels, -1))).numpy()
            total[order] += out
        found = layer(x)[0].numpy()
    assert np.abs(found - total).max() <= 1e-10 * np.abs(total).max()


def mamba_channel(raw: dict[str, torch.Tensor], parameters: Arrays, channel: int) -> np.ndarray:
    arrays = {key: one[0, :, min(channel, one.shape[2] - 1)].numpy() for key, one in raw.items()}
    dt = softplus(arrays["gate"][:, 0] + parameters["gate_bias"][channel])
    x, rate = silu(arrays["v"][:, 0]), np.exp(parameters["decay_rate"][channel])
    state, outputs = np.zeros(rate.shape), []
    for t in range(len(x)):
        state = np.exp(-rate * dt[t]) * state + dt[t] * arrays["k"][t] * x[t]
        outputs.append(arrays["q"][t] @ state + parameters["skip"][channel] * x[t])
    return np.array(outputs)
