"""What do scores and eta reach at the extremes of the declared ranges? (P5, P6.3, P6.4) Keys keep their full width."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import coefficients as definition
from workers import rows, terms
from workers.extremes import LOOSENED, TOKENS, USUAL, Extreme, by_draw, extremes
from workers.forms import quadratic
from workers.phi import capped
from workers.probe import Probe, Subject
from workers.signals import Signals

LARGEST = 1e300  # that a measurement holds
DRAWS = 2  # extremes differ little


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec, draws = subject.scaled, min(subject.draws, DRAWS)
    everything = [
        (one, scores(spec, one.signals))
        for draw in range(draws)
        for one in extremes(spec, seed=subject.draw_seed(draw))
    ]
    found = [(one, score) for one, score in everything if one.pattern != LOOSENED]
    yield from _etas(subject, spec, found, draws)
    yield from _scores(subject, spec, found, draws)
    exponents = [min(one, LARGEST) for one in _exponents(spec, everything)]
    if exponents:
        yield from subject.largest("reached_exponent", by_draw(exponents, draws, max))


def scores(spec: MixerSpec, signals: Signals) -> Tensor:
    """z_ij: in parallel, or step by step where an erase of far keys leaves nothing to solve for."""
    if spec.erase.is_identity:
        return quadratic.scores(spec, signals)
    return definition.scores(spec, signals)


def _etas(subject: Subject, spec: MixerSpec, found: list[tuple[Extreme, Tensor]], draws: int) -> Iterator[Measurement]:
    """The smallest |eta| and row sum of any query."""
    if spec.normalization.kind == "none":
        return
    sums, etas = zip(*(_eta(subject, spec, one.signals, score) for one, score in found), strict=True)
    for quantity, parts in (("reached_eta", [one.abs() for one in etas]), ("reached_row_sum", sums)):
        lowest = by_draw([_smallest(one) for one in parts], draws, min)
        yield from subject.smallest(quantity, [one for one in lowest if one < math.inf])


def _smallest(values: Tensor) -> float:
    """The smallest finite number; infinite where there is none."""
    finite = values[values.isfinite()]
    return float(finite.min()) if finite.numel() else math.inf


def _eta(subject: Subject, spec: MixerSpec, signals: Signals, score: Tensor) -> tuple[Tensor, Tensor]:
    """The row sums of phi (less what the stabiliser subtracts), and eta."""
    stable = spec.execution.stabiliser in ("row_max", "running_max")
    length = subject.candidate.target.seq_len
    weight, shift = rows.weights(spec, signals, score, stabilise=stable, target_len=length)
    row_sum = weight.sum(-1)
    return row_sum, rows.eta(spec, signals, row_sum, shift=shift, target_len=length)


def _scores(
    subject: Subject, spec: MixerSpec, found: list[tuple[Extreme, Tensor]], draws: int
) -> Iterator[Measurement]:
    """The largest argument of phi, the largest product q . k, and the scores against usual ones."""
    largest = [min(_largest(_seen(spec, score)), LARGEST) for _, score in found]
    yield from subject.largest("reached_score", by_draw(largest, draws, max))
    bare = [_largest(_products(one.signals, one.signals.k).abs()) for one, _ in found]
    yield from subject.largest("reached_product", by_draw([min(one, LARGEST) for one in bare], draws, max))
    written = [(one, _products(one.signals, terms.written_key(spec, one.signals))) for one, _ in found]
    usual_product = max(_rms(product) for one, product in written if (one.pattern, one.size) == ("random", USUAL))
    if usual_product > 0:
        grown = [min(_largest(product.abs()) / usual_product, LARGEST) for _, product in written]
        yield from subject.largest("product_growth", by_draw(grown, draws, max))
    usual = max(_rms(_seen(spec, score)) for one, score in found if (one.pattern, one.size) == ("random", USUAL))
    if usual > 0:
        grown = [min(one / usual, LARGEST) for one in largest]
        yield from subject.largest("score_growth", by_draw(grown, draws, max))


def _exponents(spec: MixerSpec, found: list[tuple[Extreme, Tensor]]) -> Iterator[float]:
    """Largest argument of an exponential in the readout or the gate; none where a stabiliser shifts it that no form
    here has (a fixed floor, a running maximum over gates).
    """
    shifted = spec.execution.stabiliser != "none"
    gated = spec.scaling.gate in ("exp", "exp_key")
    if gated and shifted and (spec.normalization.sums_the_row or spec.io.norm_is_per_head):
        return
    if spec.readout.kind == "exponential" and shifted and rows.shift_cancels(spec):
        if spec.execution.stabiliser != "floor":
            yield from (0.0 for _ in found)  # the largest of every row
        return
    for one, score in found:
        if spec.readout.kind == "exponential":
            yield _largest(_seen(spec, score))
        if gated and one.signals.gate is not None:
            yield float(one.signals.gate.log().max())


def _seen(spec: MixerSpec, score: Tensor) -> Tensor:
    """The arguments of phi within the support, after the softcap."""
    seen = capped(spec.readout, score)[..., terms.support_mask(spec, TOKENS)]
    return seen[~seen.isnan()]


def _largest(values: Tensor) -> float:
    return float(values.max()) if values.numel() else 0.0


def _rms(values: Tensor) -> float:
    finite = values[values.isfinite()]
    return math.sqrt(float(finite.square().mean())) if finite.numel() else 0.0


def _products(signals: Signals, key: Tensor) -> Tensor:
    """Every finite q . k without the base, flat."""
    product = torch.einsum("bthn,bshn->bhts", signals.q, key.expand(signals.q.shape[0], -1, -1, -1))
    return product[product.isfinite()]


probe = Probe(
    quantities={
        "reached_eta": "smallest |eta| that extreme inputs reach",
        "reached_row_sum": "smallest sum of phi over a row that extreme inputs reach",
        "reached_score": "largest argument of phi that extreme inputs reach",
        "reached_product": "largest |q . k| that extreme inputs reach",
        "reached_exponent": "largest argument of an exponential (readout or gate) that extreme inputs reach, less what"
        " the stabiliser subtracts",
        "product_growth": "largest q . k, with its gate, that extreme inputs reach, over the rms of usual ones",
        "score_growth": "largest score that extreme inputs reach, over the rms of scores of usual ones",
    },
    mixer=_mixer,
)
