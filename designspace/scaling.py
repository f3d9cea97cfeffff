"""b_j, the scaling: how strongly a key enters. Source: arXiv 2510.09389, principle 5."""

import math
from typing import Literal, Self

from pydantic import model_validator

from designspace.spec import Positive, Range, Spec, check_range, invalid

QUERY_SCHEDULE_FLOOR = 8192  # positions per step of the log schedule (Llama 4)
QUERY_SCHEDULE_SLOPE = 0.1
DT_INITIAL = (1.0e-3, 1.0e-1)  # step sizes at initialisation where none are declared (Mamba, arXiv 2312.00752)

Gate = Literal[
    "none",
    "sigmoid",
    "two_sigmoid",  # 2 sigmoid(x)
    "exp",  # exp(x), softly capped at `cap` (xLSTM, arXiv 2405.04517)
    "dt",  # softplus(x), the step size the decay uses too (Mamba)
    "step_power",  # softplus(x)^tau per key channel, with the x and tau of `exp_softplus_tau` (Rodimus)
    "complement",  # 1 - a
    "sqrt_1_minus_a2",  # sqrt(1 - a^2) (LRU, Griffin)
    "tied_to_erase",  # beta of the erase (delta rule)
    "exp_key",  # exp of a key logit (RWKV-4)
    "index",  # 1 / j (HiPPO-LegS)
]


class Scaling(Spec):
    """b_j = base * gate_j, with gate_j >= 0.

    `base` is 1 / sqrt(n), 1 / n (muP) or a number; `learnable`: the base is only the initial value. `where` the base is
    applied: to q, k or the score it is the same function, `after` multiplies the coefficient after phi.
    `query_schedule: log`: the score of query i grows by 1 + 0.1 log(1 + floor((i + 1) / 8192)) (Llama 4). `initial`
    bounds the gate at initialisation (dt in Mamba: [0.001, 0.1]).
    """

    base: Positive | Literal["n^-1/2", "n^-1"] = "n^-1/2"
    learnable: bool = False
    where: Literal["q", "k", "score", "after"] = "score"
    gate: Gate = "none"
    cap: Positive | None = None
    query_schedule: Literal["none", "log"] = "none"
    initial: Range | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range("initial", self.initial)
        if self.cap is not None and self.gate not in ("exp", "exp_key"):
            raise invalid("cap", f"`cap` limits an exponential gate; it has no meaning with `gate: {self.gate}`.")
        if self.initial is not None and self.gate not in ("sigmoid", "two_sigmoid", "exp", "exp_key", "dt"):
            raise invalid("initial", f"`initial` is the first range of a gate; `gate: {self.gate}` has none.")
        return self

    def factor(self, state_dim: int) -> float:
        """The constant base for keys of `state_dim` channels."""
        match self.base:
            case "n^-1/2":
                return float(state_dim**-0.5)
            case "n^-1":
                return 1.0 / state_dim
            case number:
                return number

    def query_factor(self, position: int) -> float:
        """What `query_schedule` multiplies the scores of the query at `position` by; the first stands at 1."""
        return 1.0 if self.query_schedule == "none" else log_schedule(position)

    @property
    def reads_input(self) -> bool:
        """b_j depends on the token."""
        return self.gate not in ("none", "index")


def log_schedule(position: int) -> float:
    """1 + 0.1 log(1 + floor(position / 8192)); the first query stands at 1. Source: Llama 4."""
    return 1.0 + QUERY_SCHEDULE_SLOPE * math.log1p(position // QUERY_SCHEDULE_FLOOR)
