"""Probes: what the compiled module really does at initialisation, next to what the static rules claim.

Mixers are probed one by one on random tokens of unit rms in float64, the whole stack on random token numbers. The stack
is shortened to two layers per block and a small vocabulary: neither causality nor permutation needs more.
Source: theory.md section 3.
"""

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from pydantic import ValidationError
from torch import Tensor

from designspace.candidate import Candidate, Located
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import terms
from workers.initial import derived_seed, normal
from workers.mixer import Mixer
from workers.model import build

DRAWS = 8  # independent weights and tokens of one measurement
STUDENT_95 = 2.365  # two-sided 95 % quantile of Student's t with DRAWS - 1 degrees of freedom
BATCH = 2
LENGTH = 24
SCORE_LENGTH = 64
STATE_DIMS = (8, 16, 32, 64)  # of the slope of log std against log n
SMALL_VOCABULARY = 64
SMALL_REPEAT = 2  # depth 2 is where a causal mask can begin to encode position
TINY = 1.0e-300
WHOLE = "model"  # path of the measurements of the whole stack

Run = Callable[[Tensor], Tensor]


@torch.inference_mode()
def probe(candidate: Candidate, seed: int) -> list[Measurement]:
    """Every probe of every mixer of the candidate, and of the whole stack.

    Quantities (all without unit, relative to the rms of the outputs):
      causality.later_tokens    largest change of an output when only later tokens change; 0 for a causal mixer
      linearity.deviation       largest |f(u + 2 w) - f(u) - 2 f(w)| over values u, w, before the output stage
      permutation.last_output   largest change of the last output when the tokens before it are permuted
      score_scale.score_std     standard deviation of q_i . b_j k_j over random tokens, without the evolution
      score_scale.slope         of log score_std against log n
    """
    found = [one for located in candidate.mixers() for one in _mixer_probes(candidate, located, seed)]
    return [*found, *_stack_probes(candidate, seed)]


@dataclass(frozen=True)
class _Subject:
    """What is probed: a name for the random streams, the path to report, the length of its inputs."""

    path: str
    seed: int
    length: int

    def exact(self, probe: str, quantity: str, values: list[float]) -> Measurement:
        """The largest of the draws."""
        return Measurement(
            probe=probe,
            quantity=quantity,
            path=self.path,
            value=max(values),
            uncertainty=0.0,
            draws=len(values),
            seed=self.seed,
        )

    def mean(self, quantity: str, values: list[float]) -> Measurement:
        """The mean of the draws with its 95 % interval."""
        return Measurement(
            probe="score_scale",
            quantity=quantity,
            path=self.path,
            value=statistics.fmean(values),
            uncertainty=STUDENT_95 * statistics.stdev(values) / math.sqrt(len(values)),
            draws=len(values),
            seed=self.seed,
        )

    def draw_seed(self, draw: int) -> int:
        """Seed of the weights and tokens of one draw."""
        return derived_seed(self.seed, f"{self.path} {draw}")


def _mixer_probes(candidate: Candidate, located: Located, seed: int) -> Iterator[Measurement]:
    subject = _Subject(located.path, seed, min(LENGTH, candidate.target.seq_len))
    later, deviation, permuted = [], [], []
    for draw in range(DRAWS):
        own = subject.draw_seed(draw)
        mixer = _mixer(candidate, located.mixer, own)
        x, other = (unit_rms(subject.length, candidate.model.model_dim, seed=own, name=name) for name in ("x", "other"))
        later.append(later_token_effect(mixer, x, other))
        deviation.append(value_nonlinearity(mixer, x))
        permuted += [permutation_effect(mixer, x, seed=own)] if subject.length > 2 else []
    yield subject.exact("causality", "later_tokens", later)
    yield subject.exact("linearity", "deviation", deviation)
    if permuted:
        yield subject.exact("permutation", "last_output", permuted)
    yield from _score_scale(candidate, located.mixer, subject)


def _stack_probes(candidate: Candidate, seed: int) -> Iterator[Measurement]:
    subject = _Subject(WHOLE, seed, min(LENGTH, candidate.target.seq_len))
    small = _shortened(candidate)
    later, permuted = [], []
    for draw in range(DRAWS):
        own = subject.draw_seed(draw)
        model = build(small, seed=own)
        tokens, other = torch.randint(
            SMALL_VOCABULARY, (2, BATCH, subject.length), generator=torch.Generator().manual_seed(own)
        )
        later.append(later_token_effect(model, tokens, other))
        permuted += [permutation_effect(model, tokens, seed=own)] if subject.length > 2 else []
    yield subject.exact("causality", "later_tokens", later)
    if permuted:
        yield subject.exact("permutation", "last_output", permuted)


