"""9xx: later tokens, the declared length, and rotary pairs."""

import torch

from tests.agreement.cases import mixer_case
from tests.agreement.judge import EXACT, Found, Judge, Reading, fails_where, missing, steered
from workers import coefficients as definition


def future_leak(found: Found) -> Reading:
    """CD901: an output changes with later tokens."""
    one = found.value("later_tokens")
    if one is None:
        return missing("later_tokens")
    return fails_where(one > EXACT, f"later tokens change an output by {one:.3g}")


def total_length(found: Found) -> Reading:
    """CD903: outputs change with the declared length alone."""
    one = found.value("total_length_effect")
    if one is None:
        return missing("total_length_effect")
    return fails_where(one > EXACT, f"the target length changes an output by {one:.3g}")


def rotary_pairs(found: Found) -> Reading:
    """CD904: the channels that a step turns are not the declared share of all."""
    subject, spec = found.subject, found.spec
    signals = subject.signals(spec, 0, 2, batch=1)
    if signals.angle is None:
        return missing("angle")
    turning = definition.rotation(spec, signals, 1)
    still = torch.eye(turning.shape[-1], dtype=turning.dtype)
    moved = int(((turning - still).abs().amax((0, 1, 3)) > 0).sum())
    if not moved:
        return Reading("undecided", "every angle starts at 0")
    asked = spec.rotation.fraction * turning.shape[-1]
    return fails_where(abs(moved - asked) > EXACT, f"{moved} channels turn, {asked:g} of {turning.shape[-1]} asked")


JUDGES = {
    "future-leak": Judge(
        future_leak,
        ("causality",),
        steers=steered(
            {"features": {"map": "softmax_pm", "map_over": "sequence"}, "support": {"mask": "causal"}},
            {"features": {"map": "softmax_pm", "map_over": "sequence"}, "support": {"mask": "strict"}},
        ),
        draws=2,
    ),
    "depends-on-total-length": Judge(
        total_length,
        ("total_length",),
        draw=lambda number: mixer_case(number, seq_len=64),
        steers=steered({"normalization": {"kind": "length", "length_kind": "target"}}, seq_len=64),
        draws=2,
    ),
    "broken-rotary-pairs": Judge(
        rotary_pairs,
        steers=steered(
            *({"rotation": {"source": "learned", "fraction": fraction}} for fraction in (0.25, 0.5, 0.75, 1.0))
        ),
    ),
}
