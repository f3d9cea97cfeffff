"""Seconds for forward and backward of the erase family: the dense triangular form beside the recurrence, per length.

Run `python benchmarks/dense_erase.py [--lengths 128 256 512] [--repeats 3]`. Batch 8, 4 heads, keys and values of 32
channels, one thread, float32: the sizes of catalogue.md section 2.6, which reports 7 to 16 times.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace

import torch

from designspace.mixer import MixerSpec
from workers.form import Form
from workers.forms import quadratic, recurrent
from workers.realise import random_signals
from workers.signals import Signals

BATCH, NUM_HEADS, DIM = 8, 4, 32
DECAYS = {"deltanet": "none", "gated_deltanet": "scalar", "kda": "diagonal"}


def delta_rule(granularity: str) -> MixerSpec:
    """The delta rule with unit keys and a decay of the given granularity."""
    return MixerSpec.model_validate(
        {
            "decay": {"granularity": granularity, "initial": [0.9, 0.999]},
            "erase": {"direction": "key"},
            "scaling": {"gate": "tied_to_erase"},
            "features": {"map": "silu", "norm": "l2"},
            "heads": {"num_heads": NUM_HEADS, "state_dim": DIM, "head_dim": DIM},
        }
    )


def seconds(form: Form, spec: MixerSpec, signals: Signals, repeats: int) -> float:
    """Best time of one forward and backward pass."""
    q, k = (x.detach().requires_grad_() for x in (signals.q, signals.k))
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        output = form.apply(spec, replace(signals, q=q, k=k))
        torch.autograd.grad(output.square().sum(), (q, k))
        found.append(time.perf_counter() - start)
    return min(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per mixer and length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print(f"{'mixer':16s}{'length':>8s}{'recurrent s':>14s}{'dense s':>10s}{'ratio':>8s}")
    for name, granularity in DECAYS.items():
        spec = delta_rule(granularity)
        for seq_len in options.lengths:
            signals = random_signals(spec, seed=0, batch=BATCH, seq_len=seq_len, dtype=torch.float32)
            slow = seconds(recurrent.form, spec, signals, options.repeats)
            fast = seconds(quadratic.form, spec, signals, options.repeats)
            print(f"{name:16s}{seq_len:8d}{slow:14.3f}{fast:10.3f}{slow / fast:8.1f}")


if __name__ == "__main__":
    main()
