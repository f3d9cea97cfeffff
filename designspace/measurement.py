"""Measured evidence about a candidate: made by `workers.probe`, read by `checkers.check`."""

from typing import Annotated

from pydantic import Field

from designspace.spec import Count, Spec


class Measurement(Spec):
    """One probe of one mixer.

    `quantity` names what was measured (such as `score_std`), `unit` is empty where it is dimensionless, and
    `uncertainty` is the half-width of a 95 % interval of a mean over `draws` (each a seed of its own for weights and
    tokens); 0 where the largest or smallest of the draws is reported, or the measurement is exact. `length` is the
    number of tokens it was measured at, null where no length enters.
    """

    probe: str
    quantity: str
    path: str
    value: float
    uncertainty: Annotated[float, Field(ge=0)]
    unit: str = ""
    draws: Annotated[int, Field(ge=1)]
    seed: int
    length: Count | None = None
