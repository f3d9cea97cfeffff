"""Suppressions of findings inside a spec; the reason is mandatory."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from designspace.spec import Spec


def _not_blank(text: str) -> str:
    if text.strip():
        return text
    raise PydanticCustomError("blank", "Input should be text that says why")


class Suppression(Spec):
    """Silences one rule (code or kebab name) where it stands and below."""

    rule: Annotated[str, Field(min_length=1, max_length=64)]
    reason: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_not_blank)]


class Lint(Spec):
    """The `lint` key of a spec, a block or a mixer."""

    ignore: tuple[Suppression, ...] = ()
