"""Symbolic against measured: the fingerprint of a mixer and its float64 coefficients on random signals.

Every rewriting keeps both; a changed field that changes the fingerprint changes the coefficients, or stands in BLIND
with the reason why random signals cannot see it. The facts of theory.md section 1 that are no rewritings follow.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from designspace.canonical import REWRITINGS, canonical, function, mixer_fingerprint
from designspace.decay import Decay
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential, Identity
from designspace.rewritings import amplitude, degenerate, equivalences, parts
from designspace.rewritings.equivalences import UP_TO_ROW_FACTOR, amplitude_is_void
from designspace.shear import Shear
from tests.strategies import random_mixer
from workers import terms
from workers.behaviour import behavioural_hash
from workers.coefficients import coefficients, transition
from workers.realise import random_signals
from workers.signals import Signals

Rewriting = Callable[[MixerSpec], MixerSpec]
Fixed = dict[str, dict[str, Any]]

DRAWS = 200
PAIRS = 2_000
FACTS = 50
SHORT, SEQ_LEN = 5, 9
KEPT = 1.0e-9  # relative to the largest coefficient of a row, times the condition of the row
SMALL = 1.0e-4  # a score that a softcap of 1 changes by 1e-13
CHANGED = 1.0e-11  # relative to the same: less is no change

IDENTITY = {"kind": "identity", "softcap": None}
SOFTMAX: Fixed = {
    "readout": {"kind": "exponential", "softcap": None},
    "normalization": {"kind": "sum", "eps": 0.0},
    "features": {"map": "ones", "width": None},
    "decay": {"granularity": "none"},
    "rotation": {"source": "none"},
    "erase": {"direction": "none", "rank": 1, "per_channel": False, "compose": "product"},
    "lift": {"kind": "none", "width": None},
    "scaling": {"gate": "none", "cap": None, "initial": None, "where": "score"},
    "support": {"read": "after", "diagonal": "none"},
}
PLAIN: Fixed = {  # a causal mixer of one product q . A...A k and nothing beside
    "erase": {"direction": "none", "rank": 1, "per_channel": False, "compose": "product"},
    "shear": {"source": "none", "slopes": None, "width": None},
    "lift": {"kind": "none", "width": None},
    "scaling": {"gate": "none", "cap": None, "initial": None, "where": "score"},
    "normalization": {"kind": "none"},
    "features": {"map": "identity", "width": None},
    "support": {"mask": "causal", "read": "after", "diagonal": "none", "window": None, "chunk": None},
}
FORCED: dict[Rewriting, Callable[[Random], Fixed]] = {  # into domains that a random mixer rarely meets
    parts.step_default: lambda rng: {
        "scaling": {"gate": "dt", "cap": None, "where": rng.choice(("q", "score"))},
        "decay": {"map": "exp_softplus", "source": rng.choice(("input", "learned"))},
    },
    parts.gate_initial_off: lambda rng: {
        "decay": {"granularity": rng.choice(("scalar", "diagonal")), "source": "input", "map": "complement"},
        "scaling": {"gate": "sigmoid", "where": "score", "cap": None},
    },
    degenerate.widths_within_support: lambda rng: {
        "support": {"window": 2, "chunk": None},
        "lift": rng.choice(({}, {"kind": "shift", "width": 4})),
    },
    degenerate.evolution_unseen: lambda _: {"support": {"window": 1, "chunk": None}},
    degenerate.length_of_one: lambda rng: {
        "support": {"window": 1, "chunk": None},
        "normalization": {"length_kind": "visible", "kind": rng.choice(("length", "sum"))},
        "readout": rng.choice(({}, {"kind": "sigmoid", "offset": "-log_length"})),
    },
    degenerate.support_of_one: lambda _: {"support": {"window": None, "chunk": 1}},
    amplitude.polynomial_trimmed: lambda _: {"readout": {"kind": "polynomial"}},
    amplitude.polynomial_linear: lambda rng: {
        "readout": {"kind": "polynomial", "softcap": None, "coefficients": (0.0, round(rng.uniform(0.2, 3.0), 3))},
        "shear": {"source": "none", "slopes": None, "width": None},
    },
    equivalences.constant_score: lambda rng: (
        SOFTMAX | {"features": {"map": rng.choice(("ones", "static")), "width": None}}
    ),
    equivalences.taylor_features: lambda _: (
        SOFTMAX
        | {
            "readout": IDENTITY,
            "normalization": {},
            "features": {"map": "taylor2", "width": None, "norm": "none"},
            "scaling": SOFTMAX["scaling"] | {"learnable": False, "query_schedule": "none"},
        }
    ),
    equivalences.head_norm: lambda rng: {
        "readout": rng.choice((IDENTITY, IDENTITY, {"kind": "polynomial", "softcap": None})),
        "io": {"output_norm": rng.choice(("head_rms", "head_ln")), "gate": "none"},
    },
}


def _alpha(mixer: MixerSpec, signals: Signals | None = None) -> Tensor:
    with torch.no_grad():
        return coefficients(mixer, signals or _signals(mixer))


def _signals(mixer: MixerSpec, *, seq_len: int = SHORT, batch: int = 1) -> Signals:
    return random_signals(mixer, seed=7, batch=batch, seq_len=seq_len)


def _row_scale(alpha: Tensor) -> Tensor:
    return torch.where(alpha.isfinite(), alpha.abs(), 0.0).amax(-1, keepdim=True)


def _without_row_factor(alpha: Tensor) -> Tensor:
    scale = _row_scale(alpha)
    return alpha / torch.where(scale > 0, scale, 1.0)


def _agree(first: Tensor, second: Tensor, tolerance: float | Tensor) -> bool:
    """Equal rows: both not finite, or closer than the tolerance relative to the largest entry."""
    if first.shape != second.shape:
        return False
    finite = first.isfinite().all(-1, keepdim=True)
    if not torch.equal(finite, second.isfinite().all(-1, keepdim=True)):
        return False
    difference = torch.where(finite, first - second, 0.0).abs()
    return bool((difference <= tolerance * _row_scale(first)).all())


def _condition(mixer: MixerSpec) -> Tensor:
    """Sum of |phi| over |sum of phi| for each row where eta is a row sum: how far rounding is amplified."""
    if not mixer.normalization.sums_the_row:
        return torch.ones(())
    plain = mixer.normalization.model_copy(update={"kind": "none", "factor": 1.0})
    support = mixer.support
    if support.read == "after":
        support = support.model_copy(update={"diagonal": "none"})
    weight = _alpha(mixer.model_copy(update={"normalization": plain, "support": support}), _signals(mixer))
    total = weight.sum(-1, keepdim=True).abs()
    return (weight.abs().sum(-1, keepdim=True) / total.clamp(min=1e-300)).clamp(min=1.0).nan_to_num(nan=1e300)


def _in_domain(rewriting: Rewriting, rng: Random) -> MixerSpec:
    while True:
        mixer = random_mixer(rng, fixed=FORCED[rewriting](rng) if rewriting in FORCED else None)
        if rewriting(mixer) is not mixer:
            return mixer


def _same_parameters(before: MixerSpec, after: MixerSpec) -> tuple[Signals, Signals]:
    """Signals of both; a table or filter that became narrower is the first part of the wider one."""
    first, second = _signals(before), _signals(after)
    if first.table is not None and after.shear.width is not None:
        second = replace(second, table=first.table[..., : after.shear.width])
    if first.taps is not None and after.lift.width is not None:
        second = replace(second, taps=first.taps[..., : after.lift.width])
    return first, second


@pytest.mark.parametrize("rewriting", REWRITINGS, ids=lambda rewriting: rewriting.__name__)
def test_a_rewriting_keeps_the_fingerprint_and_the_coefficients(rewriting: Rewriting) -> None:
    rng = Random(rewriting.__name__)
    for _ in range(DRAWS):
        before = _in_domain(rewriting, rng)
        after = rewriting(before)
        assert mixer_fingerprint(after) == mixer_fingerprint(before), before
        assert MixerSpec.model_validate(after.model_dump()) == after
        first, second = (
            _alpha(mixer, signals)
            for mixer, signals in zip((before, after), _same_parameters(before, after), strict=True)
        )
        if rewriting in UP_TO_ROW_FACTOR:
            first, second = _without_row_factor(first), _without_row_factor(second)
        assert _agree(first, second, KEPT) or _agree(first, second, KEPT * _condition(before)), before


def test_the_canonical_form_keeps_the_behavioural_hash() -> None:
    rng = Random(11)
    for _ in range(DRAWS):
        mixer = random_mixer(rng)
        form = canonical(mixer)
        if (form.shear.width, form.lift.width) == (mixer.shear.width, mixer.lift.width):
            assert behavioural_hash(form) == behavioural_hash(mixer), mixer


def test_the_behavioural_hash_tells_fingerprints_apart() -> None:
    rng = Random(12)
    found: dict[str, set[str]] = {}
    for _ in range(DRAWS):
        mixer = random_mixer(rng)
        found.setdefault(behavioural_hash(mixer), set()).add(mixer_fingerprint(mixer))
    shared = [group for group in found.values() if len(group) > 1]
    assert len(found) > 0.9 * DRAWS
    assert sum(map(len, shared)) < 0.1 * DRAWS  # all coefficients 0 or not finite


@dataclass(frozen=True)
class Pair:
    """Two mixers that differ in one field and in fingerprint, with what was measured."""

    field: str
    first: MixerSpec
    second: MixerSpec
    signals: tuple[Signals, Signals]
    alpha: tuple[Tensor, Tensor]

    scores: tuple[Tensor, Tensor]

    def either(self, holds: Callable[[MixerSpec], bool]) -> bool:
        """It holds for one of the two."""
        return holds(self.first) or holds(self.second)


@dataclass(frozen=True)
class Blind:
    """Fields whose change the coefficients of random signals cannot show under a condition."""

    fields: tuple[str, ...]
    reason: str
    holds: Callable[[Pair], bool]


def _nothing_finite(pair: Pair) -> bool:
    alpha = pair.alpha[0]
    return not (torch.where(alpha.isfinite(), alpha, 0.0) != 0).any()


def _nothing_read(pair: Pair) -> bool:
    return all(not (scores.nan_to_num() != 0).any() for scores in pair.scores)


def _only_diagonal(pair: Pair) -> bool:
    own = torch.eye(SEQ_LEN, dtype=torch.bool).repeat_interleave(pair.first.erase.rank, dim=1)
    return any(
        all(not (torch.where(own, 0.0, values).nan_to_num() != 0).any() for values in both)
        for both in (pair.scores, pair.alpha)
    )


def _next_key_at_most(pair: Pair) -> bool:
    """Reading before the step, a query of window 2 sees the product of no step."""

    def reach(mixer: MixerSpec) -> int:
        return (mixer.support.window or mixer.support.chunk or SEQ_LEN) - (mixer.support.read == "before")

    return pair.either(lambda mixer: reach(mixer) <= 1)


def _decay_is_zero(pair: Pair) -> bool:
    """A product of one step or more is 0, whatever else is in it."""
    return all(
        signals.log_decay is not None and bool((signals.log_decay == -math.inf).all()) for signals in pair.signals
    )


def _keys_never_meet(pair: Pair) -> bool:
    """No query reads along its own key what that key erases of one seen before (two relu channels are often 0)."""
    queries, keys = pair.signals[0].q, pair.signals[0].k
    if keys.shape[1] != SEQ_LEN:
        return False
    erased = torch.einsum("bihn,bjhn->bhij", keys, keys).tril(-1)
    read = torch.einsum("bihn,bihn->bhi", queries, keys).unsqueeze(-1)
    seen = terms.support_mask(pair.first, SEQ_LEN)
    return bool((torch.where(seen, erased * read, 0.0).abs() <= KEPT).all())


def _one_key_per_row(pair: Pair) -> bool:
    """Each row is one coefficient that its norm leaves no size."""
    single = all(int((alpha != 0).sum(-1).max()) <= 1 for alpha in pair.alpha)
    return single and (_has_head_norm(pair.first) or pair.first.normalization.sums_the_row)


def _equal_scores(pair: Pair) -> bool:
    """The scores of a row are equal and the row has no size of its own."""
    scores = pair.scores[0]
    seen = scores != 0
    spread = torch.where(seen, scores, -torch.inf).amax(-1) - torch.where(seen, scores, torch.inf).amin(-1)
    equal = bool((spread.nan_to_num(neginf=0.0) <= KEPT * scores.abs().amax()).all())
    return equal and (_has_head_norm(pair.first) or pair.first.normalization.sums_the_row)


def _all_positive(pair: Pair) -> bool:
    return not (pair.scores[0] < 0).any()


def _too_small(pair: Pair) -> bool:
    return bool((pair.scores[0].abs() < SMALL).all())


def _same_signals(pair: Pair) -> bool:
    """The field changes how signals come about, not which ones: they are equal at the start of training."""
    for field in fields(Signals):
        first, second = (getattr(signals, field.name) for signals in pair.signals)
        if field.name in ("log_decay", "angle"):  # none is 0
            first, second = (torch.zeros(1, 1, 1, 1) if signal is None else signal for signal in (first, second))
        if first is None and second is None:
            continue
        if first is None or second is None:
            return False
        if any(size != other and 1 not in (size, other) for size, other in zip(first.shape, second.shape, strict=True)):
            return False
        if bool(((first - second).abs().nan_to_num() > KEPT).any()):
            return False
    return True


def _same_keys_seen(pair: Pair) -> bool:
    return all(
        pair.first.support.visible(position, SEQ_LEN) == pair.second.support.visible(position, SEQ_LEN)
        for position in range(SEQ_LEN)
    )


def _hidden_is_zero(pair: Pair) -> bool:
    """What only one of the two shows is nothing beside the rest of its row."""
    seen = [terms.support_mask(mixer, SEQ_LEN) for mixer in (pair.first, pair.second)]
    hidden = seen[0] != seen[1]
    return all(
        bool((torch.where(hidden, alpha, 0.0).abs() <= CHANGED * _row_scale(alpha)).all()) for alpha in pair.alpha
    )


def _scale_is_void(mixer: MixerSpec) -> bool:
    scale_free = mixer.features.norm in ("l2", "rms", "rms_weighted", "layernorm") or mixer.features.map == "rff"
    positive_homogeneous = mixer.readout.kind in ("identity", "relu", "polynomial")
    return scale_free or (positive_homogeneous and (mixer.normalization.kind == "sum" or _has_head_norm(mixer)))


def _has_head_norm(mixer: MixerSpec) -> bool:
    return amplitude_is_void(canonical(mixer))


EVOLUTION = ("decay", "rotation", "erase", "shear", "lift", "features.norm_order")
START = ("decay", "scaling", "rotation", "heads", "erase", "features", "lift")
ANY = ("",)
BLIND = (
    Blind(ANY, "no coefficient is finite and other than 0", _nothing_finite),
    Blind(ANY, "nothing is written or read: keys, gates or decay 0, so every q.h is 0", _nothing_read),
    Blind(("scaling.query_schedule",), "it acts from position 8192 on", lambda _: True),
    Blind(("support.window", "support.chunk"), "it reaches beyond the sequence", _same_keys_seen),
    Blind(("support.window", "support.chunk"), "what it hides has coefficient 0: filter, relu", _hidden_is_zero),
    Blind(EVOLUTION, "the diagonal is all there is: decay 0, relu of negative scores", _only_diagonal),
    Blind(EVOLUTION, "no product of A is read: window 1, or 2 before the step", _next_key_at_most),
    Blind(("rotation", "erase", "shear"), "decay 0: every product of A but the empty one is 0", _decay_is_zero),
    Blind(("erase.direction", "erase.gain"), "keys that never meet: nothing of one is erased", _keys_never_meet),
    Blind(ANY, "one key per row: its size is void and its coefficient a sign", _one_key_per_row),
    Blind(ANY, "equal scores in a row of void size: without a token, of `ones`", _equal_scores),
    Blind(START, "the start of training: the same signals, learned or mapped in another way", _same_signals),
    Blind(
        ("features.q_std", "features.k_std"),
        "a scale that a norm divides out",
        lambda pair: pair.either(_scale_is_void),
    ),
    Blind(
        ("features.gain",),
        "a learned gain starts as a factor that the head norm or the row sum divides out",
        lambda pair: _has_head_norm(pair.first) or pair.first.normalization.kind == "sum",
    ),
    Blind(
        ("scaling.gate",),
        "the gate of a constant decay is a constant factor, void under a head norm",
        lambda pair: pair.first.decay.source == "constant" and _has_head_norm(pair.first),
    ),
    Blind(
        ("normalization", "scaling.base", "readout.softcap"),
        "max(|sum|, 1) is 1, or the sum, in every row of the sample",
        lambda pair: pair.either(lambda mixer: mixer.normalization.kind == "max_abs_sum_1"),
    ),
    Blind(
        ("normalization.length_kind",),
        "without a mask every query sees the whole sequence",
        lambda pair: pair.first.support.mask == "none",
    ),
    Blind(
        ("features.norm", "features.map"),
        "the vectors have that norm already, or one channel of it has a sign only",
        lambda pair: pair.first.key_dim == 1 or pair.first.features.map in ("softmax_pm", "rff", "ones"),
    ),
    Blind(("readout.kind",), "the scores are positive: relu is the identity there", _all_positive),
    Blind(("readout.softcap",), "the scores are too small to be capped", _too_small),
    Blind(
        ("heads.state_dim", "heads.kv_groups", "heads.shared", "rotation.pairing"),
        "keys of `ones` are equal in every channel and head",
        lambda pair: pair.first.features.map == "ones",
    ),
)


def _changed_in_one_field(rng: Random) -> tuple[str, MixerSpec, MixerSpec]:
    """Two mixers that differ in one field of the function and in fingerprint."""
    while True:
        first, donor = random_mixer(rng), random_mixer(rng)
        part = rng.choice([name for name in MixerSpec.model_fields if name not in ("io", "execution", "lint")])
        name = rng.choice(list(type(getattr(first, part)).model_fields))
        theirs = getattr(getattr(donor, part), name, None)
        if f"{part}.{name}" == "heads.head_dim" or not hasattr(getattr(donor, part), name):
            continue
        data = first.model_dump()
        data[part] |= {name: theirs} if name != "kind" or part != "readout" else donor.readout.model_dump()
        if part == "readout" and name == "kind":
            data[part] = donor.readout.model_dump() | {"softcap": first.readout.softcap}
        try:
            second = MixerSpec.model_validate(data)
        except ValidationError:
            continue
        if mixer_fingerprint(first) != mixer_fingerprint(second):
            return f"{part}.{name}", function(first), function(second)


def _measured(field: str, first: MixerSpec, second: MixerSpec) -> Pair | None:
    """None where the coefficients differ."""
    signals = _signals(first, seq_len=SEQ_LEN, batch=2), _signals(second, seq_len=SEQ_LEN, batch=2)
    alpha = _alpha(first, signals[0]), _alpha(second, signals[1])
    void = _has_head_norm(first) and _has_head_norm(second)
    one, other = map(_without_row_factor, alpha) if void else alpha
    if not _agree(one, other, CHANGED):
        return None
    scores = _scores(first, signals[0]), _scores(second, signals[1])
    return Pair(field, first, second, signals, alpha, scores)


def _scores(mixer: MixerSpec, signals: Signals) -> Tensor:
    """q.h where it is seen, without shear, readout, eta and what is added outside."""
    support = mixer.support
    if support.read == "after":
        support = support.model_copy(update={"diagonal": "none"})
    bare = {"readout": Identity(), "normalization": Normalization(), "shear": Shear(), "support": support}
    return _alpha(mixer.model_copy(update=bare), signals)


def _reason(pair: Pair) -> str | None:
    for blind in BLIND:
        if any(pair.field.startswith(field) for field in blind.fields) and blind.holds(pair):
            return blind.reason
    return None


def test_a_changed_field_changes_the_coefficients() -> None:
    rng = Random(20261)
    reasons: dict[str, int] = {}
    unexplained = []
    for _ in range(PAIRS):
        pair = _measured(*_changed_in_one_field(rng))
        if pair is None:
            continue
        reason = _reason(pair)
        if reason is None:
            unexplained.append((pair.field, pair.first, pair.second))
        else:
            reasons[reason] = reasons.get(reason, 0) + 1
    print(sum(reasons.values()), "of", PAIRS, "pairs look equal:", reasons)
    assert not unexplained, unexplained[:3]
    assert sum(reasons.values()) < 0.15 * PAIRS


def test_a_constant_scalar_decay_is_a_shear_outside_a_linear_readout_only() -> None:
    """Equivalence 2: a^(i-j) z = exp(s (i-j)) z with s = log a; exp(a^(i-j) z) is not exp(z + s (i-j))."""
    fixed: Fixed = {"decay": {"granularity": "none"}, "rotation": {"source": "none"}} | PLAIN
    decay = Decay(granularity="scalar", source="constant", map="fixed", range=(0.7, 0.7))
    lag = torch.arange(SHORT)[:, None] - torch.arange(SHORT)
    outside = torch.where(lag >= 0, 0.7 ** lag.clamp(min=0).double(), 0.0)
    rng = Random(2)
    for _ in range(FACTS):
        plain = random_mixer(rng, fixed=fixed | {"readout": IDENTITY})
        decayed = plain.model_copy(update={"decay": decay})
        assert _agree(_alpha(decayed), _alpha(plain) * outside, KEPT)
        exponential = {"readout": Exponential(kind="exponential")}
        inside, beside = (_alpha(mixer.model_copy(update=exponential)) for mixer in (decayed, plain))
        difference = (inside - beside * outside).nan_to_num()
        assert difference.abs().max() > KEPT


@pytest.mark.parametrize("gain", [0.0, 0.3, 0.99, 1.0, 2.0])
def test_an_erase_with_unit_keys_projects_or_reflects(gain: float) -> None:
    """Equivalence 7: the eigenvalue along the key is 1 - beta: 0 at 1, -1 at 2, in (0, 1) below 1."""
    fixed: Fixed = {
        "readout": IDENTITY,
        "erase": {"direction": "free", "rank": 1, "gain": (gain, gain), "per_channel": False, "compose": "product"},
        "decay": {"granularity": "none"},
        "rotation": {"source": "none"},
        "lift": {"kind": "none", "width": None},
        "support": {"mask": "causal"},
    }
    rng = Random(7)
    for _ in range(FACTS // 5):
        mixer = random_mixer(rng, fixed=fixed)
        signals = _signals(mixer)
        assert signals.direction is not None
        direction = torch.nn.functional.normalize(signals.direction, dim=-1)
        matrix = transition(mixer, replace(signals, direction=direction), 2) if gain else torch.eye(mixer.key_dim)
        values = torch.linalg.eigvalsh(matrix.double())
        assert torch.allclose(values[..., 0], torch.tensor(1.0 - gain).double(), atol=KEPT)
        assert torch.allclose(values[..., 1:], torch.ones(()).double(), atol=KEPT)
        if gain in (1.0, 2.0):
            power = matrix if gain == 1.0 else torch.eye(mixer.key_dim).double().expand_as(matrix)
            assert torch.allclose(matrix @ matrix, power, atol=KEPT)


def test_a_time_invariant_decay_with_static_keys_is_a_convolution() -> None:
    """Equivalence 8: the coefficients depend on i - j only, and not on the tokens."""
    fixed: Fixed = PLAIN | {
        "readout": IDENTITY,
        "features": {"map": "static", "width": None, "norm": "none"},
        "decay": {"source": "learned", "map": "sigmoid", "range": (0.1, 1.0), "initial": (0.3, 0.9)},
        "rotation": {"source": "constant", "fraction": 1.0},
        "heads": {"state_dim": 4},
    }
    rng = Random(8)
    for _ in range(FACTS):
        alpha = _alpha(random_mixer(rng, fixed=fixed), None)
        for lag in range(SHORT):
            band = alpha.diagonal(-lag, dim1=-2, dim2=-1)
            assert torch.allclose(band, band[..., :1].expand_as(band), rtol=KEPT, atol=KEPT * float(alpha.abs().max()))


def test_an_exponential_of_an_additive_score_factorises() -> None:
    """Equivalence 9: with a constant query exp(z_ij) = exp(f_i) exp(g_j): every 2 x 2 minor below the diagonal is 0."""
    fixed: Fixed = PLAIN | {
        "readout": {"kind": "exponential", "softcap": None},
        "features": {"map": "ones", "width": None, "norm": "none"},
        "decay": {"granularity": "none"},
        "rotation": {"source": "none"},
        "shear": {"source": "input", "slopes": None, "width": None},
        "scaling": {"gate": "sigmoid", "cap": None, "where": "score"},
    }
    rng = Random(9)
    for _ in range(FACTS):
        mixer = random_mixer(rng, fixed=fixed)
        assert mixer.score_is_additive
        assert mixer.is_finite_memory
        block = _alpha(mixer)[..., 2:, :2]  # rows 2.. see keys 0 and 1
        minors = block[..., :-1, 0] * block[..., 1:, 1] - block[..., 1:, 0] * block[..., :-1, 1]
        assert (minors.abs() <= KEPT * block.abs().amax((-1, -2))[..., None] ** 2).all()


@pytest.mark.parametrize("field", ["value_activation", "value_gate", "output_norm", "norm_eps", "gate", "order"])
def test_the_output_stage_does_not_enter_the_coefficients(field: str) -> None:
    rng = Random(field)
    for _ in range(20):
        first, donor = random_mixer(rng), random_mixer(rng)
        io = first.io.model_copy(update={field: getattr(donor.io, field)})
        assert torch.equal(
            _alpha(first).nan_to_num(), _alpha(first.model_copy(update={"io": io}), _signals(first)).nan_to_num()
        )
