"""What every reference script shares: the random draws, the layout of a golden file, and the command line."""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

GOLDEN = Path(__file__).parents[1]
RUNS = ((16, 0), (37, 1))  # (sequence length, seed) of the two files of each architecture


@dataclass(frozen=True)
class Case:
    """One run of a reference: `signals` and `y` with the axes of ../README.md (head first)."""

    reference: str
    signals: dict[str, Tensor]
    y: Tensor
    scalars: dict[str, Any] = field(default_factory=dict)

    @property
    def arrays(self) -> dict[str, Tensor]:
        """The arrays of the file."""
        return self.signals | {"y": self.y}

    @property
    def record(self) -> dict[str, Any]:
        """What `meta` says of this run alone."""
        return {"reference": self.reference, "heads": self.signals["q"].shape[0], "scalars": self.scalars}


@dataclass(frozen=True)
class LayerCase:
    """One run of a whole layer, from its pre-activations to the input of its output projection (../layers/README.md).

    Attributes:
        raw: pre-activations of the tokens, (T, streams, width), by the names of `designspace.streams`.
        parameters: by the same names.
        stage: `gate`, pre-activation of the output gate, and `weight`, `bias` of the output norm.
        latent: weights `norm` and `up` of the map from the latent vector to keys and values.
        y: (T, heads * head_dim).
        fields: sizes and constants that differ from the catalogue entry.
    """

    reference: str
    raw: dict[str, Tensor]
    parameters: dict[str, Tensor]
    y: Tensor
    fields: dict[str, Any]
    stage: dict[str, Tensor] = field(default_factory=dict)
    latent: dict[str, Tensor] = field(default_factory=dict)

    @property
    def arrays(self) -> dict[str, Tensor]:
        """The arrays of the file."""
        groups = {"raw": self.raw, "parameter": self.parameters, "stage": self.stage, "latent": self.latent}
        named = {f"{group}.{name}": one for group, members in groups.items() for name, one in members.items()}
        return named | {"y": self.y}

    @property
    def record(self) -> dict[str, Any]:
        """What `meta` says of this run alone."""
        return {"reference": self.reference, "fields": self.fields}


class Draw:
    """Inputs of one run: normal and uniform float32 draws with a stream of their own."""

    def __init__(self, seq_len: int, seed: int) -> None:
        self.seq_len = seq_len
        self.seed = seed
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal."""
        return torch.randn(shape, generator=self._generator)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Uniform in [low, high)."""
        return low + (high - low) * torch.rand(shape, generator=self._generator)


Reference = Callable[[Draw], Case]
LayerReference = Callable[[Draw], LayerCase]


def main(
    references: Mapping[str, Reference] | Mapping[str, LayerReference], packages: Sequence[str], folder: Path = GOLDEN
) -> None:
    """Writes two files for each reference named on the command line (all without a name).

    Args:
        references: by the name of the architecture, which is the name of the file.
        packages: distributions whose versions enter the record.
        folder: where the files go without `--out`.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="architectures; all without one")
    parser.add_argument("--out", type=Path, default=folder, help="folder of the npz files")
    arguments = parser.parse_args()
    versions = {name: version(name) for name in ("torch", *packages)}
    for name in arguments.names or references:
        for seq_len, seed in RUNS:
            with torch.no_grad():
                case = references[name](Draw(seq_len, seed))
            _write(arguments.out / f"{name}_T{seq_len}_s{seed}.npz", name, case, versions)


def _write(path: Path, architecture: str, case: Case | LayerCase, versions: dict[str, str]) -> None:
    meta = {"architecture": architecture, **case.record, "versions": versions}
    arrays = {name: tensor.detach().double().numpy() for name, tensor in case.arrays.items()}
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError(f"{path.name}: the reference or its inputs are not finite.")
    np.savez_compressed(path, meta=np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8), **arrays)
    print(f"{path.name}: {path.stat().st_size} bytes, max |y| {np.abs(arrays['y']).max():.3g}")


def head_first(x: Tensor, heads: int) -> Tensor:
    """[1, T, heads * width] or [1, T, heads, width] to [heads, T, width]."""
    return x.reshape(x.shape[1], heads, -1).transpose(0, 1).contiguous()


def token_first(x: Tensor) -> Tensor:
    """[heads, T, ...] to [1, T, heads, ...]."""
    return x.transpose(0, 1)[None].contiguous()


def unit(x: Tensor) -> Tensor:
    """x / |x|."""
    return x / x.norm(dim=-1, keepdim=True)
