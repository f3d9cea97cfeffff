"""The random specs of the tests cover the grammar."""

from collections.abc import Iterator
from random import Random
from typing import Any, Literal, get_args, get_origin

from hypothesis import given, settings
from pydantic import BaseModel

from designspace.candidate import Candidate
from designspace.mixer import MixerSpec
from tests.strategies import candidates, mixers, random_candidate, random_mixer

DRAWS = 5_000


def _leaves(annotation: Any) -> Iterator[Any]:
    """Members of an annotation through unions and metadata; a Literal stays whole."""
    if get_origin(annotation) is Literal or not get_args(annotation):
        yield annotation
    else:
        for member in get_args(annotation):
            yield from _leaves(member)


def _enumerated(model: type[BaseModel], path: str = "") -> set[tuple[str, Any]]:
    """(path, value) of every enumeration value, True, False and None that a field of `model` may hold."""
    found: set[tuple[str, Any]] = set()
    for name, field in model.model_fields.items():
        here = f"{path}.{name}"
        for leaf in _leaves(field.rebuild_annotation()):
            if get_origin(leaf) is Literal:
                found |= {(here, value) for value in get_args(leaf)}
            elif leaf is bool:
                found |= {(here, True), (here, False)}
            elif leaf is type(None):
                found.add((here, None))
            elif isinstance(leaf, type) and issubclass(leaf, BaseModel):
                found |= _enumerated(leaf, here)
    return found


def _seen(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _seen(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, tuple):
        for item in value:
            yield from _seen(item, path)
    else:
        yield path, value


def test_every_enumeration_value_of_a_mixer_occurs() -> None:
    rng = Random(0)
    seen = {pair for _ in range(DRAWS) for pair in _seen(random_mixer(rng)) if not isinstance(pair[1], float)}
    assert _enumerated(MixerSpec) - seen == set()


def test_every_enumeration_value_around_the_mixers_occurs() -> None:
    rng = Random(1)
    seen = {pair for _ in range(DRAWS // 10) for pair in _seen(random_candidate(rng)) if ".mixer." not in pair[0]}
    wanted = {pair for pair in _enumerated(Candidate) if ".mixer." not in pair[0]}
    assert wanted - seen == set()


def test_a_seed_decides_the_mixer() -> None:
    assert [random_mixer(seed) for seed in range(50)] == [random_mixer(seed) for seed in range(50)]


def test_small_mixers_are_small() -> None:
    sizes = [random_mixer(seed).heads for seed in range(200)]
    assert max(heads.state_dim for heads in sizes) == 8
    assert max(heads.head_dim for heads in sizes) == 4
    assert max(heads.num_heads for heads in sizes) == 4


@settings(max_examples=50, deadline=None)
@given(mixers())
def test_a_mixer_survives_its_own_dump(mixer: MixerSpec) -> None:
    assert MixerSpec.model_validate(mixer.model_dump()) == mixer


@settings(max_examples=20, deadline=None)
@given(candidates())
def test_a_candidate_survives_its_own_dump(candidate: Candidate) -> None:
    assert Candidate.model_validate(candidate.model_dump()) == candidate
