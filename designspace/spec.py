"""The base of every spec record, and the error its validators raise."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Positive = Annotated[float, Field(gt=0)]
Nonnegative = Annotated[float, Field(ge=0)]
Range = tuple[float, float]
Dtype = Literal["float32", "bfloat16", "float16", "float64"]


class Spec(BaseModel):
    """A frozen record of the spec file; unknown keys, NaN and infinities are errors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


def invalid(path: str, message: str) -> PydanticCustomError:
    """The error for a combination of fields that has no meaning.

    Args:
        path: the field at fault, relative to the record whose validator raises, such as `erase.rank`.
        message: what holds, what was given, and the remedy.
    """
    return PydanticCustomError("invalid_combination", "{message}", {"path": path, "message": message})


def check_range(path: str, value: Range | None, *, low: float = 0.0) -> None:
    """Raise unless `value` is an increasing pair of numbers not below `low`."""
    if value is None:
        return
    lower, upper = value
    if not low <= lower <= upper:
        raise invalid(path, f"`{path}` must be [lo, hi] with {low:g} <= lo <= hi, got [{lower:g}, {upper:g}].")
