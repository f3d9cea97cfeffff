"""The judge of every rule that a probe can hold against; rules that none can are in `unprobed`."""

from types import MappingProxyType

from tests.agreement.judge import Judge
from tests.agreement.judges import depth, growth, memory, numerics, operations, position, scale, selectivity, shape

JUDGES: MappingProxyType[str, Judge] = MappingProxyType(
    {
        **memory.JUDGES,
        **selectivity.JUDGES,
        **position.JUDGES,
        **operations.JUDGES,
        **scale.JUDGES,
        **growth.JUDGES,
        **depth.JUDGES,
        **numerics.JUDGES,
        **shape.JUDGES,
    }
)
