"""P4: eigenvalues and commutators of the steps that inputs reach."""

from tests.agreement.judge import EXACT, Found, Judge, Reading, fails_where, missing, steered

NEGATIVE = -1e-6
COMPLEX = 1e-6
LINEAR = {"kind": "identity", "softcap": None}


def parity(found: Found) -> Reading:
    """CD401: every eigenvalue of every step is real and not negative."""
    lowest, imaginary = found.value("reached_eigenvalue"), found.value("reached_imaginary_part")
    if lowest is None or imaginary is None:
        return missing("reached_eigenvalue")
    text = f"smallest real part {lowest:.3g}, imaginary share {imaginary:.3g}"
    return fails_where(lowest >= NEGATIVE and imaginary <= COMPLEX, text)


def commuting(found: Found) -> Reading:
    """CD402: all steps commute."""
    one = found.value("commutator")
    if one is None:
        return missing("commutator")
    return fails_where(one <= EXACT, f"largest commutator {one:.3g}")


JUDGES = {
    "parity-excluded": Judge(
        parity,
        ("reached_steps",),
        steers=steered(
            {
                "readout": LINEAR,
                "erase": {"direction": "key", "gain": (0.0, 2.0), "per_channel": False},
                "features": {"norm": "l2"},
                "rotation": {"source": "none"},
                "support": {"mask": "causal", "window": None},
                "lift": {"kind": "none"},
            },
            {
                "readout": LINEAR,
                "rotation": {"source": "none"},
                "support": {"mask": "causal", "window": None},
                "lift": {"kind": "none"},
            },
            {
                "readout": LINEAR,
                "rotation": {"source": "none"},
                "erase": {"direction": "free"},
                "support": {"mask": "causal", "window": None},
                "lift": {"kind": "none"},
            },
        ),
        draws=2,
    ),
    "commuting-transitions": Judge(
        commuting,
        ("evolution",),
        steers=steered(
            {"readout": LINEAR, "support": {"mask": "causal", "window": None}, "lift": {"kind": "none"}},
            {
                "readout": LINEAR,
                "support": {"mask": "causal", "window": None},
                "erase": {"direction": "key"},
                "lift": {"kind": "none"},
            },
        ),
        draws=2,
    ),
}
