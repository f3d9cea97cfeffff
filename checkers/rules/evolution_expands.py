"""CD602 evolution-expands: a transition can lengthen what is stored, or nothing proves that products cannot."""

import math

from checkers import spectrum
from checkers.finding import Fix, Quantity, quantity, setting
from checkers.overflow import LOG_MAX
from checkers.periodic import growth_per_period
from checkers.remedies import lasting_factor, narrowed_decay, rounded_down
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.mixer import MixerSpec

GAIN_DIGITS = 6  # significant, of a gain that a fix writes
LARGEST_GAIN = 2.0  # beta |k|^2 up to 2 keeps I - beta k k^T a contraction


def judge(site: Site) -> Outcome:
    """P6.2: sigma_max <= 1 of the n x n part (I - erase) rotation decay over the declared ranges."""
    mixer = site.mixer
    if mixer.decay.hull[1] > 1.0:
        return _decay_grows(site)
    if not mixer.erase.is_identity:
        return _judge_erase(site)
    return Outcome("pass", site.at("decay"), f"sigma_max <= {mixer.decay.hull[1]:g}{_lifted(mixer)}")


def _decay_grows(site: Site) -> Outcome:
    high = site.mixer.decay.hull[1]
    seq_len, rate = site.target.seq_len, math.log(high)
    evidence: dict[str, Quantity] = {
        "largest_factor": quantity(high, "per step"),
        "log_decay_bound": quantity(rate, "per step"),
        "log10_growth_at_seq_len": quantity(rate * seq_len / math.log(10.0)),
    }
    for dtype, limit in LOG_MAX.items():
        evidence[f"overflow_length_{dtype}"] = quantity(limit / rate, "tokens")
    return Outcome(
        "fail",
        site.at("decay.range"),
        f"the decay may reach {high:g} > 1 (log-decay up to +{rate:.3g}): a stored key grows to"
        f" {high:g}^{seq_len} = 1e{rate * seq_len / math.log(10.0):+.0f} over {seq_len:,} steps;"
        f" float32 overflows after {limit_text(LOG_MAX['float32'] / rate)}.",
        kind=Kind.EXPANSION,
        evidence=evidence,
        fix=narrowed_decay(
            site, high=1.0, start=lasting_factor(seq_len, site.thresholds.short_horizon.wanted_fraction)
        ),
    )


def limit_text(steps: float) -> str:
    """`12 steps` for a length."""
    return f"{math.ceil(steps):,} steps"


def _judge_erase(site: Site) -> Outcome:
    mixer = site.mixer
    bound = 1.0 if mixer.erase.direction == "free" else mixer.key_norm_bound
    high = mixer.erase.gain[1]
    if bound is None and mixer.features.map == "static":
        return Outcome("unknown", site.at("features.norm"), "the length of static keys is learned and not declared")
    if bound is None:
        return _unnormalised(site)
    lowest = spectrum.lowest_eigenvalue(mixer)
    if high * bound > LARGEST_GAIN or lowest < -1.0 - 1e-12:
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
            },
            fix=_smaller_gain(site, bound) if mixer.features.norm == "l2" else _unit_keys(site),
        )
    return _certificate(site, high * bound)


def _unnormalised(site: Site) -> Outcome:
    mixer = site.mixer
    length, gain = spectrum.expected_key_length_squared(mixer), 0.5 * sum(mixer.erase.gain)
    eigenvalue = 1.0 - gain * length
    growth = abs(eigenvalue)
    steps = LOG_MAX["float16"] / math.log(growth) if growth > 1.0 else math.inf
    spread = f"; float16 overflows after {limit_text(steps)} along one key" if math.isfinite(steps) else ""
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
            "overflow_steps_float16": quantity(steps, "steps"),
        },
        assumptions=(f"entries of k start with std {mixer.features.k_std:g}; beta in the middle of its range",),
        fix=_unit_keys(site),
    )


def _unit_keys(site: Site) -> Fix | None:
    """Keys of length 1; a gate in the keys themselves makes them longer again."""
    if site.mixer.features.norm == "l2" or site.mixer.scaling.gate == "step_power":
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
    additive = mixer.erase.compose == "additive"
    if mixer.lift.kind == "momentum" or mixer.erase.per_channel or (additive and not mixer.rotation.is_identity):
        return _not_certified(site)
    form = "a - beta k k^T is symmetric" if additive else "I - beta k k^T is symmetric, and decay and rotation contract"
    return Outcome("pass", site.at("erase"), f"beta |k|^2 <= {gain:g} <= 2, {form}: sigma_max <= 1{_lifted(mixer)}")


def _not_certified(site: Site) -> Outcome:
    mixer = site.mixer
    growth = growth_per_period(mixer)
    found = (
        f"periodic inputs exist that grow by {growth:.3g} per period"
        if growth > 1.0 + 1e-9
        else f"a bounded search found no growth (largest radius {growth:.3g})"
    )
    part = "the momentum block" if mixer.lift.kind == "momentum" else "the step"
    return Outcome(
        "unknown",
        site.at("lift" if mixer.lift.kind == "momentum" else "erase"),
        f"not certified: {part} is not symmetric, so a spectral radius of 1 does not bound products; {found}.",
        kind=Kind.NOT_CERTIFIED,
        evidence={"radius_per_period": quantity(growth)},
        assumptions=("search over two-step periods in a plane of two channels, decay at its upper bound",),
    )


def _lifted(mixer: MixerSpec) -> str:
    match mixer.lift.kind:
        case "none" | "momentum":
            return ""
        case "delay1" | "shift":
            return "; the lift is nilpotent around this core"
        case "fenwick":
            return "; the merge of buckets adds at most sqrt(levels)"


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
    fields_read=("decay.range", "erase", "rotation", "lift", "features.norm", "features.map", "features.gain", "heads"),
    check=per_mixer(judge),
)
