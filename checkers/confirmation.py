"""Static claims against probes: what a rule predicts for a measured quantity, and whether the measurement agrees.

A claim about a value (score std, gain, half-life, ...) is confirmed or contradicted within its tolerance. A claim about
what declared ranges allow is confirmed where a probe reaches it, and otherwise stays `not measured`: the start of
training does not contradict what training may do. `faults` are what a sound tuple cannot cause: the form that computes
it is wrong. Tolerances: theory.md section 3.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType

from checkers import scores, starts, zeros
from checkers.finding import Fault, Probed
from checkers.growth import SETTLED, typical_gain
from checkers.initial_decay import compiled_heads, rates_of, start_range
from checkers.projections import key_vector
from checkers.rule import Context, Site
from designspace.decay import between, half_life, schedule
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.position import position_codes
from designspace.scaling import DT_INITIAL
from designspace.spec import Range
from designspace.streams import decay_slots, shares_step, stream_counts

SCORE = 0.15  # of the std; of the rms for the mean
GAIN = 0.15  # relative
SCORE_NOISE = 0.02  # absolute, of a near-zero fraction
HALF_LIFE = 0.1  # relative
BELOW_TOP = 0.01  # of the heads and channels lie above the longest half-life that is reported
SHORT_STEPS = 0.1  # absolute, of a half-life
ENDLESS = 1e5  # steps: a factor of 1, but for the distance that a start keeps from the ends of its range
MEDIAN_SQUARE = 0.4549  # of a squared standard normal
MEDIAN_OF_TWO = math.log(2.0)  # of the mean of two
MEDIAN_WITH_TAU = 0.3121  # of softplus(x) sigmoid(y), x and y standard normal
LEAST_STEP = 1e-6
EXACT = 1e-9  # float64 rounding, relative to the rms
FORM = 1e-6  # difference of two forms in float64, relative to the rms
STATES = 0.75  # of one state for each token, as the largest tensor of a form
IGNORED = 0.01  # response to a key below which the form does not read it
NEAR_ZERO_ETA = 1e-3  # of the mean |eta|
COLLAPSED = 0.3  # distance to the mean token


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a rule expects of a quantity: anything from `low` to `high`; `within` is already part of both.

    `reached`: the claim is only that such values occur, so other measurements do not contradict it.
    """

    quantity: str
    low: float
    high: float
    reached: bool = False

    def confirmed(self, measured: Measurement) -> bool:
        """The interval of the measurement meets the expected one."""
        return self.low - measured.uncertainty <= measured.value <= self.high + measured.uncertainty


Predict = Callable[[Site, Callable[[str], Measurement | None]], Iterable[Prediction]]


def probed(rule: str, context: Context, path: str) -> Probed:
    """What the probes say about a finding of `rule` at `path`."""
    site = _site(context, path)
    predict = PREDICTIONS.get(rule)
    if predict is None or site is None:
        return Probed(verdict="not measured")
    place = WHOLE if rule in ABOUT_STACK else site.path

    def measured(quantity: str) -> Measurement | None:
        return context.measured(quantity, place)

    pairs = [(one, found) for one in predict(site, measured) if (found := measured(one.quantity)) is not None]
    if not pairs:
        return Probed(verdict="not measured")
    worst = min(pairs, key=lambda pair: pair[0].confirmed(pair[1]))
    return _probed(*worst)


def _probed(prediction: Prediction, measured: Measurement) -> Probed:
    agrees = prediction.confirmed(measured)
    verdict = "confirmed" if agrees else "not measured" if prediction.reached else "contradicted"
    return Probed(
        verdict=verdict,
        quantity=measured.quantity,
        value=measured.value,
        uncertainty=measured.uncertainty,
        unit=measured.unit,
        expected=(_bound(prediction.low), _bound(prediction.high)),
        draws=measured.draws,
        length=measured.length,
    )


def _bound(value: float) -> float | None:
    """JSON has no infinity: an open end is null."""
    return value if abs(value) < float("inf") else None


def _site(context: Context, path: str) -> Site | None:
    """The mixer that a path of the spec is about; the first one for a path of the whole stack."""
    holding = [site for site in context.sites if path == site.path or path.startswith(f"{site.path}.")]
    return max(holding, key=lambda site: len(site.path)) if holding else next(iter(context.sites), None)


def around(value: float, relative: float, absolute: float = 0.0) -> tuple[float, float]:
    """The interval of a prediction with its tolerance."""
    slack = max(abs(value) * relative, absolute)
    return value - slack, value + slack


