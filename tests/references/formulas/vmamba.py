"""Verified by the explicit sum over the past of Mamba, four times on the tokens in another order.

Liu et al., 2024, arXiv 2401.10166: SS2D adds four S6 (arXiv 2312.00752, algorithm 2) that read the image by rows, by
columns and both backwards, each with its own projections.
"""

import torch
from torch import Tensor

from designspace.composition import Parallel
from tests.references.formulas.mamba import selective_scan
from tests.references.harness import Raw

SMALL = {"row_length": 4}  # several columns, and an incomplete last row


def formula(mixer: Parallel, raw: Raw, parameters: Raw) -> Tensor:
    seq_len, width = raw["0.v"].shape[1], mixer.row_length or 1
    rows = list(range(seq_len))
    columns = sorted(rows, key=lambda position: (position % width, position // width))
    outputs = []
    for branch, order in enumerate((rows, columns, rows[::-1], columns[::-1])):
        mine = {name: of_branch(raw, branch, name)[:, order] for name in ("q", "k", "v", "gate")}
        own = {name: of_branch(parameters, branch, name) for name in ("gate_bias", "decay_rate", "skip")}
        y = selective_scan(mine["q"], mine["k"], mine, own)
        outputs.append(torch.zeros_like(y).index_copy(1, torch.tensor(order), y))
    return torch.stack(outputs).sum(0)


def of_branch(numbers: Raw, branch: int, name: str) -> Tensor:
    """The entry of a branch."""
    return numbers[f"{branch}.{name}"]
