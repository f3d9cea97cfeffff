"""Execution: how the function is computed. It never makes a new candidate and stands outside the fingerprint."""

from typing import Literal

from designspace.spec import Dtype, Spec


class Dtypes(Spec):
    """Number formats of parameters, recurrent state and scores."""

    params: Dtype = "float32"
    state: Dtype = "float32"
    scores: Dtype = "float32"


class Execution(Spec):
    """`stabiliser`: what keeps exponentials finite. row_max: the row maximum is subtracted; running_max: the same in a
    recurrence; floor: scores are shifted by a fixed floor; none: nothing.
    """

    form: Literal["auto", "quadratic", "recurrent", "chunked", "scan", "fft", "fused"] = "auto"
    stabiliser: Literal["row_max", "running_max", "floor", "none"] = "row_max"
    dtype: Dtypes = Dtypes()
