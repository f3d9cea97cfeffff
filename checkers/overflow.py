"""Where exponentials overflow in each number format."""

from types import MappingProxyType

from designspace.rotation import Dtype

LOG_MAX: MappingProxyType[Dtype, float] = MappingProxyType(
    {"float16": 11.0899, "bfloat16": 88.7191, "float32": 88.7228, "float64": 709.7827}
)  # ln of the largest finite number
MAX_FLOAT16 = 65504.0


def overflow_scores() -> str:
    """The overflow score of each format, for a message."""
    return "exp overflows at a score of 11.09 in float16, 88.7 in bfloat16 and float32"
