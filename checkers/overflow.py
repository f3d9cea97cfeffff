"""What each number format holds: where exponentials overflow, how many bits count, and what a spec declares of it."""

import math
import sys
from types import MappingProxyType

from designspace.mixer import MixerSpec
from designspace.spec import Dtype

HALF: tuple[Dtype, ...] = ("float16", "bfloat16")
MAX_FLOAT16 = 65504.0
LOG_MAX: MappingProxyType[Dtype, float] = MappingProxyType(  # ln of the largest finite number
    {
        "float16": math.log(MAX_FLOAT16),
        "bfloat16": math.log(2.0**128 - 2.0**120),
        "float32": math.log(2.0**128 - 2.0**104),
        "float64": math.log(sys.float_info.max),
    }
)
SIGNIFICANT_BITS: MappingProxyType[Dtype, int] = MappingProxyType(
    {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
)


def overflow_scores() -> str:
    """The overflow score of each format, for a message."""
    float16, float32 = LOG_MAX["float16"], LOG_MAX["float32"]
    return f"exp overflows at a score of {float16:.4g} in float16, {float32:.3g} in bfloat16 and float32"


def spacing(value: float, dtype: Dtype) -> float:
    """Distance of neighbouring numbers of the format around `value` > 0."""
    return float(2.0 ** (math.floor(math.log2(value)) - SIGNIFICANT_BITS[dtype] + 1))


def largest_below_one(dtype: Dtype) -> float:
    """The largest number of the format below 1."""
    return float(1.0 - 2.0 ** -SIGNIFICANT_BITS[dtype])


def declares_dtypes(mixer: MixerSpec) -> bool:
    """The spec says in which formats the mixer runs; the default is no declaration."""
    return "dtype" in mixer.execution.model_fields_set
