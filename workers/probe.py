"""Probes: what the compiled module really does at initialisation, next to what the static rules claim.

Each file of `workers/probes/` measures one thing. Mixers are probed one by one on random tokens of unit rms in float64,
the whole stack on random token numbers; each draw has weights and tokens of its own. Nothing is probed at full size:

  mixer   at most 4 heads (64 where keys are narrow), values of at most 8 channels, filters of at most 16 taps; keys
          keep their width where a probe is about scales (`scaled`) and have at most 16 channels elsewhere (`small`); a
          residual stream of at most 64 channels, or as many as a key
  stack   at most 2 layers per block (`rank` takes more), a vocabulary of 64, sequences of at most 24 tokens

Source: theory.md section 3.
"""

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from pydantic import ValidationError
from scipy.stats import t as student
from torch import Tensor

from designspace.candidate import Candidate, Located
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from designspace.units import discover
from workers.form import Form
from workers.forms import quadratic
from workers.initial import derived_seed, normal
from workers.mixer import Mixer
from workers.model import Model, build
from workers.signals import Signals

PACKAGE = "workers.probes"
DRAWS = 8  # independent weights and tokens of one measurement
CONFIDENCE = 0.95
BATCH = 2
LENGTH = 24  # tokens, where a probe names no other length
MAX_HEADS = 4
MAX_NARROW_HEADS = 64  # where the keys of all heads together have at most `MAX_CHANNELS` channels
MAX_CHANNELS = 256
MAX_HEAD_DIM = 8
MAX_KEY = 16  # key channels of a small mixer
MAX_TAPS = 16
MAX_LIFTED = 1024  # rows of a state; wider ones are probed in the parallel form, or with narrower keys
MAX_MODEL_DIM = 64
MAX_WEIGHTS = 1 << 22  # numbers in a projection of few heads: keys of 1,024 channels take half a minute and 1.3 GB
MAX_ALL_WEIGHTS = 1 << 25  # of all heads, which the horizons of a mixer need
SMALL_VOCABULARY = 64
SMALL_REPEAT = 2  # depth 2 is where a causal mask can begin to encode position
TINY = 1.0e-300
WHOLE = "model"  # path of the measurements of the whole stack

Run = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Probe:
    """One probe: what it measures on a mixer, on the whole stack, or on both.

    `quantities` says, by name of the measurement, what the number is.
    """

    quantities: Mapping[str, str]
    mixer: "Callable[[Subject], Iterable[Measurement]] | None" = None
    stack: "Callable[[Stack], Iterable[Measurement]] | None" = None


@torch.inference_mode()
def probe(
    candidate: Candidate,
    seed: int,
    *,
    only: Collection[str] = (),
    draws: int = DRAWS,
    form: Form | None = None,
) -> list[Measurement]:
    """The probes of every distinct mixer of the candidate, and of the whole stack.

    Args:
        only: names of the probes to run; all without any.
        draws: independent weights and tokens of each measurement, at least 2.
        form: what computes the mixers, in place of the form that each spec takes: a kernel under test.

    Raises:
        ValueError: fewer than 2 draws, or a name that is no probe.
    """
    if draws < 2:
        raise ValueError(f"`draws` must be at least 2, got {draws}: the uncertainty is their spread.")
    known = discover(PACKAGE, "probe", Probe)
    unknown = sorted(set(only) - set(known))
    if unknown:
        raise ValueError(f"no such probe: {', '.join(unknown)}; choose from {', '.join(known)}.")
    wanted = {name: one for name, one in known.items() if not only or name in only}
    return list(_measurements(candidate, wanted, seed, draws, form))


def _measurements(
    candidate: Candidate, wanted: Mapping[str, Probe], seed: int, draws: int, form: Form | None
) -> Iterator[Measurement]:
    known: dict[MixerSpec, list[Measurement]] = {}
    for located in candidate.mixers():
        if not_probed(candidate, located.mixer) is not None:
            continue
        if located.mixer not in known:
            known[located.mixer] = [
                one
                for name, unit in wanted.items()
                if unit.mixer is not None
                for one in unit.mixer(Subject(name, located.path, seed, draws, candidate, located, form))
            ]
        yield from (one.model_copy(update={"path": located.path}) for one in known[located.mixer])
    if any(True for _ in candidate.outside()):
        return  # a stack with a mixer outside the grammar cannot be built
    if any(not_probed(candidate, small(located.mixer)) is not None for located in candidate.mixers()):
        return
    for name, unit in wanted.items():
        if unit.stack is not None:
            yield from unit.stack(Stack(name, WHOLE, seed, draws, candidate, form))


