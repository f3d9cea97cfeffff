"""phi, the readout: the scalar function applied to every score. Source: arXiv 2510.09389, principles 1, 2 and 5."""

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Literal, assert_never

from pydantic import AfterValidator, Field, field_validator

from designspace.spec import LARGEST, SMALLEST, Number, Spec, invalid, within

MAX_DEGREE = 4
LOG_MAX_FLOAT64 = 709.0  # exp overflows just above
MAX_HALVINGS = 1100  # a bisection of any interval of float64 ends before
NOISE = 1e-14  # of the sum of |c_d z^d|: what rounding leaves of a polynomial at its root


def _finite_or_none(softcap: float) -> float:
    """A softcap; infinity says that there is none."""
    return softcap if softcap == math.inf else within(SMALLEST, LARGEST, softcap)


class _Base(Spec):
    """What every readout shares: an optional softcap, phi(c tanh(z / c))."""

    softcap: Annotated[float, Field(allow_inf_nan=True), AfterValidator(_finite_or_none)] | None = None

    @property
    def cap(self) -> float:
        """The softcap c; infinite when there is none."""
        return math.inf if self.softcap is None else self.softcap

    @property
    def is_capped(self) -> bool:
        """A finite softcap makes any readout nonlinear and bounded."""
        return self.softcap is not None and self.softcap != math.inf

    def capped(self, score: float) -> float:
        """c tanh(z / c), or z without a softcap."""
        cap = self.softcap
        return score if cap is None or cap == math.inf else cap * math.tanh(score / cap)


class Identity(_Base):
    """phi(z) = z. Zero only on a hyperplane of keys, so suppression is fragile (P2); the state is finite (P1)."""

    kind: Literal["identity"] = "identity"

    def raw(self, score: float) -> float:
        """phi without the softcap."""
        return score


