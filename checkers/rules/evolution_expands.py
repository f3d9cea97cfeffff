"""CD602 evolution-expands: a transition can lengthen what is stored, or nothing proves that products cannot."""

import math

from checkers import bounds, spectrum
from checkers.finding import Fix, Quantity, quantity, setting
from checkers.overflow import LOG_MAX
from checkers.periodic import Growth, largest_growth
from checkers.remedies import lasting_factor, narrowed_decay, rounded_down
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.decay import schedule
from designspace.mixer import MixerSpec
from designspace.spec import Dtype

GAIN_DIGITS = 6  # significant, of a gain that a fix writes
ROUNDING = 1e-12


def judge(site: Site) -> Outcome:
    """P6.2: sigma_max <= 1 of the n x n part (I - erase) rotation decay over the declared ranges."""
    mixer = site.mixer
    largest = _largest_factor(mixer)
    if largest > 1.0:
        return _decay_grows(site, largest)
    if not mixer.erase.is_identity:
        return _judge_erase(site)
    return _certified(site, "decay", f"sigma_max <= {largest:g}", {"sigma_max": quantity(largest, "per step")})


def _certified(site: Site, field: str, reason: str, evidence: dict[str, Quantity]) -> Outcome:
    lifted, bound = _lifted(site)
    if bound is not None:
        evidence = evidence | {"product_norm_bound": quantity(bound)}
    return Outcome("pass", site.at(field), f"{reason}{lifted}{_sheared(site.mixer)}", evidence=evidence)


def _largest_factor(mixer: MixerSpec) -> float:
    """The upper bound of the decay; of a constant one the largest on the schedule of the heads."""
    decay = mixer.decay
    if decay.source == "constant" and decay.granularity != "none":
        return max(schedule(decay, mixer.heads.num_heads))
    return decay.hull[1]


def _decay_grows(site: Site, high: float) -> Outcome:
    """A positive upper bound of the log-decay, over what the support lets a query read."""
    steps, rate = site.mixer.support.span(site.target.seq_len), math.log(high)
    evidence: dict[str, Quantity] = {
        "largest_factor": quantity(high, "per step"),
        "log_decay_bound": quantity(rate, "per step"),
        "log10_growth_at_seq_len": quantity(rate * steps / math.log(10.0)),
    }
    for dtype, limit in LOG_MAX.items():
        evidence[f"overflow_length_{dtype}"] = quantity(limit / rate, "tokens")
    return Outcome(
        "fail",
        site.at("decay.range"),
        f"the decay may reach {high:g} > 1 (log-decay up to +{rate:.3g}): a stored key grows to"
        f" {high:g}^{steps} = 1e{rate * steps / math.log(10.0):+.0f} over {steps:,} steps;"
        f" float32 overflows after {limit_text(LOG_MAX['float32'] / rate)}, float16 after"
        f" {limit_text(LOG_MAX['float16'] / rate)}.",
        kind=Kind.EXPANSION,
        evidence=evidence,
        assumptions=("every step takes the upper end of its declared range",),
        fix=narrowed_decay(
            site, high=1.0, start=lasting_factor(site.target.seq_len, site.thresholds.short_horizon.wanted_fraction)
        ),
    )


def limit_text(steps: float) -> str:
    """`12 steps` for a length."""
    return f"{math.ceil(steps):,} steps"