def not_probed(candidate: Candidate, spec: MixerSpec) -> str | None:
    """Why no probe builds the mixer; None where one does."""
    heads = spec.heads
    of_a_head = heads.state_dim * min(candidate.model.model_dim, max(MAX_MODEL_DIM, heads.state_dim))
    for count, most in ((min(heads.num_heads, MAX_HEADS), MAX_WEIGHTS), (heads.num_heads, MAX_ALL_WEIGHTS)):
        if count * of_a_head > most:
            return (
                f"{count:,} heads with keys of {heads.state_dim:,} channels have a projection of"
                f" {count * of_a_head:,} numbers, more than the {most:,} that a probe builds"
            )
    return None


@dataclass(frozen=True)
class Experiment:
    """A probe at work: the random streams it takes, and how it writes down what it found."""

    probe: str
    path: str
    seed: int
    draws: int

    def draw_seed(self, draw: int) -> int:
        """Seed of the weights and tokens of one draw."""
        return derived_seed(self.seed, f"{self.path} {draw}")

    def rms(self, quantity: str, values: Iterable[float], *, length: int | None = None) -> list[Measurement]:
        """The root mean square of the draws; its interval follows from that of the mean square."""
        found = self.mean(quantity, [value * value for value in values], length=length)
        return [
            one.model_copy(
                update={"value": math.sqrt(one.value), "uncertainty": 0.5 * one.uncertainty / math.sqrt(one.value)}
            )
            for one in found
            if one.value > 0.0
        ]

    def largest(
        self, quantity: str, values: Iterable[float], *, length: int | None = None, unit: str = ""
    ) -> list[Measurement]:
        """The largest of the draws; nothing where one is not a finite number."""
        found = list(values)
        return self._written(quantity, max(found, default=math.nan), 0.0, found, length, unit)

    def smallest(
        self, quantity: str, values: Iterable[float], *, length: int | None = None, unit: str = ""
    ) -> list[Measurement]:
        """The smallest of the draws; nothing where one is not a finite number."""
        found = list(values)
        return self._written(quantity, min(found, default=math.nan), 0.0, found, length, unit)

    def mean(
        self, quantity: str, values: Iterable[float], *, length: int | None = None, unit: str = ""
    ) -> list[Measurement]:
        """The mean of the draws with its 95 % interval; nothing where one is not a finite number."""
        found = list(values)
        if len(found) < 2 or not all(map(math.isfinite, found)):
            return []
        quantile = float(student.ppf(0.5 + 0.5 * CONFIDENCE, len(found) - 1))
        interval = quantile * statistics.stdev(found) / math.sqrt(len(found))
        return self._written(quantity, statistics.fmean(found), interval, found, length, unit)

    def _written(
        self, quantity: str, value: float, uncertainty: float, found: list[float], length: int | None, unit: str
    ) -> list[Measurement]:
        if not found or not all(map(math.isfinite, found)):
            return []
        return [
            Measurement(
                probe=self.probe,
                quantity=quantity,
                path=self.path,
                value=value,
                uncertainty=uncertainty,
                unit=unit,
                draws=len(found),
                seed=self.seed,
                length=length,
            )
        ]


