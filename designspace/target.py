"""The context a candidate is judged in."""

from typing import Annotated, Literal

from pydantic import Field

from designspace.spec import Count, Dtype, Spec

Need = Literal["recall", "copying", "state_tracking", "long_memory", "compression"]
MAX_SEQ_LEN = 1_048_576


class Target(Spec):
    """Length, number format and purpose; rules read it, the fingerprint does not."""

    seq_len: Annotated[int, Field(ge=1, le=MAX_SEQ_LEN)] = 2048
    dtype: Dtype = "bfloat16"
    needs: tuple[Need, ...] = ()
    recall_pairs: Count | None = None
    linear_time: bool = False
    provenance: Literal["new", "checkpoint"] = "new"
    task: Literal["sequence", "set"] = "sequence"
    parametrisation: Literal["standard", "mup"] = "standard"
