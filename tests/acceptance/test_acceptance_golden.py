"""The golden files, from independent specs and from alpha written out in numpy."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from given import ROOT, SOFTMAX, SUM, Spec, candidate, in_single, merged

from designspace.mixer import MixerSpec
from workers.coefficients import coefficients, outputs
from workers.forms import quadratic, recurrent
from workers.signals import Signals

GOLDEN = ROOT / "tests" / "golden"
SCALAR = {"granularity": "scalar", "source": "input", "map": "sigmoid"}
DIAGONAL = {**SCALAR, "granularity": "diagonal"}
CONSTANT = {"granularity": "scalar", "source": "constant", "map": "fixed", "range": [0.5, 0.99]}
ROPE = {"source": "constant"}
WRITE_BETA = {"base": "n^-1/2", "gate": "tied_to_erase"}
MINE: dict[str, Spec] = {  # what tests/golden/README.md says of each architecture, as a spec
    "softmax_nope": SOFTMAX,
    "softmax_unscaled": merged(SOFTMAX, {"scaling": {"base": 1.0}}),
    "softmax_rope_half": merged(SOFTMAX, {"rotation": {**ROPE, "pairing": "half"}}),
    "softmax_rope_interleaved": merged(SOFTMAX, {"rotation": {**ROPE, "pairing": "interleaved"}}),
    "softmax_rope_partial": merged(SOFTMAX, {"rotation": {**ROPE, "pairing": "half", "fraction": 0.5}}),
    "softmax_alibi": merged(SOFTMAX, {"shear": {"source": "constant"}}),
    "softmax_softcap": merged(SOFTMAX, {"readout": {"softcap": 5.0}}),
    "softmax_sink": merged(SOFTMAX, {"normalization": {"kind": "sum_with_sink"}}),
    "fox": merged(SOFTMAX, {"shear": {"source": "input"}}),
    "path_fox": merged(SOFTMAX, {"shear": {"source": "input"}, "erase": {"direction": "free", "gain": [0.0, 2.0]}}),
    "sigmoid_attn": {"readout": {"kind": "sigmoid"}, "scaling": {"base": "n^-1/2"}},
    "relu2_attn": {"readout": {"kind": "relu", "power": 2}, "scaling": {"base": "n^-1/2"}},
    "based": {"readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]}, "normalization": SUM},
    "rebased": {"readout": {"kind": "polynomial", "coefficients": [0.0, 0.0, 1.0]}, "normalization": SUM},
    "linear": {"scaling": {"base": 1.0}},
    "linear_elu_norm": {"features": {"map": "elu+1"}, "scaling": {"base": 1.0}, "normalization": SUM},
    "retnet": {"decay": CONSTANT},  # the angle is zero in the file
    "retnet_rope": {"decay": CONSTANT, "rotation": {**ROPE, "pairing": "half"}},
    "simple_gla": {"decay": SCALAR},
    "gla": {"decay": DIAGONAL},
    "hgrn2": {"decay": DIAGONAL},
    "mamba": {"decay": DIAGONAL, "scaling": {"base": 1.0, "gate": "sigmoid"}, "support": {"diagonal": "D"}},
    "mamba2": {"decay": SCALAR, "scaling": {"base": 1.0, "gate": "sigmoid"}, "support": {"diagonal": "D"}},
    "mamba3_siso": {
        "decay": SCALAR,
        "rotation": {"source": "input", "pairing": "interleaved", "fraction": 0.5},
        "lift": {"kind": "delay1"},
        "scaling": {"base": 1.0, "gate": "sigmoid"},
        "support": {"diagonal": "D"},
    },
    "mlstm_exp": {"decay": SCALAR, "scaling": {"gate": "exp"}, "normalization": {"kind": "max_abs_sum_1"}},
    "mlstm_sig": {"decay": SCALAR, "scaling": {"gate": "sigmoid"}, "normalization": {"kind": "max_abs_sum_1"}},
    "rg_lru": {"decay": SCALAR, "scaling": {"base": 1.0, "gate": "sqrt_1_minus_a2"}, "features": {"map": "ones"}},
    "rwkv4": {
        "decay": {**SCALAR, "source": "learned"},
        "features": {"map": "ones"},
        "scaling": {"base": 1.0, "gate": "exp_key"},
        "normalization": SUM,
        "support": {"read": "before", "diagonal": "bonus"},
    },
    "rwkv6": {"decay": DIAGONAL, "scaling": {"base": 1.0}, "support": {"read": "before", "diagonal": "bonus"}},
    "rwkv7": {
        "decay": DIAGONAL,
        "scaling": {"base": 1.0},
        "erase": {"direction": "free", "per_channel": True, "compose": "additive"},
    },
    "deltanet": {"erase": {"direction": "key"}, "scaling": WRITE_BETA},
    "gated_deltanet": {"decay": SCALAR, "erase": {"direction": "key"}, "scaling": WRITE_BETA},
    "gated_deltaproduct": {"decay": SCALAR, "erase": {"direction": "key", "rank": 2}, "scaling": WRITE_BETA},
    "kda": {"decay": DIAGONAL, "erase": {"direction": "key"}, "scaling": WRITE_BETA},
    "comba": {"decay": SCALAR, "erase": {"direction": "key_scaled"}, "scaling": WRITE_BETA},
    "gdn2": {"decay": DIAGONAL, "erase": {"direction": "key", "per_channel": True}},
}
LOOSE = {"retnet", "mamba2", "mamba3_siso"}


def golden(name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with np.load(GOLDEN / f"{name}.npz") as file:
        meta = json.loads(file["meta"].tobytes())
        return {key: file[key].astype(np.float64) for key in file.files if key != "meta"}, meta


def golden_case(file: str) -> tuple[MixerSpec, Signals, torch.Tensor]:
    """My spec, the signals of the file with (head, position) as (1, position, head), and its output."""
    arrays, meta = golden(file)
    architecture = meta["architecture"]
    spec = MINE[architecture]
    if architecture == "rwkv4":  # channel-wise: q = k = 1, exp(key) is the gate, exp(-r) the decay
        ones = np.ones_like(arrays["v"])
        arrays |= {"q": ones, "k": ones, "gate": np.exp(arrays["key_logit"])}
        arrays |= {"a": np.exp(-arrays["decay_rate"])[:, None], "bonus": np.exp(arrays["bonus_logit"])[:, None]}
    heads, steps, n = arrays["k"].shape
    tokens = arrays["y"].shape[1]
    spec = merged(spec, {"heads": {"num_heads": heads, "state_dim": n, "head_dim": arrays["v"].shape[-1]}})
    if "eps" in arrays:
        spec = merged(spec, {"normalization": {"eps": float(arrays["eps"][0])}})
    if "window" in arrays:
        spec = merged(spec, {"support": {"window": int(arrays["window"][0])}})

    def tensor(name: str, width: bool = False) -> torch.Tensor | None:
        if name not in arrays:
            return None
        one = arrays[name]
        if name in ("a", "ang") and (one.shape[1] == 1 or (name == "ang" and one.ndim == 2)):  # constant in time
            one = np.broadcast_to(
                one[:, None] if name == "ang" else one, (heads, tokens, *one.shape[2 - (name == "ang") :])
            )
        one = one[..., None] if width and one.ndim == 2 else one
        return torch.from_numpy(np.ascontiguousarray(np.swapaxes(one, 0, 1)))[None]

    rank = steps // tokens
    decay = tensor("a", width=True)
    signals = Signals(
        q=tensor("q")[:, rank - 1 :: rank],
        k=tensor("k"),
        v=tensor("v"),
        log_decay=None if decay is None else decay.log(),
        angle=tensor("ang") if "rotation" in spec else None,
        gain=tensor("beta", width=True),
        direction=tensor("kap"),
        second=tensor("p"),
        shear=tensor("shear"),
        gate=tensor("gate"),
        tap=tensor("tap"),
        bonus=torch.from_numpy(arrays["bonus"]) if "bonus" in arrays else None,
        skip=torch.from_numpy(arrays["D"]) if "D" in arrays else None,
        sink=torch.from_numpy(arrays["sink"]) if "sink" in arrays else None,
    )
    y = torch.from_numpy(np.ascontiguousarray(np.swapaxes(arrays["y"], 0, 1)))[None]
    return candidate({"mixer": spec}).blocks[0].mixers[0], signals, y


def relative(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((found.double() - wanted).abs().max() / wanted.abs().max())


GOLDEN_FILES = sorted(path.stem for path in GOLDEN.glob("*.npz") if path.stem.partition("_T")[0] in MINE)


def test_golden_files_are_those_of_the_design_folder() -> None:
    assert len({golden(file)[1]["architecture"] for file in GOLDEN_FILES}) == 36
    assert {golden(file)[1]["architecture"] for file in GOLDEN_FILES} == set(MINE)


@pytest.mark.parametrize("file", GOLDEN_FILES)
def test_golden_file_from_my_spec_by_coefficients_and_forms(file: str) -> None:
    spec, signals, y = golden_case(file)
    assert relative(outputs(spec, signals), y) <= 1e-6
    architecture = golden(file)[1]["architecture"]
    limit = 1e-4 if architecture in LOOSE else 5e-5
    single = in_single(signals)
    assert relative(quadratic.form.apply(spec, single), y) <= limit
    finite = spec.is_finite_memory and spec.support.window is None
    if recurrent.form.invalid_reason(spec) is None:
        assert finite
        assert relative(recurrent.form.apply(spec, single), y) <= limit
    else:
        assert not finite


def turned(angles: np.ndarray, pairs: list[tuple[int, int]], n: int) -> np.ndarray:
    """R(-w): [[cos w, sin w], [-sin w, cos w]] on each pair."""
    matrix = np.eye(n)
    for w, (first, second) in zip(angles, pairs, strict=True):
        matrix[first, first] = matrix[second, second] = math.cos(w)
        matrix[first, second], matrix[second, first] = math.sin(w), -math.sin(w)
    return matrix


def alpha_by_hand(
    q: np.ndarray,
    k: np.ndarray,
    *,
    step: np.ndarray,
    write: np.ndarray,
    phi: Callable[[float], float] = lambda z: z,
    shear: np.ndarray | None = None,
    eta: Callable[[np.ndarray], float] = lambda _: 1.0,
) -> np.ndarray:
    """alpha_ij = phi(q_i . A_i ... A_(j+1) b_j k_j + sum of shear) / eta_i for one head.

    Args:
        q: (tokens, n); so is k.
        step: A_t, (tokens, n, n).
        write: b_t, (tokens,).
        shear: what each step adds to the score, (tokens,).
        eta: the divisor of a row, from its phi.
    """
    tokens = len(q)
    alpha = np.zeros((tokens, tokens))
    for i in range(tokens):
        for j in range(i + 1):
            stored = write[j] * k[j]
            for t in range(j + 1, i + 1):
                stored = step[t] @ stored
            score = q[i] @ stored + (0.0 if shear is None else shear[j + 1 : i + 1].sum())
            alpha[i, j] = phi(score)
        alpha[i] /= eta(alpha[i, : i + 1])
    return alpha


def by_hand(architecture: str, arrays: dict[str, np.ndarray], head: int) -> np.ndarray:
    """alpha of one head of a golden file, (tokens, tokens)."""
    one = {key: value[head] for key, value in arrays.items()}
    q, k = one["q"], one["k"]
    tokens, n = q.shape
    still, root = np.tile(np.eye(n), (tokens, 1, 1)), np.full(tokens, n**-0.5)
    match architecture:
        case "fox":
            return alpha_by_hand(q, k, step=still, write=root, phi=math.exp, shear=one["shear"], eta=np.sum)
        case "gated_deltanet":
            triples = zip(one["a"], one["beta"], k, strict=True)
            steps = [a * (np.eye(n) - beta * np.outer(key, key)) for a, beta, key in triples]
            return alpha_by_hand(q, k, step=np.stack(steps), write=one["beta"] * root)
        case "mamba":
            steps = [np.diag(a) for a in one["a"]]
            return alpha_by_hand(q, k, step=np.stack(steps), write=one["gate"]) + float(one["D"]) * np.eye(tokens)
        case "based":
            eps = float(one["eps"])
            second_order = lambda z: 1 + z + z * z / 2  # noqa: E731
            return alpha_by_hand(q, k, step=still, write=root, phi=second_order, eta=lambda row: row.sum() + eps)
        case "mlstm_exp":
            steps = [a * np.eye(n) for a in one["a"]]
            at_least_1 = lambda row: max(abs(row.sum()), 1.0)  # noqa: E731
            return alpha_by_hand(q, k, step=np.stack(steps), write=one["gate"] * root, eta=at_least_1)
        case "rwkv7":  # rotation*decay - erase, erase = outer(beta * kap, kap)
            kap = one["kap"]
            steps = [np.diag(a) - np.outer(b * key, key) for a, b, key in zip(one["a"], one["beta"], kap, strict=True)]
            return alpha_by_hand(q, k, step=np.stack(steps), write=np.ones(tokens))
        case "retnet_rope":
            pairs = [(m, m + n // 2) for m in range(n // 2)]
            return alpha_by_hand(q, k, step=float(one["a"][0]) * turned(one["ang"], pairs, n) @ still, write=root)
    raise AssertionError(architecture)


@pytest.mark.parametrize(
    "architecture", ["fox", "gated_deltanet", "mamba", "based", "mlstm_exp", "rwkv7", "retnet_rope"]
)
def test_coefficients_are_those_of_my_numpy_formula(architecture: str) -> None:
    file = f"{architecture}_T16_s0"
    arrays, _ = golden(file)
    spec, signals, _ = golden_case(file)
    found = coefficients(spec, signals)[0].numpy()
    for head in range(found.shape[0]):
        mine = by_hand(architecture, arrays, head)
        assert np.abs(found[head] - mine).max() <= 1e-12 * max(1.0, np.abs(mine).max())
        assert np.abs(mine @ arrays["v"][head] - arrays["y"][head]).max() <= 1e-6 * np.abs(arrays["y"][head]).max()
