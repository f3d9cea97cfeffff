"""A mixer: one point of the twelve-field grammar, with the facts that need several fields.

Source: arXiv 2510.09389, definition of alpha_ij = phi(q_i . A_i...A_(j+1) b_j k_j) / eta_i.
"""

import math
from typing import Self

from pydantic import Field, model_validator

from designspace import readout as readouts
from designspace.decay import Decay
from designspace.erase import Erase
from designspace.execution import Execution
from designspace.features import Features, NormName
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.lift import Lift
from designspace.normalization import Normalization
from designspace.readout import Identity, Readout, Sigmoid
from designspace.rotation import Rotation
from designspace.scaling import Scaling
from designspace.shear import Shear
from designspace.spec import Spec, invalid
from designspace.support import Support
from designspace.suppression import Lint

MAX_LIFTED_DIM = 2**24
LATENT_MAPS = ("identity", "silu", "relu", "elu+1")  # of keys that are made from a latent vector


class MixerSpec(Spec):
    """The tuple (readout, evolution, scaling, normalization) with features, support, sizes and output stage.

    decay, rotation, erase, shear and lift together are the evolution A_t. `execution` stands outside the fingerprint.
    """

    readout: Readout = Field(default_factory=Identity)
    decay: Decay = Decay()
    rotation: Rotation = Rotation()
    erase: Erase = Erase()
    shear: Shear = Shear()
    lift: Lift = Lift()
    scaling: Scaling = Scaling()
    normalization: Normalization = Normalization()
    features: Features = Features()
    support: Support = Support()
    heads: Heads = Heads()
    io: InputOutput = InputOutput()
    execution: Execution = Execution()
    lint: Lint = Lint()

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_evolution()
        self._check_lift()
        self._check_gates()
        self._check_features()
        self._check_support()
        self._check_sizes()
        return self

    def _check_evolution(self) -> None:
        if self.shear.source != "none" and readouts.is_linear(self.readout):
            raise invalid(
                "shear.source", "a shear under an identity readout is a decay: use `decay`, or a nonlinear one."
            )
        slopes = self.shear.slopes
        if isinstance(slopes, tuple) and len(slopes) != self.heads.num_heads:
            raise invalid(
                "shear.slopes", f"`slopes` needs one number per head: {self.heads.num_heads}, got {len(slopes)}."
            )
        if self.rotation.source != "none" and self.rotation.fraction > 0 and not self.rotation.pairs(self.key_dim):
            raise invalid(
                "rotation.fraction",
                f"`fraction` {self.rotation.fraction:g} of {self.key_dim} key channels is not one pair;"
                " raise it or `heads.state_dim`.",
            )

        scaling = self.rotation.scaling
        if scaling is not None and scaling.kind == "longrope":
            pairs = self.rotation.pairs(self.key_dim)
            if len(scaling.short_factors or ()) != pairs or len(scaling.long_factors or ()) != pairs:
                raise invalid(
                    "rotation.scaling", f"`short_factors` and `long_factors` need one number per pair: {pairs}."
                )

    def _check_lift(self) -> None:
        kind = self.lift.kind
        others = [self.decay.granularity, self.rotation.source, self.erase.direction, self.shear.source]
        if kind == "shift" and any(part != "none" for part in others):
            raise invalid("lift.kind", "`lift: shift` is the whole evolution: set every other part to none.")
        if kind == "momentum":
            plain = self.erase.rank == 1 and not self.erase.per_channel and self.erase.compose == "product"
            if self.erase.direction not in ("key", "key_scaled") or not plain:
                raise invalid(
                    "lift.kind", "`lift: momentum` needs `erase.direction` key or key_scaled, rank 1, product."
                )
            if self.scaling.gate != "tied_to_erase":
                raise invalid("scaling.gate", "`lift: momentum` writes the erase gain: use `gate: tied_to_erase`.")
            if self.decay.granularity == "diagonal" or self.rotation.source != "none":
                raise invalid("lift.kind", "`lift: momentum` goes with a scalar decay or none, and no rotation.")
        if kind not in ("none", "shift") and self.erase.rank > 1:
            raise invalid("lift.kind", f"`lift: {kind}` needs `erase.rank: 1`.")

    def _check_gates(self) -> None:
        gate, decay = self.scaling.gate, self.decay
        if gate == "tied_to_erase" and (self.erase.direction == "none" or self.erase.per_channel):
            raise invalid("scaling.gate", "`gate: tied_to_erase` needs an `erase.direction` and one beta per head.")
        if gate in ("complement", "sqrt_1_minus_a2") and decay.granularity == "none":
            raise invalid("scaling.gate", f"`gate: {gate}` is computed from the decay: give `decay.granularity`.")
        if gate == "sqrt_1_minus_a2" and decay.hull[1] > 1:
            raise invalid("decay.range", "`gate: sqrt_1_minus_a2` needs a decay that stays in [0, 1].")
        if gate == "complement" and decay.hull[1] > 1:
            raise invalid("decay.range", "`gate: complement` needs a decay that stays in [0, 1]: b_j must be >= 0.")
        if gate == "step_power" and (decay.granularity, decay.map) != ("diagonal", "exp_softplus_tau"):
            raise invalid("decay.map", "`gate: step_power` shares its step with a diagonal `map: exp_softplus_tau`.")
        if gate == "dt" and decay.granularity != "none" and decay.map != "exp_softplus":
            raise invalid("decay.map", f"`gate: dt` shares its step with `map: exp_softplus`, got {decay.map}.")
        if decay.granularity != "none" and decay.map in ("complement", "one_minus_bk2") and gate != "sigmoid":
            raise invalid("scaling.gate", f"`decay.map: {decay.map}` is computed from `gate: sigmoid`, got {gate}.")
        if decay.granularity != "none" and decay.map == "one_minus_bk2" and decay.granularity != "diagonal":
            raise invalid("decay.granularity", "`map: one_minus_bk2` has one factor per key channel: use `diagonal`.")
        if decay.granularity == "diagonal" and gate in ("complement", "sqrt_1_minus_a2") and self.key_dim > 1:
            raise invalid("scaling.gate", f"`gate: {gate}` is one number per head: use a scalar decay or state_dim 1.")
        if self.scaling.where == "after" and self.scaling.gate != "none":
            raise invalid("scaling.where", "`where: after` applies to a constant base only; set `gate: none`.")

    def _check_features(self) -> None:
        name = self.features.map
        if name in ("taylor2", "favor", "rff", "dpfp") and not readouts.is_linear(self.readout):
            raise invalid("features.map", f"`map: {name}` expands the score itself: it needs `readout: identity`.")
        if name == "static" and self.decay.reads_input:
            raise invalid("features.map", "static q and k need a decay that does not come from the input.")
        if name == "one_minus_decay" and (self.decay.granularity != "diagonal" or self.decay.hull[1] > 1):
            raise invalid("features.map", "`map: one_minus_decay` needs a diagonal decay that stays in [0, 1].")
        if name == "one_minus_decay" and self.decay.map == "one_minus_bk2":
            raise invalid("decay.map", "`map: one_minus_bk2` is computed from the key, which is 1 - decay here.")

    def _check_support(self) -> None:
        if self.support.mask == "none":
            moving = (self.decay, self.erase, self.shear)
            if self.lift.kind != "none" or any(not part.is_identity for part in moving):
                raise invalid(
                    "support.mask",
                    "a bidirectional mixer (`mask: none`) has no decay, erase, shear or lift in this grammar.",
                )
        if self.support.read == "before" and (self.lift.kind != "none" or self.erase.rank > 1):
            raise invalid("support.read", "`read: before` goes with no lift and `erase.rank: 1`.")

    def _check_sizes(self) -> None:
        if self.heads.latent_dim is not None and (self.features.is_static or self.erase.rank > 1):
            raise invalid("heads.latent_dim", "`latent_dim` makes keys and values of tokens, one pair per token.")
        convolved = self.io.short_conv.on
        if self.heads.latent_dim is not None and ("k" in convolved) != ("v" in convolved):
            raise invalid("io.short_conv", "with `heads.latent_dim` k and v are one vector: convolve both or neither.")
        if self.heads.latent_dim is not None and self.features.map not in LATENT_MAPS:
            raise invalid("features.map", f"`heads.latent_dim` goes with `map: {' or '.join(LATENT_MAPS)}`.")
        dim = self.lifted_dim
        if dim is not None and dim > MAX_LIFTED_DIM:
            raise invalid("heads.state_dim", f"the lifted state has {dim} rows per head, more than {MAX_LIFTED_DIM}.")

    @property
    def key_dim(self) -> int:
        """n after the feature map: the width of the keys that A_t acts on."""
        return self.features.feature_dim(self.heads.state_dim)

    @property
    def base(self) -> float:
        """The constant scaling base; n in 1/sqrt(n) and 1/n is `heads.state_dim`, the width before the feature map."""
        return self.scaling.factor(self.heads.state_dim)

    @property
    def score_base(self) -> float:
        """The constant factor on the score; 1 where the base acts after phi."""
        return 1.0 if self.scaling.where == "after" else self.base

    @property
    def key_norm_bound(self) -> float | None:
        """Upper bound of |k|^2 before scaling, None where nothing bounds it (theory section 2, P6.2)."""
        if self.scaling.gate == "step_power":  # a power of the step that the keys themselves carry
            return None
        return self._norm_bound(self.features.norm, self.heads.groups)

    @property
    def product_bound(self) -> float | None:
        """Upper bound of |q . k| before scaling, None where nothing bounds it."""
        features, heads = self.features, self.heads
        if features.map == "one_minus_decay" and (features.norm in ("none", "sum") or features.norm_on == "k"):
            return None  # the queries are no decay, and their sum can cross zero
        query = self._norm_bound(
            features.norm_of("q"),
            heads.groups if heads.shared == "qk" else heads.num_heads,
        )
        key = self._norm_bound(features.norm, heads.groups)
        return None if query is None or key is None else math.sqrt(query) * math.sqrt(key)

    def _norm_bound(self, norm: NormName, streams: int) -> float | None:
        """Upper bound of the squared length of a vector behind this norm, stretched by the attention factor."""
        rotation, width = self.rotation, self.key_dim
        pairs = rotation.pairs(width)
        factor = rotation.attention_factor if pairs else 1.0
        stretch = factor if 2 * pairs == width else max(factor, 1.0)
        gain = (self.features.gain * stretch) * (self.features.gain * stretch)  # infinite, no error, on overflow
        match norm:
            case "l2":
                return gain
            case "rms" | "rms_weighted" | "layernorm":
                return gain * width * (streams if self.features.norm_over == "all_heads" else 1)
            case "sum" if self.features.is_nonnegative or self.features.map == "one_minus_decay":
                return gain
            case _:
                return self._map_norm_bound(gain)

    def _map_norm_bound(self, gain: float) -> float | None:
        """Upper bound of |k|^2 that the feature map alone gives; `gain` is already squared."""
        match self.features.map:
            case "ones":
                return gain * self.key_dim
            case "softmax_pm" | "rff":  # a distribution; pairs of cosine and sine
                return gain
            case "one_minus_decay":
                return gain * self.key_dim * (1.0 - self.decay.hull[0]) ** 2
            case _:
                return None

    @property
    def evolution_is_identity(self) -> bool:
        """A_t = I: nothing happens to a stored key."""
        parts = (self.decay, self.rotation, self.erase, self.shear)
        return self.lift.kind == "none" and all(part.is_identity for part in parts)

    @property
    def is_time_invariant(self) -> bool:
        """A_t is the same at every step and for every input."""
        moving = self.decay.reads_input or self.rotation.source == "input" or self.shear.source == "input"
        return not moving and self.erase.is_identity and self.lift.kind in ("none", "shift")

    @property
    def is_finite_memory(self) -> bool:
        """A recurrence with a state that does not grow with the length exists (P1)."""
        linear = readouts.polynomial_coefficients(self.readout) is not None or self.score_is_additive
        bounded = self.support.window is None and self.lift.kind != "fenwick" and self.support.mask != "none"
        return linear and bounded and self.shear.source != "table"

    @property
    def reads_target_length(self) -> bool:
        """target.seq_len enters the coefficients: as eta, or as the offset of a sigmoid."""
        offset = isinstance(self.readout, Sigmoid) and self.readout.offset == "-log_length"
        return self.normalization.length_kind == "target" and (offset or self.normalization.kind == "length")

    @property
    def score_is_additive(self) -> bool:
        """exp readout, constant query, transitions that only add: exp(z_ij) factorises (equivalence 9)."""
        exponential = self.readout.kind == "exponential" and not self.readout.is_capped
        still = self.decay.is_identity and self.rotation.is_identity and self.erase.is_identity
        return exponential and self.features.map == "ones" and still and self.lift.kind == "none"

    @property
    def keeps_gate_maximum(self) -> bool:
        """The recurrence keeps the running maximum of its exponential gates (xLSTM, arXiv 2405.04517, eq. 15-17)."""
        return self.execution.stabiliser == "running_max" and self.scaling.gate in ("exp", "exp_key")

    @property
    def lifted_dim(self) -> int | None:
        """Rows of the state per head after the lift of phi: sum of C(n + d - 1, d); None without a finite lift."""
        coefficients = readouts.polynomial_coefficients(self.readout)
        if coefficients is None:
            return None
        width = self.key_dim * (2 if self.lift.kind in ("delay1", "momentum") else 1) * (self.lift.width or 1)
        return sum(math.comb(width + d - 1, d) for d in readouts.monomials(self.readout))
