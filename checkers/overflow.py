"""Where exponentials overflow in each number format."""

import math
import sys
from types import MappingProxyType

from designspace.spec import Dtype

MAX_FLOAT16 = 65504.0
LOG_MAX: MappingProxyType[Dtype, float] = MappingProxyType(  # ln of the largest finite number
    {
        "float16": math.log(MAX_FLOAT16),
        "bfloat16": math.log(2.0**128 - 2.0**120),
        "float32": math.log(2.0**128 - 2.0**104),
        "float64": math.log(sys.float_info.max),
    }
)


def overflow_scores() -> str:
    """The overflow score of each format, for a message."""
    float16, float32 = LOG_MAX["float16"], LOG_MAX["float32"]
    return f"exp overflows at a score of {float16:.4g} in float16, {float32:.3g} in bfloat16 and float32"