def score_std(site: Site, measured: Callable[[str], Measurement | None]) -> Iterator[Prediction]:
    """CD501: the predicted standard deviation and mean, at the length that was probed."""
    one = measured("score_std")
    length = site.target.seq_len if one is None or one.length is None else one.length
    found = scores.score_moments(site.mixer, length)
    if found is not None:
        yield Prediction("score_std", *around(found.std, SCORE, EXACT * found.rms))
        yield Prediction("score_mean", *around(found.mean, SCORE, SCORE * found.rms))


def gain(site: Site, measured: Callable[[str], Measurement | None]) -> Iterator[Prediction]:
    """CD601: the root mean square of the gain over the heads as they start, at the length that was probed."""
    one = measured("output_gain")
    if one is None or one.length is None:
        return
    if site.mixer.reads_target_length and site.target.seq_len != one.length:  # a target longer than the probe
        return
    found = typical_gain(site.mixer, one.length)
    if found is not None:
        settled = around(found, GAIN) if found <= SETTLED else (site.thresholds.numerator_grows.large, float("inf"))
        yield Prediction("output_gain", *settled)


def horizon(site: Site, _measured: object) -> Iterator[Prediction]:
    """CD701: the half-life at the upper end of the initial range.

    The compiled mixer lays its heads and channels in the middle of cells, evenly in log(1 - a), so that few of them
    stay half a cell below the end; of many the probe reports the 99 % quantile.
    """
    decay = site.mixer.decay
    initial = start_range(decay)
    if decay.is_identity or (decay.map == "one_minus_bk2" and not _has_median(site.mixer)):
        return
    if decay.source == "constant":
        longest, short = half_life(max(schedule(decay, site.mixer.heads.num_heads))), 1.0
    elif initial is None:
        longest, short = _undeclared(site.mixer), 1.0
    elif decay.map == "one_minus_bk2":
        longest, short = half_life(_median_of_longhorn(site.mixer)), 1.0
    elif shares_step(site.mixer) and decay_slots(site.mixer) == 1:
        longest, short = _of_rates(site.mixer), 1.0
    elif shares_step(site.mixer):
        longest, short = half_life(initial[1]), _of_slowest_rate(site.mixer, initial)
    else:
        longest, short = _slowest(site.mixer, initial), 1.0
    if longest == float("inf"):
        yield Prediction("longest_half_life", ENDLESS, float("inf"))
        return
    low, high = longest * short * (1.0 - HALF_LIFE), longest * (1.0 + HALF_LIFE)
    yield Prediction("longest_half_life", low - SHORT_STEPS, high + SHORT_STEPS)


def _undeclared(mixer: MixerSpec) -> float:
    """The 99 % quantile of the half-lives where no start is declared: the compiled mixer has biases of 0, or the rates
    and step sizes of Mamba.
    """
    decay, streams = mixer.decay, stream_counts(mixer).value
    if decay.map == "one_minus_bk2":
        return half_life(_median_of_longhorn(mixer))
    if shares_step(mixer):
        return _of_rates(mixer)
    if decay.map == "complement":
        gates = starts.gate_starts(mixer.scaling, streams, most=streams)
        return max(half_life(starts.factor_at(decay, start)) for start, _ in gates)
    if decay.map == "exp_softplus_tau" and decay.reads_input:
        return half_life(max(decay.range[0], decay.range[1] * math.exp(-MEDIAN_WITH_TAU)))
    return half_life(starts.factor_at(decay, 0.0))


def _of_rates(mixer: MixerSpec) -> float:
    """Of a decay that shares its step: steps log-uniform over the heads, rates as the compiled mixer lays them."""
    streams, slots, (low, high) = stream_counts(mixer).value, decay_slots(mixer), mixer.decay.range
    smallest, largest = (max(size, LEAST_STEP) for size in mixer.scaling.initial or DT_INITIAL)
    sizes = [smallest * (largest / smallest) ** ((index + 0.5) / streams) for index in range(streams)]
    pairs = [(1.0 + slot, size) for size in sizes for slot in range(slots)]
    if slots == 1:
        pairs = [(rates_of(mixer, size, 1, (index, streams))[0], size) for index, size in enumerate(sizes)]
    found = sorted(half_life(max(low, high * math.exp(-rate * size))) for rate, size in pairs)
    place = (1.0 - BELOW_TOP) * (len(found) - 1)
    below = int(place)
    above = min(below + 1, len(found) - 1)
    return found[below] + (place - below) * (found[above] - found[below]) if found[above] < math.inf else math.inf


