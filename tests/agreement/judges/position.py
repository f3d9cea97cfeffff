"""P3: permuting the past, of a mixer and of the whole stack, and the lean of the additive score path."""

import math

import torch

from designspace.candidate import Candidate
from tests.agreement.cases import mixer_case
from tests.agreement.judge import DRAWS, EXACT, Found, Judge, Reading, fails_where, missing, steered
from workers.initial import normal, random_parameters
from workers.probes.permutation import permutation_effect

JITTER = 0.3  # radians, of learned angles
BLIND = {
    "decay": {"granularity": "none"},
    "rotation": {"source": "none"},
    "erase": {"direction": "none"},
    "shear": {"source": "none"},
    "lift": {"kind": "none"},
    "scaling": {"gate": "none", "query_schedule": "none"},
    "support": {"window": None, "chunk": None, "mask": "causal"},
    "io": {"short_conv": {"width": 0, "on": ()}},
}


@torch.inference_mode()
def blind(found: Found) -> Reading:
    """CD301: the output of the mixer does not change when the tokens before the last one are permuted.

    Parameters are random ones: learned angles and tables may start at 0.
    """
    mixer, changes = found.subject, []
    for draw in range(DRAWS):
        module = mixer.mixer(mixer.small, draw)
        for name, value in random_parameters(mixer.small, seed=draw).items():
            jitter = normal(tuple(value.shape), seed=draw, name=f"jitter {name}")
            module.signal[name].copy_(value + (JITTER * jitter if name == "angle" else 0.0))
        changes.append(
            permutation_effect(module, mixer.tokens(mixer.small, draw, mixer.length), seed=mixer.draw_seed(draw))
        )
    if not all(map(math.isfinite, changes)):
        return missing("finite outputs")
    return fails_where(max(changes) <= EXACT, f"the last output changes by {max(changes):.3g}")


def far_keys(found: Found) -> Reading:
    """CD302: the additive score of a key rises with its distance."""
    lean = found.value("far_key_bias")
    if lean is None:
        return missing("far_key_bias")
    return fails_where(lean > EXACT, f"{lean:+.3g} per step")


def one_mixer(number: int) -> Candidate:
    """A random mixer at the length of the probe."""
    return mixer_case(number, seq_len=64)


JUDGES = {
    "position-blind": Judge(blind, draw=one_mixer, steers=steered(BLIND, seq_len=64)),
    "bias-grows-with-distance": Judge(
        far_keys,
        ("distance_bias",),
        steers=steered(
            {"readout": {"kind": "exponential"}, "shear": {"source": "constant"}, "lift": {"kind": "none"}},
            {"readout": {"kind": "sigmoid"}, "shear": {"source": "input"}, "lift": {"kind": "none"}},
        ),
    ),
}
