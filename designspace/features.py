"""Feature map and norm of queries and keys; they act before A and phi and are not part of phi."""

from typing import Literal, Self, assert_never

from pydantic import model_validator

from designspace.spec import Count, Nonnegative, Positive, Spec, invalid

MapName = Literal[
    "identity",
    "silu",
    "relu",
    "relu_zero",  # [relu(x), 0], twice as wide: a rotation then multiplies scores by a cosine (cosFormer, 2202.08791)
    "elu+1",  # arXiv 2006.16236
    "softmax_pm",  # softmax([x, -x]) (Hedgehog, arXiv 2402.04347)
    "hadamard",  # product of two linear maps
    "dpfp",  # arXiv 2102.11174, `width` = nu
    "taylor2",  # q.k becomes 1 + z + z^2 / 2 with z = n^-1/2 q.k (Based, arXiv 2402.18668)
    "favor",  # positive random features (Performer, arXiv 2009.14794), `width` = m
    "rff",  # random Fourier features (RFA, arXiv 2103.02143), `width` = m
    "one_minus_decay",  # k = 1 - a, q = silu (HGRN2, arXiv 2404.07904)
    "static",  # learned vectors, the same for every token (S4D)
    "scaled_static",  # learned vectors times one number of the token (H3, arXiv 2212.14052)
    "ones",  # q = k = 1 (channel-wise recurrences)
]
NormName = Literal["none", "l2", "rms", "rms_weighted", "layernorm", "sum"]
Side = Literal["q", "k"]


class Features(Spec):
    """Map, then norm, of q and k.

    `map_over: sequence` normalises over all positions, which loses causality. `gain` multiplies q and k each after the
    norm; `rms_weighted` and `layernorm` learn it per channel (shared by the heads if `gain_shared`). `norm_on: k`
    leaves the queries without a norm. `norm_over: all_heads` takes the length of all heads together and a gain for each
    channel of each head (OLMo 2). `eps_kind` says whether eps is added to the sum or the mean of squares (execution).
    `q_std`, `k_std`: standard deviation of the entries of q and k at initialisation, before the norm.
    """

    map: MapName = "identity"
    width: Count | None = None
    map_over: Literal["features", "sequence"] = "features"
    norm: NormName = "none"
    norm_on: Literal["qk", "k"] = "qk"
    norm_over: Literal["head", "all_heads"] = "head"
    gain: Positive = 1.0
    gain_shared: bool = True
    norm_order: Literal["before_rotation", "after_rotation"] = "before_rotation"
    eps: Nonnegative = 1.0e-6
    eps_kind: Literal["sum", "mean"] = "sum"
    q_std: Positive = 1.0
    k_std: Positive = 1.0

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.map in ("dpfp", "favor", "rff")) != (self.width is not None):
            raise invalid("width", "`width` goes with `map: dpfp` (nu), `favor` or `rff` (number of features).")
        return self

    def feature_dim(self, state_dim: int) -> int:
        """Width of q and k after the map, for vectors of `state_dim` before it."""
        width = self.width or 1
        match self.map:
            case "identity" | "silu" | "relu" | "elu+1" | "hadamard" | "one_minus_decay":
                return state_dim
            case "static" | "scaled_static" | "ones":
                return state_dim
            case "softmax_pm" | "relu_zero":
                return 2 * state_dim
            case "dpfp":
                return 2 * width * state_dim
            case "taylor2":
                return 1 + state_dim + state_dim * (state_dim + 1) // 2
            case "favor":
                return width
            case "rff":
                return 2 * width
            case _:
                assert_never(self.map)

    def norm_of(self, side: Side) -> NormName:
        """The norm of the queries or of the keys."""
        return "none" if side == "q" and self.norm_on == "k" else self.norm

    def std_of(self, side: Side) -> float:
        """Standard deviation of the entries of the queries or of the keys at initialisation, before map and norm."""
        return self.q_std if side == "q" else self.k_std

    @property
    def is_static(self) -> bool:
        """q and k do not depend on the token."""
        return self.map in ("static", "ones")

    @property
    def reads_sequence(self) -> bool:
        """The features of a token depend on all tokens: a softmax over positions."""
        return self.map == "softmax_pm" and self.map_over == "sequence"

    @property
    def is_nonnegative(self) -> bool:
        """Every entry of q and k is >= 0 after map and norm."""
        positive = self.map in ("relu", "relu_zero", "elu+1", "softmax_pm", "dpfp", "favor", "ones")
        return positive and self.norm_keeps_signs

    @property
    def norm_keeps_signs(self) -> bool:
        """The norm divides by a positive number: no mean is taken away, and no learned gain can turn negative."""
        return not self.norm_has_gain

    @property
    def norm_has_gain(self) -> bool:
        """The norm has a learned gain per channel, which nothing bounds."""
        return self.norm in ("rms_weighted", "layernorm")

    @property
    def can_be_zero(self) -> bool:
        """Every entry of q can be exactly 0 at once, with positive probability."""
        return self.map in ("relu", "relu_zero", "dpfp")