def _judge_erase(site: Site) -> Outcome:
    mixer = site.mixer
    bound = bounds.erase_key_bound(mixer)
    if bound is None and mixer.features.map == "static":
        return Outcome("unknown", site.at("features.norm"), "the length of static keys is learned and not declared")
    if bound is None:
        return _unnormalised(site)
    high, lowest = mixer.erase.gain[1], spectrum.lowest_eigenvalue(mixer)
    if lowest < -1.0 - ROUNDING:
        return Outcome(
            "fail",
            site.at("erase.gain"),
            f"beta |k|^2 reaches {high:g} x {bound:g} = {high * bound:.3g}: the eigenvalue {lowest:.3g} lies outside"
            " [-1, 1], so the state grows along the key; need beta |k|^2 in [0, 2].",
            kind=Kind.EXPANSION,
            evidence={
                "eigenvalue": quantity(lowest),
                "largest_gain": quantity(high),
                "key_length_squared": quantity(bound),
            }
            | _overflow_evidence(_overflow_steps(-lowest)),
            assumptions=("beta at the upper end of its range, |k|^2 at its bound",),
            fix=_smaller_gain(site, bound) if mixer.features.norm == "l2" else _unit_keys(site),
        )
    if mixer.erase.direction != "free" and mixer.features.norm_has_gain:
        return Outcome(
            "unknown",
            site.at("features.norm"),
            f"beta |k|^2 starts at or below {high * bound:.3g}, but the gain of the {mixer.features.norm} norm is"
            " learned and declares no bound",
        )
    return _certificate(site, high * bound)


def _unnormalised(site: Site) -> Outcome:
    mixer = site.mixer
    length, gain = spectrum.expected_key_length_squared(mixer), 0.5 * sum(mixer.erase.gain)
    eigenvalue = 1.0 - gain * length
    steps = _overflow_steps(abs(eigenvalue))
    first = steps["float16"]
    spread = "" if math.isinf(first) else f"; float16 overflows after {limit_text(first)} along one key"
    return Outcome(
        "fail",
        site.at("features.norm"),
        f"nothing bounds |k|^2: with n = {mixer.key_dim} it starts near {length:.3g}, and at beta = {gain:g} the step"
        f" has the eigenvalue 1 - beta |k|^2 = {eigenvalue:.3g}{spread}; need beta |k|^2 in [0, 2].",
        kind=Kind.EXPANSION,
        evidence={
            "eigenvalue": quantity(eigenvalue),
            "key_length_squared": quantity(length),
            "gain": quantity(gain),
        }
        | _overflow_evidence(steps),
        assumptions=(f"entries of k start with std {mixer.features.k_std:g}; beta in the middle of its range",),
        fix=_unit_keys(site),
    )


def _overflow_steps(growth: float) -> dict[Dtype, float]:
    """Steps along one key until the state leaves each format; infinite where it does not grow."""
    rate = math.log(max(growth, 1.0))
    return {dtype: limit / rate if rate else math.inf for dtype, limit in LOG_MAX.items()}


def _overflow_evidence(steps: dict[Dtype, float]) -> dict[str, Quantity]:
    return {f"overflow_steps_{dtype}": quantity(count, "steps") for dtype, count in steps.items()}


def _unit_keys(site: Site) -> Fix | None:
    """Keys of length 1; a gate in the keys themselves makes them longer again."""
    if site.mixer.scaling.gate == "step_power":
        return None
    return setting("unsafe", {site.at("features.norm"): "l2"})


def _smaller_gain(site: Site, bound: float) -> Fix | None:
    """The largest beta that keeps the eigenvalue a - beta |k|^2 (a = 1 in the product form) at or above -1."""
    mixer = site.mixer
    kept = mixer.decay.hull[0] if mixer.erase.compose == "additive" else 1.0
    gain = rounded_down((1.0 + kept) / bound, GAIN_DIGITS)
    return setting("unsafe", {site.at("erase.gain[1]"): gain}) if gain >= mixer.erase.gain[0] else None


def _certificate(site: Site, gain: float) -> Outcome:
    """The erase steps are in range: are they symmetric, so that the spectral norm is the largest eigenvalue?"""
    mixer = site.mixer
    if mixer.lift.kind == "momentum" or not bounds.is_symmetric_contraction(mixer):
        return _not_certified(site)
    additive = mixer.erase.compose == "additive"
    form = "a - beta k k^T is symmetric" if additive else "I - beta k k^T is symmetric, and decay and rotation contract"
    evidence = {"sigma_max": quantity(1.0, "per step"), "largest_erase": quantity(gain, "beta |k|^2")}
    return _certified(site, "erase", f"beta |k|^2 <= {gain:g} <= 2, {form}: sigma_max <= 1", evidence)