def _shortened(candidate: Candidate) -> Candidate:
    """The same stack with at most two layers per block, a small vocabulary and no more positions than are probed."""
    blocks = tuple(block.model_copy(update={"repeat": min(block.repeat, SMALL_REPEAT)}) for block in candidate.blocks)
    target = candidate.target.model_copy(update={"seq_len": min(LENGTH, candidate.target.seq_len)})
    model = candidate.model.model_copy(update={"vocab_size": SMALL_VOCABULARY})
    return candidate.model_copy(update={"blocks": blocks, "target": target, "model": model})


def _mixer(candidate: Candidate, spec: MixerSpec, seed: int) -> Mixer:
    return Mixer(spec, model_dim=candidate.model.model_dim, seed=seed, target_len=candidate.target.seq_len).double()


def unit_rms(seq_len: int, model_dim: int, *, seed: int, name: str) -> Float[Tensor, "batch seq_len model_dim"]:
    """Random tokens as a mixer sees them behind an RMSNorm."""
    x = normal((BATCH, seq_len, model_dim), seed=seed, name=name)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True))


def later_token_effect(run: Run, x: Tensor, other: Tensor) -> float:
    """Largest change of the outputs in the first half when the tokens of the second half are replaced, over the rms."""
    half = x.shape[1] // 2
    before, after = run(x)[:, :half], run(torch.cat((x[:, :half], other[:, half:]), dim=1))[:, :half]
    return relative_change(before, after)


def permutation_effect(run: Run, x: Tensor, *, seed: int) -> float:
    """Largest change of the last output when all tokens before it are permuted, over the rms."""
    order = torch.randperm(x.shape[1] - 1, generator=torch.Generator().manual_seed(seed))
    permuted = torch.cat((x[:, order], x[:, -1:]), dim=1)
    return relative_change(run(x)[:, -1:], run(permuted)[:, -1:])


def value_nonlinearity(mixer: Mixer, x: Float[Tensor, "batch seq_len model_dim"]) -> float:
    """Largest |f(u + 2 w) - f(u) - 2 f(w)| of the form f, over the rms of f(u + 2 w)."""
    signals, _ = mixer.project(x)
    u, w = signals.v, signals.v.flip(1)

    def outputs(v: Tensor) -> Tensor:
        return mixer.form.apply(mixer.spec, replace(signals, v=v), target_len=mixer.target_len)

    return relative_change(outputs(u + 2.0 * w), outputs(u) + 2.0 * outputs(w))


def relative_change(expected: Tensor, got: Tensor) -> float:
    """Largest difference over the rms of `expected`; entries that are not finite in both count as equal."""
    expected, got = expected.detach().double(), got.detach().double()
    finite = expected.isfinite() | got.isfinite()
    if not finite.any():
        return 0.0
    rms = float(expected[expected.isfinite()].square().mean().sqrt())
    return float((expected - got)[finite].abs().amax()) / max(rms, TINY)


def _score_scale(candidate: Candidate, spec: MixerSpec, subject: _Subject) -> Iterator[Measurement]:
    std = _score_stds(candidate, spec, subject)
    yield subject.mean("score_std", std)
    sizes = [(n, resized) for n in STATE_DIMS if (resized := _with_state_dim(spec, n)) is not None]
    curves = [_score_stds(candidate, resized, subject) for _, resized in sizes]
    if len(sizes) > 1 and min(map(min, curves)) > 0:
        log_n = [math.log(n) for n, _ in sizes]
        by_draw = zip(*curves, strict=True)
        slopes = [statistics.linear_regression(log_n, list(map(math.log, draw))).slope for draw in by_draw]
        yield subject.mean("slope", slopes)


def _score_stds(candidate: Candidate, spec: MixerSpec, subject: _Subject) -> list[float]:
    """The score std of each draw of weights and tokens."""
    dim, found = candidate.model.model_dim, []
    for draw in range(DRAWS):
        own = subject.draw_seed(draw)
        found.append(score_std(_mixer(candidate, spec, own), unit_rms(SCORE_LENGTH, dim, seed=own, name="scores")))
    return found


def score_std(mixer: Mixer, x: Float[Tensor, "batch seq_len model_dim"]) -> float:
    """Standard deviation of q_i . b_j k_j about the mean of its head, over pairs of different tokens."""
    spec, (signals, _) = mixer.spec, mixer.project(x)
    key = signals.k * terms.gate(spec, signals)[..., None] * terms.score_base(spec, signals)[:, None]
    score = torch.einsum("bthn,bshn->hbts", terms.query(spec, signals), key)
    token = torch.arange(key.shape[1]) // spec.erase.rank
    apart = score[..., torch.arange(x.shape[1])[:, None] != token]
    return float((apart - apart.mean((1, 2), keepdim=True)).square().mean().sqrt())


def _with_state_dim(spec: MixerSpec, state_dim: int) -> MixerSpec | None:
    """The same mixer with keys of `state_dim`; None where they are too narrow for its rotation or too wide to lift."""
    content = spec.model_dump()
    content["heads"]["state_dim"] = state_dim
    try:
        return MixerSpec.model_validate(content)
    except ValidationError:
        return None
