"""A candidate after the edits of a fix."""

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from checkers.finding import Edit
from designspace.candidate import Candidate
from designspace.errors import SpecError
from designspace.events import KeyPath, split_path


def edited(candidate: Candidate, edits: Iterable[Edit]) -> Candidate:
    """The candidate after the edits.

    Raises:
        SpecError: it is no valid spec any more.
    """
    data = candidate.model_dump(by_alias=True)
    for edit in sorted(edits, key=_last_item_first):
        data = _after(data, split_path(edit.path), edit)
    try:
        return Candidate.model_validate(data)
    except ValidationError as error:
        raise SpecError(f"the spec would not be valid: {error.errors()[0]['msg']}") from None


def _last_item_first(edit: Edit) -> int:
    """Sort key: items go from the last one up, so that no index moves before its turn."""
    last = split_path(edit.path)[-1]
    return -last if edit.action == "remove" and isinstance(last, int) else 0


def _after(data: Any, path: KeyPath, edit: Edit) -> Any:
    """`data` with the edit made at `path` below it."""
    name, rest = path[0], path[1:]
    result: Any = dict(data) if isinstance(data, dict) else list(data or ())
    if rest:
        result[name] = _after(result[name], rest, edit)
    elif edit.action == "remove":
        del result[name]
    else:
        result[name] = edit.value
    return result