@dataclass(frozen=True)
class Subject(Experiment):
    """A mixer that is probed."""

    candidate: Candidate
    located: Located
    injected: Form | None = None
    _made: dict[tuple[MixerSpec, int], Mixer] = field(default_factory=dict, repr=False, compare=False)

    @property
    def spec(self) -> MixerSpec:
        """The mixer as it is written."""
        return self.located.mixer

    @cached_property
    def scaled(self) -> MixerSpec:
        """Few heads with narrow values and keys of the full width: scales of scores are those of the mixer."""
        return reduced(self.spec, max_key=None)

    @cached_property
    def small(self) -> MixerSpec:
        """Few heads with narrow keys and values: everything that does not depend on the widths."""
        return small(self.spec)

    @property
    def length(self) -> int:
        """Tokens of a probe that names no other length."""
        return self.at_most(LENGTH)

    def at_most(self, length: int) -> int:
        """`length`, or the target length where that is less."""
        return min(length, self.candidate.target.seq_len)

    def model_dim(self, spec: MixerSpec) -> int:
        """Width of the residual stream: at least that of a key, or its channels would depend on each other."""
        return min(self.candidate.model.model_dim, max(MAX_MODEL_DIM, spec.heads.state_dim))

    def mixer(self, spec: MixerSpec, draw: int) -> Mixer:
        """The compiled mixer of one draw of weights, in float64."""
        if (spec, draw) not in self._made:
            mixer = Mixer(
                spec,
                model_dim=self.model_dim(spec),
                seed=self.draw_seed(draw),
                target_len=self.candidate.target.seq_len,
            ).double()
            if self.injected is not None:
                mixer.form = self.injected
            elif (spec.lifted_dim or 0) > MAX_LIFTED:
                mixer.form = quadratic.form
            self._made[spec, draw] = mixer
        return self._made[spec, draw]

    def tokens(
        self, spec: MixerSpec, draw: int, length: int, *, name: str = "x", batch: int = BATCH
    ) -> Float[Tensor, "batch seq_len model_dim"]:
        """Random tokens of one draw, for the compiled mixer of `spec`."""
        return unit_rms(length, self.model_dim(spec), seed=self.draw_seed(draw), name=name, batch=batch)

    def signals(self, spec: MixerSpec, draw: int, length: int, *, batch: int = BATCH) -> Signals:
        """The signals of random tokens."""
        return self.mixer(spec, draw).project(self.tokens(spec, draw, length, batch=batch))[0]

    def outputs(self, spec: MixerSpec, draw: int, signals: Signals, *, of: MixerSpec | None = None) -> Tensor:
        """What the form makes of signals; `of` is another spec that reads the same ones."""
        mixer = self.mixer(spec, draw)
        return mixer.form.apply(of or spec, signals, target_len=mixer.target_len)

    def coefficients(
        self, spec: MixerSpec, draw: int, signals: Signals, *, of: MixerSpec | None = None
    ) -> Float[Tensor, "batch num_heads seq_len steps"]:
        """alpha_ij of the form: its outputs where the value of each source is a unit vector of its own."""
        steps = signals.k.shape[1]
        unit = torch.eye(steps, dtype=signals.v.dtype)[None, :, None].expand(*signals.v.shape[:3], steps)
        return self.outputs(spec, draw, replace(signals, v=unit), of=of).transpose(1, 2)


@dataclass(frozen=True)
class Stack(Experiment):
    """The whole stack that is probed."""

    candidate: Candidate
    injected: Form | None = None

    @property
    def length(self) -> int:
        """Tokens of a probe that names no other length."""
        return min(LENGTH, self.candidate.target.seq_len)

    def model(self, draw: int, *, max_repeat: int = SMALL_REPEAT, length: int = LENGTH) -> Model:
        """The compiled stack of one draw of weights, with at most `max_repeat` layers per block."""
        model = build(shortened(self.candidate, max_repeat=max_repeat, length=length), seed=self.draw_seed(draw))
        if self.injected is not None:
            for part in model.modules():
                if isinstance(part, Mixer):
                    part.form = self.injected
        return model

    def tokens(self, draw: int, length: int) -> Tensor:
        """Two sets of random token numbers, int64 [2, batch, seq_len]."""
        generator = torch.Generator().manual_seed(self.draw_seed(draw))
        return torch.randint(SMALL_VOCABULARY, (2, BATCH, length), generator=generator)


