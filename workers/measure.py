"""What a trained model scores on a set of sequences."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workers.task import IGNORED


@dataclass(frozen=True)
class Scores:
    """Means over all scored positions of a set.

    `loss` is the cross entropy in nats, `accuracy` the share of right answers (micro), `accuracy_macro` the mean over
    the answers that occur of the share of each that was recognised. Scikit-learn calls the last balanced accuracy; MAD
    computes it per batch of 128 sequences, counts a class that is predicted but never due as 0, and averages the
    batches, which is lower and depends on the batch size.
    """

    loss: float
    accuracy: float
    accuracy_macro: float


@torch.inference_mode()
def measure(model: nn.Module, inputs: Tensor, targets: Tensor, *, batch_size: int) -> Scores:
    """Scores of `model` on int64 `inputs` and `targets` [size, positions]; positions with target -100 do not count."""
    model.eval()
    loss, asked, answered = 0.0, [], []
    for chunk, due in zip(torch.split(inputs, batch_size), torch.split(targets, batch_size), strict=True):
        logits = model(chunk).float()
        loss += float(F.cross_entropy(logits.flatten(0, 1), due.flatten(), ignore_index=IGNORED, reduction="sum"))
        scored = due != IGNORED
        asked.append(due[scored])
        answered.append(logits.argmax(dim=-1)[scored])
    model.train()
    due_all, said = torch.cat(asked).cpu().numpy(), torch.cat(answered).cpu().numpy()
    return Scores(
        loss=loss / len(due_all),
        accuracy=float((due_all == said).mean()),
        accuracy_macro=balanced_accuracy(due_all, said),
    )


def balanced_accuracy(due: npt.NDArray[np.int64], said: npt.NDArray[np.int64]) -> float:
    """Mean over the classes in `due` of the share of each that `said` recognises."""
    occurring = np.bincount(due)
    recognised = np.bincount(due[due == said], minlength=len(occurring))
    present = occurring > 0
    return float((recognised[present] / occurring[present]).mean())