def _not_certified(site: Site) -> Outcome:
    mixer = site.mixer
    growth = largest_growth(mixer)
    part = "the momentum block" if mixer.lift.kind == "momentum" else "the step"
    return Outcome(
        "unknown",
        site.at("lift" if mixer.lift.kind == "momentum" else "erase"),
        f"not certified: {part} is not symmetric, so its eigenvalues do not bound products; {_growth_text(growth)}.",
        kind=Kind.NOT_CERTIFIED,
        evidence={
            "radius_per_period": quantity(growth.per_period, "per two steps"),
            "radius_per_step": quantity(growth.per_step, "per step"),
        },
        assumptions=("search over periods of one and two steps in a plane of two channels, decay at its upper bound",),
    )


def _growth_text(growth: Growth) -> str:
    if growth.is_certain:
        return f"periodic inputs exist that grow by {growth.per_period:.3g} in two steps"
    return f"a bounded search found no growth (largest radius over two steps {growth.per_period:.3g})"


def _lifted(site: Site) -> tuple[str, float | None]:
    """What the lift adds to the certificate of its core, and its bound of the norm of a product."""
    match site.mixer.lift.kind:
        case "none" | "momentum":
            return "", None
        case "delay1":
            bound = math.sqrt(2.0)  # the weights of the present and of the previous key add up to the gate
            return f"; delay1 is nilpotent around this core: products stay below sqrt(1 + tap^2) = {bound:.3g}", bound
        case "shift":
            return "; a shift is nilpotent: products stay below sqrt(1 + max tap^2) of its learned taps", None
        case "fenwick":
            levels = (site.target.seq_len - 1).bit_length() + 1
            bound = math.sqrt(levels)
            return f"; the merge of buckets adds at most sqrt({levels} levels) = {bound:.3g}", bound


def _sheared(mixer: MixerSpec) -> str:
    """The additive path acts on the score: an increment at or below 0 cannot grow."""
    return "" if mixer.shear.source == "none" else "; the shear is judged on the score by CD302"


rule = Rule(
    code="CD602",
    name="evolution-expands",
    group="proof",
    precision="very-high",
    what="A declared range lets a step of A_t expand (decay above 1, beta |k|^2 above 2), or the step is not symmetric"
    " and nothing certifies its products (info).",
    why="A factor above 1 per step grows exponentially with the length. The spectral radius of each step says nothing"
    " about products of different steps; the largest singular value does.",
    exceptions=(
        "RWKV-7 and GDN-2 steps have singular values above 1 and stable typical products: info `not certified`.",
        "Gains up to 2 with unit keys reflect; they do not grow.",
        "Rotations and the sign of the imaginary part do not matter.",
        "A lift is bounded around a certified core: sqrt(1 + max tap^2) for delay1, shift; sqrt(levels) for fenwick.",
        "A gain per channel whose range is one number is symmetric again.",
        "An additive score path is judged by CD302, not here.",
    ),
    fix="Keep `decay.range` in [0, 1]; normalise the keys of an erase (`features.norm: l2`) with gain up to 2.",
    references=("arXiv 2406.06484", "arXiv 2411.12537", "arXiv 2510.09389, principle 6"),
    passes=("catalogue:gated_deltanet", "catalogue:deltanet_neg", "catalogue:mamba2", "catalogue:softmax_rope"),
    fails=(
        {"mixer": {"erase": {"direction": "key"}, "scaling": {"gate": "tied_to_erase"}}},
        {"mixer": {"decay": {"granularity": "scalar", "map": "exp", "range": [0.0, 1.05]}}},
        {
            "mixer": {
                "erase": {"direction": "key"},
                "scaling": {"gate": "tied_to_erase"},
                "features": {"norm": "rms"},
            }
        },
    ),
    kinds=(
        Kind.EXPANSION,
        Kind.NOT_CERTIFIED,
    ),
    fields_read=(
        "decay",
        "erase",
        "rotation",
        "shear",
        "lift",
        "features",
        "scaling.gate",
        "heads",
        "support",
        "target.seq_len",
    ),
    check=per_mixer(judge),
)