def _has_median(mixer: MixerSpec) -> bool:
    """The keys have a scale, and entries that are not products of two."""
    return key_vector(mixer) is not None and mixer.features.map != "hadamard"


def _median_of_longhorn(mixer: MixerSpec) -> float:
    """The largest median over the tokens of 1 - b k^2, k normal: the heads with the least write."""
    key, (low, high) = key_vector(mixer), mixer.decay.range
    square = 0.0 if key is None else key.square
    write = min(head.slots[0].complement.mean for head in compiled_heads(mixer))
    in_pairs = 2 * mixer.rotation.pairs(mixer.key_dim) == mixer.key_dim  # the two channels take their mean square
    return high - (high - low) * write * square * (MEDIAN_OF_TWO if in_pairs else MEDIAN_SQUARE)


def _of_slowest_rate(mixer: MixerSpec, initial: Range) -> float:
    """Reported over longest half-life where the decay shares its step: rates rise evenly over the channels, so that
    only the first of them is slow.
    """
    if initial[0] == initial[1]:
        return 1.0
    smallest, largest = mixer.scaling.initial or DT_INITIAL
    below = max(0.5 / stream_counts(mixer).value, BELOW_TOP * decay_slots(mixer))
    return float((largest / max(smallest, LEAST_STEP)) ** -below)


def _slowest(mixer: MixerSpec, initial: Range) -> float:
    """The 99 % quantile of the half-lives of all channels, whose factors lie in the middle of equal cells.

    Both channels of a rotating pair have one factor, and pairs come first; `complement` has one for all channels.
    """
    streams, slots = stream_counts(mixer).value, decay_slots(mixer)
    if mixer.decay.map == "complement":
        slots = 1
    count, width = streams * slots, mixer.key_dim if slots > 1 else 1
    above = BELOW_TOP * (streams * width - 1)
    place = count - 1 - (above / 2.0 if 2 * slots == width else above)
    low = int(place)
    first, second = (_half_life(mixer, initial, (index + 0.5) / count) for index in (low, min(low + 1, count - 1)))
    if place == low or first == float("inf"):
        return first
    return first + (place - low) * (second - first)


def _half_life(mixer: MixerSpec, initial: Range, position: float) -> float:
    """Of the factor at a place of the initial range; a `complement` ends at 1, whatever its range."""
    factor = between(initial, position)
    if mixer.decay.map == "complement":
        factor = starts.factor_at(mixer.decay, starts.preactivation(mixer.decay, factor))
    return half_life(factor)


def near_zero(site: Site, _measured: object) -> Iterator[Prediction]:
    """CD201, CD202: the near-zero fractions at the three scales."""
    fractions = zeros.selectivity(scores.effective_readout(site.mixer)).fractions
    for spread, fraction in zip(zeros.SPREADS, fractions, strict=True):
        yield Prediction(f"near_zero_fraction_at_{spread:g}", *around(fraction, 0.0, SCORE_NOISE))


def fixed_coefficients(site: Site, _measured: object) -> Iterator[Prediction]:
    """CD203: no coefficient changes with the tokens; a learned eta scales whole rows by them."""
    if site.mixer.normalization.kind != "learned":
        yield Prediction("alpha_change", 0.0, EXACT)


def blind(site: Site, _measured: object) -> Iterator[Prediction]:
    """CD301: permuting the past leaves the output of the mixer alone, where it has no position code at all."""
    if not position_codes(site.mixer, site.target.seq_len):
        yield Prediction("last_output", 0.0, EXACT)


def leak(_site: Site, _measured: object) -> Iterator[Prediction]:
    """CD901: later tokens change earlier outputs."""
    yield Prediction("later_tokens", EXACT, float("inf"))


def expansion(_site: Site, _measured: object) -> Iterator[Prediction]:
    """CD602: a step whose norm is above 1 occurs."""
    yield Prediction("largest_step_norm", 1.0 + FORM, float("inf"), reached=True)


def vanishing(_site: Site, measured: Callable[[str], Measurement | None]) -> Iterator[Prediction]:
    """CD603: eta changes its sign, or comes near 0."""
    negative = measured("eta_negative")
    if negative is not None and negative.value > 0.0:
        yield Prediction("eta_negative", FORM, 1.0, reached=True)
    else:
        yield Prediction("eta_smallest", 0.0, NEAR_ZERO_ETA, reached=True)


