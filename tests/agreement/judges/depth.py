"""Claims about the whole stack: does the first token reach the last output, do tokens become alike, is it causal?"""

from random import Random

from designspace.candidate import Block, Candidate, ChannelMixer, Skip
from designspace.composition import Parallel
from designspace.target import Target
from tests.agreement.cases import SHORT, degenerate, stack_case
from tests.agreement.judge import Found, Judge, Reading, fails_where, missing
from tests.strategies import random_mixer

UNSEEN = 0.0  # what lies beyond the windows does not enter at all, but for rounding of forms that take it out again
LEAKED = 3e-5
ROUNDING = 1e-5  # of the stack, which runs in float32
COLLAPSED = 0.29  # of the distance to the mean token, after four uniform averages of 64 tokens
FACTOR = 1.5
LASTING = {
    "decay": {"granularity": "none"},
    "erase": {"direction": "none"},
    "shear": {"source": "none"},
    "lift": {"kind": "none"},
}
WHOLE = {"mask": "causal", "window": None, "chunk": None}
LIVELY = {"map": "identity", "norm": "none", "eps": 1e-6}
WIDE = {  # few channels hold no distances
    "layout": "multi",
    "num_heads": 4,
    "state_dim": 16,
    "head_dim": 16,
    "kv_groups": None,
    "latent_dim": None,
    "shared_key_dim": 0,
}


def short_reach(found: Found) -> Reading:
    """CD703: the last output does not depend on the first token at all."""
    one = found.stack.get("first_token_effect")
    if one is None:
        return missing("first_token_effect")
    text = f"the first token changes the last output by {one.value:.3g}"
    if UNSEEN < one.value <= LEAKED:
        return Reading("undecided", text)
    return fails_where(one.value == UNSEEN, text)


def backwards(found: Found) -> Reading:
    """CD907: an output of the stack changes with later tokens, and no mixer of it does so on its own."""
    one = found.stack.get("later_tokens")
    mixers = [located.mixer for located in found.candidate.mixers()]
    if one is None:
        return missing("later_tokens")
    if any(mixer.support.mask == "none" or mixer.features.map_over == "sequence" for mixer in mixers):
        return Reading("undecided", "a mixer reads later tokens itself")
    return fails_where(one.value > ROUNDING, f"later tokens change an output by {one.value:.3g}")


def collapse(found: Found) -> Reading:
    """CD704: after the stack, tokens keep less of their distance to the mean token than four averages leave (0.29).

    An estimate of the order is held against a factor 1.5 to both sides.
    """
    one = found.stack.get("distance_to_mean")
    if one is None:
        return missing("distance_to_mean")
    text = f"distance to the mean token {one.value:.3g} ± {one.uncertainty:.2g}"
    low, high = one.value - one.uncertainty, one.value + one.uncertainty
    if high < COLLAPSED / FACTOR:
        return Reading("fail", text)
    return Reading("pass" if low > COLLAPSED * FACTOR else "undecided", text)


def lasting_stack(number: int) -> Candidate:
    """A random stack in which no key fades or falls on the zeros of phi: there an effect of 0 says that none is read.

    Raises:
        ValueError: a mixer of the stack of this number lets keys fade.
    """
    found = stack_case(number)
    for located in found.mixers():
        mixer = located.mixer
        still = mixer.decay.is_identity and mixer.shear.is_identity and mixer.erase.is_identity
        if not still or mixer.readout.kind == "relu" or mixer.features.map in ("relu", "relu_zero", "dpfp"):
            raise ValueError("nothing to measure: keys fade.")
    return found


def windowed_stack(number: int) -> Candidate:
    """Layers whose mixers all read a bounded span."""
    rng = Random(number)
    layers = rng.choice((1, 2, 3, 4))
    blocks = []
    for _ in range(layers):
        bound = rng.choice(({"window": rng.choice((2, 4, 7, 16)), "chunk": None}, {"window": None, "chunk": 8}))
        mixer = random_mixer(rng, fixed={"support": {"mask": "causal", **bound}, **LASTING})
        if (nothing := degenerate(mixer)) is not None:
            raise ValueError(f"nothing to measure: {nothing}.")
        blocks.append(Block(repeat=rng.choice((1, 2)), mixer=mixer))
    return Candidate(blocks=tuple(blocks), target=Target(seq_len=SHORT))


def scanned_stack(number: int) -> Candidate:
    """One layer of branches that read in orders of their own."""
    rng = Random(number)
    order = rng.choice(("forward", "backward"))
    mixers = tuple(
        random_mixer(rng, fixed={"support": WHOLE, "features": LIVELY, "readout": {"kind": "exponential"}, **LASTING})
        for _ in range(2)
    )
    if any(degenerate(mixer) is not None for mixer in mixers):
        raise ValueError("nothing to measure: a branch has constant outputs.")
    parallel = Parallel(parallel=mixers, orders=("forward", order))
    return Candidate(blocks=(Block(mixer=parallel),), target=Target(seq_len=SHORT))


def averaging_stack(number: int) -> Candidate:
    """Equal softmax layers, with and without a skip, without channel mixers."""
    rng = Random(number)
    mixer = random_mixer(
        rng,
        fixed={
            "readout": {"kind": rng.choice(("exponential", "sigmoid", "softplus")), "softcap": None},
            "normalization": {"kind": rng.choice(("sum", "sum", "sum", "length")), "factor": 1.0},
            "support": {"mask": "causal", "diagonal": "none", "read": "after", "window": None, "chunk": None},
            "scaling": {"base": "n^-1/2", "gate": "none", "where": "score", "learnable": False},
            "features": {"map": "identity", "norm": "none", "q_std": 1.0, "k_std": 1.0, "map_over": "features"},
            "lift": {"kind": "none"},
            "erase": {"direction": "none"},
            "heads": WIDE,
        },
    )
    block = Block(
        repeat=rng.choice((1, 8, 8)),
        mixer=mixer,
        skip=Skip.model_validate({"lambda": rng.choice((0.0, 0.0, 1.0))}),
        channel_mixer=ChannelMixer(kind="none"),
    )
    return Candidate(blocks=(block,), target=Target(seq_len=64))


JUDGES = {
    "short-reach": Judge(short_reach, ("reach",), draw=lasting_stack, steers=(windowed_stack,), draws=6, longest=SHORT),
    "reads-backwards": Judge(
        backwards, ("causality",), draw=stack_case, steers=(scanned_stack,), draws=2, longest=SHORT
    ),
    "rank-collapse": Judge(collapse, ("rank",), draw=stack_case, steers=(averaging_stack,), draws=6, longest=SHORT),
}
