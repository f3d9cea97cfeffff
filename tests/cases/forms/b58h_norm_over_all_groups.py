"""B58h: the output norm takes all state groups together, where each group has a norm of its own."""

from torch import Tensor
from torch.nn import functional as F

from tests.cases.faulty import Faulty


def over_all_groups(self: object, y: Tensor) -> Tensor:
    """The root mean square of all heads of a token."""
    del self
    return F.rms_norm(y.flatten(2), (y.shape[2] * y.shape[3],)).view_as(y)


faulty = Faulty(
    record="B58h",
    title="the group norm is taken over all groups",
    spec={
        "mixer": {
            "decay": {"granularity": "scalar", "map": "exp_softplus", "initial": [0.9, 0.999]},
            "heads": {"num_heads": 4, "state_dim": 16, "head_dim": 16, "kv_groups": 2},
            "io": {"output_norm": "group_rms"},
        }
    },
    replaces={"workers.mixer._OutputNorm.forward": over_all_groups},
    quantity="norm_deviation.output",
    probes=("norms", "forms"),
    names=("CD701",),
)