class Polynomial(_Base):
    """phi(z) = c_0 + c_1 z + ... + c_p z^p with p <= 4: linear after a finite lift (P1)."""

    kind: Literal["polynomial"]
    coefficients: tuple[Number, ...]

    @field_validator("coefficients")
    @classmethod
    def _has_a_degree(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not 2 <= len(value) <= MAX_DEGREE + 1 or not any(value[1:]):
            raise invalid(
                "coefficients",
                f"`coefficients` must be [c_0, ..., c_p] with 1 <= p <= {MAX_DEGREE} and some c_d != 0 for d >= 1,"
                f" got {list(value)}.",
            )
        return value

    def raw(self, score: float) -> float:
        """phi without the softcap, by Horner's rule; infinite where it overflows float64."""
        return _horner(self.coefficients, score)


class Exponential(_Base):
    """phi(z) = exp(z). Tends to 0 on a half-line: suppression is robust (P2); no finite lift (P1)."""

    kind: Literal["exponential"]

    def raw(self, score: float) -> float:
        """phi without the softcap; infinite where it overflows float64."""
        return math.exp(score) if score < LOG_MAX_FLOAT64 else math.inf


class Sigmoid(_Base):
    """phi(z) = 1 / (1 + exp(-z - offset)), bounded. Source: sigmoid attention, arXiv 2409.04431.

    `offset` is a number, or `-log_length`: minus the log of the number of keys (see `normalization.length_kind`).
    """

    kind: Literal["sigmoid"]
    offset: Number | Literal["-log_length"] = 0.0

    def raw(self, score: float) -> float:
        """phi without the softcap; an offset `-log_length` counts as 0 here."""
        shifted = score + (self.offset if isinstance(self.offset, float) else 0.0)
        return 0.5 * (1.0 + math.tanh(0.5 * shifted))


class Relu(_Base):
    """phi(z) = max(z, 0)^power. Zero on the half-line z <= 0 (P2)."""

    kind: Literal["relu"]
    power: Literal[1, 2] = 1

    def raw(self, score: float) -> float:
        """phi without the softcap; infinite where it overflows float64."""
        positive = max(score, 0.0)
        return positive if self.power == 1 else positive * positive


class Softplus(_Base):
    """phi(z) = log(1 + exp(z)): positive, tends to 0 on a half-line (P2)."""

    kind: Literal["softplus"]

    def raw(self, score: float) -> float:
        """phi without the softcap."""
        return max(score, 0.0) + math.log1p(math.exp(-abs(score)))


Readout = Annotated[
    Identity | Polynomial | Exponential | Sigmoid | Relu | Softplus,
    Field(discriminator="kind"),
]


def value(readout: Readout, score: float) -> float:
    """phi(z), softcap included."""
    return readout.raw(readout.capped(score))


def function(readout: Readout) -> Callable[[float], float]:
    """phi as a function of the score alone, to be called many times."""
    cap, raw = readout.softcap, _unrolled(readout) if isinstance(readout, Polynomial) else readout.raw
    if cap is None or cap == math.inf:
        return raw
    return lambda score: raw(cap * math.tanh(score / cap))


def is_linear(readout: Readout) -> bool:
    """phi(z) = c z: the state needs no lift."""
    return monomials(readout) == {1}


def monomials(readout: Readout) -> set[int]:
    """Degrees d whose coefficient is not zero; empty where phi is not a polynomial."""
    return {d for d, c in enumerate(polynomial_coefficients(readout) or ()) if c != 0}


def polynomial_coefficients(readout: Readout) -> tuple[float, ...] | None:
    """(c_0, ..., c_p) where phi is a polynomial, else None."""
    if readout.is_capped:
        return None
    match readout:
        case Identity():
            return (0.0, 1.0)
        case Polynomial():
            return readout.coefficients
        case Exponential() | Sigmoid() | Relu() | Softplus():
            return None
        case _:
            assert_never(readout)


def homogeneous_degree(readout: Readout) -> int | None:
    """d with phi(c z) = c^d phi(z) for every c > 0, else None: then a constant factor only rescales the output (P5)."""
    if readout.is_capped:
        return None
    match readout:
        case Identity():
            return 1
        case Polynomial():
            found = monomials(readout)
            return found.pop() if len(found) == 1 else None
        case Relu():
            return readout.power
        case Exponential() | Sigmoid() | Softplus():
            return None
        case _:
            assert_never(readout)


@lru_cache(1024)
def infimum(readout: Readout) -> float:
    """inf phi over the reals; a softcap confines the score to (-c, c)."""
    if readout.is_capped:
        return _minimum(readout, readout.cap)
    match readout:
        case Identity():
            return -math.inf
        case Polynomial():
            return _polynomial_infimum(readout)
        case Exponential() | Sigmoid() | Relu() | Softplus():
            return 0.0
        case _:
            assert_never(readout)


def vanishes_on_half_line(readout: Readout) -> bool:
    """phi is exactly 0 for every z <= 0, so a whole row of scores can vanish."""
    match readout:
        case Relu():
            return True
        case Identity() | Polynomial() | Exponential() | Sigmoid() | Softplus():
            return False
        case _:
            assert_never(readout)


def _polynomial_infimum(readout: Polynomial) -> float:
    top = max(monomials(readout))
    if top % 2 or readout.coefficients[top] < 0:
        return -math.inf
    lower = sum(abs(c) for c in readout.coefficients[:top])
    bound = 1.0 + lower / readout.coefficients[top]  # Cauchy's bound holds for the roots of phi' too, up to p
    return _minimum(readout, bound * top)


def _minimum(readout: Readout, bound: float) -> float:
    """Minimum of phi without its softcap on [-bound, bound]; every phi but a polynomial rises with the score."""
    if not isinstance(readout, Polynomial):
        return readout.raw(-bound)
    turns = _sign_changes(_derivative(readout.coefficients), -bound, bound)
    return min(_without_noise(readout, score) for score in (-bound, *turns, bound))


def _without_noise(readout: Polynomial, score: float) -> float:
    """phi(z), 0 where it is no more than what rounding leaves."""
    found = readout.raw(score)
    terms = sum(abs(c * score**d) for d, c in enumerate(readout.coefficients))
    return 0.0 if abs(found) <= NOISE * terms else found


def _derivative(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(d * c for d, c in enumerate(coefficients))[1:]


def _sign_changes(coefficients: tuple[float, ...], low: float, high: float) -> list[float]:
    """Where the polynomial is 0 or changes its sign in [low, high]: at most once between two turns of it."""
    if len(coefficients) <= 1:
        return []
    turns = [low, *_sign_changes(_derivative(coefficients), low, high), high]
    found = [_sign_change(coefficients, left, right) for left, right in pairwise(turns)]
    return [score for score in found if score is not None]


def _sign_change(coefficients: tuple[float, ...], low: float, high: float) -> float | None:
    """The one sign change in [low, high], by bisection; None where both ends have the same sign."""
    rises = _horner(coefficients, low) <= 0
    if rises == (_horner(coefficients, high) < 0):
        return None
    for _ in range(MAX_HALVINGS):
        middle = 0.5 * (low + high)
        here = _horner(coefficients, middle)
        if here == 0 or middle in (low, high):
            return middle
        low, high = (middle, high) if (here < 0) == rises else (low, middle)
    return low


def _unrolled(polynomial: Polynomial) -> Callable[[float], float]:
    """Horner's rule without a loop, for finite scores."""
    first, second, third, fourth, fifth = (*polynomial.coefficients, 0.0, 0.0, 0.0)[: MAX_DEGREE + 1]
    return lambda z: first + z * (second + z * (third + z * (fourth + z * fifth)))


def _horner(coefficients: tuple[float, ...], score: float) -> float:
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * score + coefficient
    return value