def overflow(site: Site, measured: Callable[[str], Measurement | None]) -> Iterator[Prediction]:
    """CD604: a number overflows within the tokens probed, in the format of the target."""
    quantity = f"finite_length_{site.target.dtype}"
    one = measured(quantity)
    if one is not None and one.length is not None:
        yield Prediction(quantity, 0.0, one.length - 1.0, reached=True)


def state(site: Site, _measured: object) -> Iterator[Prediction]:
    """CD102: the bytes of the state in closed form."""
    if site.cost.state_bytes:
        yield Prediction("state_bytes", *around(site.cost.state_bytes, 0.0))


def collapse(_site: Site, _measured: object) -> Iterator[Prediction]:
    """CD704: tokens are close to their mean after the last layer."""
    yield Prediction("distance_to_mean", 0.0, COLLAPSED)


WHOLE = "model"  # path of the measurements of the whole stack
ABOUT_STACK = ("rank-collapse",)
PREDICTIONS: MappingProxyType[str, Predict] = MappingProxyType(  # by rule
    {
        "score-scale": score_std,
        "numerator-grows": gain,
        "short-horizon": horizon,
        "fragile-zero-set": near_zero,
        "positive-floor": near_zero,
        "input-independent": fixed_coefficients,
        "position-blind": blind,
        "future-leak": leak,
        "evolution-expands": expansion,
        "normalization-can-vanish": vanishing,
        "stabiliser-missing": overflow,
        "lifted-state-exceeds-cache": state,
        "rank-collapse": collapse,
    }
)


@dataclass(frozen=True, slots=True)
class Limit:
    """What every sound form keeps: a quantity at most (or at least) `bound`."""

    bound: float
    fault: str
    at_least: bool = False

    def broken(self, value: float) -> bool:
        """The measurement is beyond the bound."""
        return value < self.bound if self.at_least else value > self.bound


LIMITS: MappingProxyType[str, Limit] = MappingProxyType(
    {
        "later_tokens": Limit(EXACT, "an output changes with later tokens: the form leaks the future"),
        "deviation": Limit(FORM, "the form is not linear in the values"),
        "row_sum_deviation": Limit(FORM, "rows do not sum to what the definition gives"),
        "differs_from_quadratic": Limit(FORM, "the form differs from the parallel form"),
        "differs_from_recurrent": Limit(FORM, "the form differs from the recurrent form"),
        "differs_from_definition": Limit(FORM, "the form differs from the float64 definition"),
        "differs_from_chunked": Limit(FORM, "the form differs from a computation in chunks"),
        "outside_support": Limit(EXACT, "keys outside the window or chunk change the output"),
        "padding_effect": Limit(FORM, "padding to the right changes the outputs"),
        "batch_effect": Limit(FORM, "the other sequences of a batch change the outputs"),
        "nonfinite": Limit(0.0, "outputs or gradients are not finite where those of the definition are"),
        "norm_deviation": Limit(FORM, "queries, keys or outputs do not have the length that their norm gives"),
        "states_kept_per_token": Limit(STATES, "the form keeps a state for every token"),
        "response": Limit(IGNORED, "the form ignores this key", at_least=True),
    }
)


def faults(context: Context) -> tuple[Fault, ...]:
    """What the probes found that no sound form of the tuple does."""
    exempt = {site.path for site in context.sites if _reads_ahead(site)}
    return tuple(
        Fault(
            probe=one.probe,
            quantity=one.quantity,
            path=one.path,
            value=one.value,
            limit=limit.bound,
            message=f"{limit.fault} ({one.quantity} = {one.value:.3g}, limit {limit.bound:g}; the largest of"
            f" {one.draws} draws)"
            if not limit.at_least
            else f"{limit.fault} (`{one.quantity.partition('.')[2]}`: response {one.value:.3g}, at least"
            f" {limit.bound:g} expected; the smallest of {one.draws} draws)",
        )
        for one in context.measurements
        if (limit := LIMITS.get(one.quantity.partition(".")[0])) is not None
        and limit.broken(one.value)
        and not (one.quantity in ("later_tokens", "padding_effect") and (one.path in exempt or one.path == WHOLE))
    )


def _reads_ahead(site: Site) -> bool:
    """The design itself reads later tokens, which is a finding of its own."""
    return site.mixer.support.mask == "none" or site.mixer.features.map_over == "sequence"
