"""Layers with several mixers: random numbers for their branches, and the merged output of the module that models use.

Names carry the number of the branch: `0.q`, `1.decay_bias`; `weights` are those of the branches.
"""

import torch
from torch import Tensor, nn

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.composition import Parallel
from tests.references.draws import Raw
from tests.references.draws import draw as draw_branch
from workers.mixer import Mixer
from workers.model import MixerBranches


def draw(parallel: Parallel, *, seed: int, seq_len: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Pre-activations and parameters of every branch; with shared values only the first has any."""
    raw: dict[str, Tensor] = {}
    parameters: dict[str, Tensor] = {}
    for branch, mixer in enumerate(parallel.parallel):
        own_raw, own_parameters = draw_branch(mixer, seed=1000 * branch + seed, seq_len=seq_len)
        borrowed = ("v", "v_gate") if parallel.shared_values and branch else ()
        raw |= {f"{branch}.{name}": value for name, value in own_raw.items() if name not in borrowed}
        parameters |= {f"{branch}.{name}": value for name, value in own_parameters.items()}
    if parallel.learnable_weights:
        generator = torch.Generator().manual_seed(seed)
        parameters["weights"] = torch.randn(len(parallel.parallel), generator=generator, dtype=torch.float64)
    return raw, parameters


def merged(parallel: Parallel, raw: Raw, parameters: Raw) -> Tensor:
    """y [batch, seq_len, num_heads, head_dim] of `MixerBranches` in float64.

    The input of the module holds the pre-activations side by side, its projections pick them out, and nothing follows
    the sum over the sources.
    """
    x = torch.cat([part.flatten(2) for part in raw.values()], dim=-1)
    candidate = Candidate(name="composition", model=ModelSpec(model_dim=x.shape[-1]), blocks=(Block(mixer=parallel),))
    module = MixerBranches(candidate.blocks[0], candidate, seed=0, name="mixer", gain=1.0).double()
    for branch, mixer in enumerate(module.mixers):
        if isinstance(mixer, Mixer):
            _prepare(mixer, branch, raw, parameters)
    if "weights" in parameters:
        module.weights = nn.Parameter(parameters["weights"])
    heads = parallel.parallel[0].heads
    with torch.no_grad():
        y: Tensor = module(x)
    return y.reshape(*y.shape[:2], heads.num_heads, heads.head_dim)


def _prepare(mixer: Mixer, branch: int, raw: Raw, parameters: Raw) -> None:
    """Projection: rows of the identity. Parameters: as drawn. Output stage and projection: none."""
    sizes = {name: part.shape[2] * part.shape[3] for name, part in raw.items()}
    offsets = dict(zip(sizes, torch.tensor([0, *sizes.values()]).cumsum(0).tolist(), strict=False))
    eye = torch.eye(sum(sizes.values()), dtype=torch.float64)
    picked = [f"{branch}.{name}" for name in mixer.shapes]
    rows = [eye[offsets[name] : offsets[name] + sizes[name]] for name in picked]
    mixer.projection.weight = nn.Parameter(torch.cat(rows))
    for name in mixer.signal:
        mixer.signal[name] = nn.Parameter(parameters[f"{branch}.{name}"])
    mixer.add_module("stage", _Flat())
    mixer.add_module("output", nn.Identity())


class _Flat(nn.Module):
    """Heads side by side, unchanged."""

    def forward(self, y: Tensor, gate: Tensor | None) -> Tensor:  # noqa: ARG002
        return y.flatten(2)
