"""P2: can a key be switched off, by the readout or by a gate, and do the coefficients read the input at all?"""

from torch import Tensor

from designspace.candidate import single
from tests.agreement.judge import DRAWS, EXACT, Found, Judge, Reading, fails_where, measured, missing, steered
from workers.probes.selectivity import SPREADS

ROBUST = 0.3
FRAGILE = 0.02
TOLERANCE = 0.02  # of a near-zero fraction; fractions are smooth in the limits except where they are 0
SMALL_TOLERANCE = 0.001
CLOSED = 0.01  # of a factor that keeps or writes a key: it is switched off
PROJECTS = 0.01  # eigenvalue of an erase step
NEAR_ZERO = 0.01  # of the mean |phi|
QUIET = 1e-3  # score base
ATTAINED = 1.01  # times the floor: phi rises again towards both ends


def fragile(found: Found) -> Reading:
    """CD201: near-zero fractions below 0.02 at s = 1 and 4, below 0.3 at 16, no floor, and no gate that closes."""
    fractions = [found.value(f"near_zero_fraction_at_{spread}") for spread in SPREADS]
    if None in fractions:
        return missing("near_zero_fraction")
    first, second, last = (fraction or 0.0 for fraction in fractions)
    if found.spec.lift.kind in ("momentum", "delay1"):
        return Reading("undecided", f"what `lift: {found.spec.lift.kind}` keeps of a key is not measured")
    gate, floor = closing_gate(found), has_floor(found)
    text = f"f = {first:.3f}, {second:.3f}, {last:.3f}; floor {floor}; gate {gate or 'none'}"
    if abs(last - ROBUST) <= TOLERANCE or abs(max(first, second) - FRAGILE) <= SMALL_TOLERANCE:
        return Reading("undecided", text)
    return fails_where(last < ROBUST and not floor and max(first, second) < FRAGILE and gate is None, text)


def positive_floor(found: Found) -> Reading:
    """CD202: |phi| has a smallest value above 0."""
    last = found.value("near_zero_fraction_at_16")
    if last is None:
        return missing("near_zero_fraction_at_16")
    names = ("readout_floor", "readout_ends", "readout_size")
    text = ", ".join(f"{name} {found.value(name):.3g}" for name in names) + f", f(16) = {last:.3f}"
    return Reading("undecided", text) if abs(last - ROBUST) <= TOLERANCE else fails_where(has_floor(found), text)


def has_floor(found: Found) -> bool:
    """A minimum of |phi| that is attained and not itself nearly zero; or one that |phi| only tends to, and seldom."""
    floor, ends = found.value("readout_floor") or 0.0, found.value("readout_ends") or 0.0
    if floor <= 0.0:
        return False
    if ends > ATTAINED * floor:
        return floor > NEAR_ZERO * (found.value("readout_size") or 0.0)
    return (found.value("near_zero_fraction_at_16") or 0.0) < ROBUST


def closing_gate(found: Found) -> str | None:
    """What inputs can close: a gate that writes, a step that keeps, an erase that projects, a gate on the value.

    All but the last make a score 0, which switches a key off only where phi(0) is nearly 0.
    """
    spec = found.spec
    if spec.io.value_gate != "none":
        return "value"
    at_zero, usual = found.value("readout_at_zero"), found.value("readout_size")
    if at_zero is None or usual is None or at_zero > NEAR_ZERO * usual:
        return None
    gate, decay = found.value("reached_gate"), found.value("reached_log_decay")
    kept = found.value("reached_eigenvalue")
    tied = spec.scaling.gate in ("complement", "sqrt_1_minus_a2")
    if gate is not None and gate < CLOSED and (spec.decay.reads_input or not tied):
        return "write"
    if decay is not None and decay < -4.6 and spec.decay.reads_input:  # ln of 0.01
        return "decay"
    erases = not spec.erase.is_identity and kept is not None and kept <= PROJECTS
    return "erase" if erases else None


def input_independent(found: Found) -> Reading:
    """CD203: no row changes its shape when all tokens do, and no gate on the value either."""
    spans = (found.spec.support.window, found.spec.support.chunk, found.spec.lift.width)
    alone = 1 in spans or (found.spec.support.mask == "strict" and 2 in spans)
    name = "alpha_change" if alone else "row_shape_change"  # a row of one key has no shape
    change = found.value(name)
    if change is None:
        return missing(name)
    if change <= EXACT:
        change = max(change, quiet(found).value(name) or 0.0)
    if change == 0.0 and not coefficients(found).any():
        return Reading("undecided", "every coefficient starts at 0")
    gated = found.spec.io.value_gate != "none"
    return fails_where(change <= EXACT and not gated, f"rows change by {change:.3g}{', gated values' * gated}")


def quiet(found: Found) -> Found:
    """The measurements at scores that are small: large ones saturate a readout, so that nothing seems to change."""
    spec = found.spec.model_copy(update={"scaling": found.spec.scaling.model_copy(update={"base": QUIET})})
    alone = single(spec, target=found.candidate.target)
    return measured(alone, probes=("input_dependence",), draws=DRAWS)


def coefficients(found: Found) -> Tensor:
    """The coefficients of random tokens at the start."""
    mixer = found.subject
    return mixer.coefficients(mixer.small, 0, mixer.signals(mixer.small, 0, mixer.length))


JUDGES = {
    "fragile-zero-set": Judge(
        fragile,
        ("selectivity", "reached_gates", "reached_steps"),
        steers=steered(
            {
                "readout": {"kind": "identity", "softcap": None},
                "io": {"value_gate": "none"},
                "scaling": {"gate": "none"},
                "decay": {"granularity": "none"},
                "erase": {"direction": "none"},
            }
        ),
        draws=2,
    ),
    "positive-floor": Judge(
        positive_floor,
        ("selectivity",),
        steers=steered(
            {"readout": {"kind": "identity", "softcap": None}, "features": {"map": "taylor2", "norm": "none"}},
            {"readout": {"kind": "polynomial", "coefficients": (1.0, 1.0, 0.5)}},
            {"readout": {"kind": "polynomial", "coefficients": (1.5, 0.0, 1.0)}},
            {"readout": {"kind": "exponential", "softcap": 1.0}},
        ),
        draws=2,
    ),
    "input-independent": Judge(
        input_independent,
        ("input_dependence",),
        steers=steered(
            {
                "features": {"map": "static"},
                "decay": {"granularity": "scalar", "source": "learned", "map": "sigmoid"},
                "scaling": {"gate": "none"},
                "io": {"value_gate": "none"},
                "erase": {"direction": "none"},
                "shear": {"source": "none"},
            },
            {
                "features": {"map": "static"},
                "decay": {"granularity": "none"},
                "scaling": {"gate": "index"},
                "io": {"value_gate": "none"},
                "erase": {"direction": "none"},
                "support": {"mask": "causal"},
            },
        ),
        draws=2,
    ),
}
