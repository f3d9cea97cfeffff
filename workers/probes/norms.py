"""Do q, k and the outputs have the lengths that their norms give them? On the compiled module, for tokens of unit rms
and for small ones, where the place of eps shows.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from designspace.features import Features
from designspace.measurement import Measurement
from designspace.mixer import MixerSpec
from workers import feature_maps
from workers.initial import normal
from workers.probe import Probe, Subject

PREFIX = "norm_deviation"
SMALL = 1e-3  # amplitude of the small tokens
SPREAD = 4.0  # from head to head, of what the output norm reads: groups that mix heads show
UNREAD = ("one_minus_decay", "static", "scaled_static", "ones", "softmax_pm")  # keys that are not mapped from raw ones


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = subject.small
    if _derived(spec):
        for name in ("q", "k"):
            found = [_length_deviation(subject, spec, draw, name) for draw in range(subject.draws)]
            yield from subject.largest(f"{PREFIX}.{name}", found, length=subject.length)
    if spec.io.output_norm in ("group_rms", "full_rms", "head_rms"):
        found = [_output_deviation(subject, spec, draw) for draw in range(subject.draws)]
        yield from subject.largest(f"{PREFIX}.output", found, length=subject.length)


def _derived(spec: MixerSpec) -> bool:
    """The length of a key follows from its raw vector: nothing is multiplied in after the norm."""
    features = spec.features
    bare = spec.rotation.attention_factor == 1.0 and spec.scaling.gate != "step_power"
    return bare and features.norm not in ("none", "sum") and features.norm_over == "head" and features.map not in UNREAD


def _length_deviation(subject: Subject, spec: MixerSpec, draw: int, name: str) -> float:
    """Largest relative deviation of the length of q or k, over plain and small tokens."""
    mixer = subject.mixer(spec, draw)
    x = subject.tokens(spec, draw, subject.length)
    return max(_deviation(spec, mixer.raw(one)[0], mixer.project(one)[0], name) for one in (x, SMALL * x))


def _deviation(spec: MixerSpec, raw: dict[str, Tensor], signals: object, name: str) -> float:
    features = spec.features
    mapped = feature_maps.mapped(features, raw[name], raw.get(f"{name}_factor"))
    due = _length(features, mapped, normed=name == "k" or features.norm_on == "qk")
    made = _size(getattr(signals, name))
    due = due.repeat_interleave(made.shape[2] // due.shape[2], dim=2)
    return float(((made - due).abs() / due.clamp(min=torch.finfo(due.dtype).tiny)).max())


def _length(features: Features, mapped: Tensor, *, normed: bool) -> Tensor:
    """Length of a vector after its norm and gain [batch, steps, streams]."""
    if not normed:
        return features.gain * _size(mapped)
    if features.norm == "layernorm":
        mapped = mapped - mapped.mean(-1, keepdim=True)
    width = mapped.shape[-1]
    eps = features.eps * (width if features.eps_kind == "mean" else 1.0)
    size = _size(mapped)
    of_entries = 1.0 if features.norm == "l2" else math.sqrt(width)
    return features.gain * of_entries * size / torch.sqrt(size.square() + eps)


def _size(x: Tensor) -> Tensor:
    return x.square().sum(-1).sqrt()


def _output_deviation(subject: Subject, spec: MixerSpec, draw: int) -> float:
    """Largest deviation from 1 of the rms of what the output norm takes together, at its initial weights."""
    heads = spec.heads
    shape = (2, subject.length, heads.num_heads, heads.head_dim)
    y = normal(shape, seed=subject.draw_seed(draw), name="outputs") * SPREAD ** torch.arange(heads.num_heads)[:, None]
    made: Tensor = subject.mixer(spec, draw).stage.norm(y)
    parts = {"head_rms": heads.num_heads, "group_rms": heads.groups, "full_rms": 1}[spec.io.output_norm]
    together = [one.reshape(*one.shape[:2], parts, -1) for one in (y, made)]
    before, after = (one.square().mean(-1) for one in together)
    return float((after.sqrt() - (before / (before + spec.io.norm_eps)).sqrt()).abs().max())


probe = Probe(
    quantities={
        f"{PREFIX}.q": "largest relative deviation of the length of a query from what its norm gives",
        f"{PREFIX}.k": "largest relative deviation of the length of a key from what its norm gives",
        f"{PREFIX}.output": "largest deviation from 1 of the rms of a head, group or token behind the output norm",
    },
    mixer=_mixer,
)
