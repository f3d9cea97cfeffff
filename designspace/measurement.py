"""Measured evidence about a candidate: made by `workers.probe`, read by `checkers.check`."""

from typing import Annotated

from pydantic import Field

from designspace.spec import Spec


class Measurement(Spec):
    """One probe of one mixer.

    `quantity` names what was measured (such as `score_std`), `unit` is empty where it is dimensionless, and
    `uncertainty` is the half-width of a 95 % interval over random draws, 0 where the measurement is exact.
    """

    probe: str
    quantity: str
    path: str
    value: float
    uncertainty: Annotated[float, Field(ge=0)]
    unit: str = ""
    draws: Annotated[int, Field(ge=1)]
    seed: int