def small(spec: MixerSpec) -> MixerSpec:
    """The same mixer with few heads and narrow keys and values: narrower ones where phi lifts them to a high power."""
    found = spec
    for max_key in (MAX_KEY, MAX_KEY // 2, MAX_KEY // 4):
        found = reduced(spec, max_key=max_key)
        if (found.lifted_dim or 0) <= MAX_LIFTED:
            break
    return found


def reduced(spec: MixerSpec, *, max_key: int | None) -> MixerSpec:
    """The same mixer with few heads and narrow values, and with keys of at most `max_key` channels where it allows it.

    Shared streams stay shared, and the heads keep their kind.
    """
    heads = spec.heads
    most = max(MAX_HEADS, min(MAX_NARROW_HEADS, MAX_CHANNELS // heads.state_dim))
    count = min(heads.num_heads, most)
    groups = None if heads.kv_groups is None else max(1, min(heads.kv_groups, count // 2))
    few = {"num_heads": count, "kv_groups": groups if groups is None or count % groups == 0 else 1}
    narrow = {"head_dim": min(heads.head_dim, MAX_HEAD_DIM)}
    if (spec.lift.width or 0) > MAX_TAPS:
        spec = spec.model_copy(update={"lift": spec.lift.model_copy(update={"width": MAX_TAPS})})
    key: dict[str, Any] = {} if max_key is None or spec.heads.state_dim <= max_key else {"state_dim": max_key}
    for change in (few | narrow | key, few | narrow, narrow | key, narrow):
        found = resized(spec, **change)
        if found is not None:
            return found
    return spec


def resized(spec: MixerSpec, **heads: Any) -> MixerSpec | None:
    """The same mixer with other sizes of its heads; None where they do not fit the rest of it."""
    content = spec.model_dump()
    content["heads"] |= heads
    slopes = content["shear"]["slopes"]
    if isinstance(slopes, list | tuple):
        content["shear"]["slopes"] = tuple(slopes)[: content["heads"]["num_heads"]]
    try:
        return MixerSpec.model_validate(content)
    except ValidationError:
        return None


def shortened(candidate: Candidate, *, max_repeat: int = SMALL_REPEAT, length: int = LENGTH) -> Candidate:
    """The same stack with few layers per block, small mixers and vocabulary, and no more positions than are probed."""
    blocks = tuple(
        block.model_copy(
            update={"repeat": min(block.repeat, max_repeat), "mixer": _small_mixers(block.mixer)},
        )
        for block in candidate.blocks
    )
    target = candidate.target.model_copy(update={"seq_len": min(length, candidate.target.seq_len)})
    model = candidate.model.model_copy(
        update={"vocab_size": SMALL_VOCABULARY, "model_dim": min(candidate.model.model_dim, MAX_MODEL_DIM)}
    )
    return candidate.model_copy(update={"blocks": blocks, "target": target, "model": model})


def _small_mixers(mixer: Any) -> Any:
    """Mixers that share values must keep one width, which `small` gives them."""
    if isinstance(mixer, MixerSpec):
        return small(mixer)
    branches = getattr(mixer, "parallel", None)
    if branches is None:
        return mixer
    return mixer.model_copy(update={"parallel": tuple(small(one) for one in branches)})


def unit_rms(
    seq_len: int, model_dim: int, *, seed: int, name: str, batch: int = BATCH
) -> Float[Tensor, "batch seq_len model_dim"]:
    """Random tokens as a mixer sees them behind an RMSNorm."""
    x = normal((batch, seq_len, model_dim), seed=seed, name=name)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True))


def prefix(signals: Signals, length: int, rank: int) -> Signals:
    """The signals of the first `length` tokens, `rank` micro-steps each."""
    of_tokens = ("q", "log_decay", "angle", "shear", "tap", "momentum", "rate", "levels", "log_eta")
    of_steps = ("k", "v", "gain", "direction", "second", "gate", "log_gate")
    ends = dict.fromkeys(of_tokens, length) | dict.fromkeys(of_steps, length * rank)
    found = {name: (getattr(signals, name), end) for name, end in ends.items()}
    return replace(signals, **{name: value[:, :end] for name, (value, end) in found.items() if value is not None})


def later_token_effect(run: Run, x: Tensor, other: Tensor) -> float:
    """Largest change of the outputs in the first half when the tokens of the second half are replaced, over the rms."""
    half = x.shape[1] // 2
    before, after = run(x)[:, :half], run(torch.cat((x[:, :half], other[:, half:]), dim=1))[:, :half]
    return relative_change(before, after)


def relative_change(expected: Tensor, got: Tensor) -> float:
    """Largest difference over the rms of `expected`; entries that are not finite in both count as equal, and NaN where
    none is finite.
    """
    expected, got = expected.detach().double(), got.detach().double()
    finite = expected.isfinite() | got.isfinite()
    if not finite.any():
        return math.nan
    rms = float(expected[expected.isfinite()].square().mean().sqrt())
    return float((expected - got)[finite].abs().amax()) / max(rms, TINY)
