"""Remembers what a function said of the last few mixers: the rules of one check ask the same of one after the other.

Mixers are told apart by identity: their hash, which an `lru_cache` takes each time, costs as much as a short formula.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from designspace.mixer import MixerSpec

MOST = 256  # answers, more than a deep stack has mixers; then all are forgotten

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def recent(
    function: Callable[Concatenate[MixerSpec, Arguments], Answer],
) -> Callable[Concatenate[MixerSpec, Arguments], Answer]:
    """The function with a memory; its other arguments must be hashable."""
    known: dict[Any, tuple[MixerSpec, Answer]] = {}

    @wraps(function)
    def remembering(mixer: MixerSpec, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        key = (id(mixer), args, *kwargs.items()) if args or kwargs else id(mixer)
        found = known.get(key)
        if found is not None and found[0] is mixer:  # an identity may be that of a mixer that is gone
            return found[1]
        answer = function(mixer, *args, **kwargs)
        if len(known) >= MOST:
            known.clear()
        known[key] = mixer, answer
        return answer

    return remembering
