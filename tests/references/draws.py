"""Random pre-activations and parameters for the comparisons."""

from collections.abc import Mapping

import torch
from torch import Tensor

from designspace.mixer import MixerSpec
from designspace.streams import raw_shapes
from workers.initial import normal, random_parameters

Raw = Mapping[str, Tensor]
BATCH = 2
SHIFTED = ("decay_rate", "angle")  # and every bias: `random_parameters` leaves them at their first values
SHIFT_STD = 0.3


def draw(mixer: MixerSpec, *, seed: int, seq_len: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Normal pre-activations [batch, seq_len * steps, streams, width] and random parameters, float64.

    No parameter stays where it starts, so that a formula cannot leave one out.
    """
    generator = torch.Generator().manual_seed(seed)
    raw = {
        name: torch.randn(
            BATCH, seq_len * shape.steps, shape.heads, shape.width, generator=generator, dtype=torch.float64
        )
        for name, shape in raw_shapes(mixer).items()
    }
    return raw, _moved(random_parameters(mixer, seed=seed), seed)


def _moved(parameters: Raw, seed: int) -> dict[str, Tensor]:
    found = {name: value.double() for name, value in parameters.items()}
    for name, value in found.items():
        if name in SHIFTED or name.endswith("_bias"):
            found[name] = value + SHIFT_STD * normal(tuple(value.shape), seed=seed, name=f"moved {name}")
    return found
