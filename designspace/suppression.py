"""Suppressions of findings inside a spec; the reason is mandatory."""

from typing import Annotated

from pydantic import Field

from designspace.spec import Spec


class Suppression(Spec):
    """Silences one rule (code or kebab name) where it stands and below."""

    rule: Annotated[str, Field(min_length=1, max_length=64)]
    reason: Annotated[str, Field(min_length=1, max_length=500)]


class Lint(Spec):
    """The `lint` key of a spec, a block or a mixer."""

    ignore: tuple[Suppression, ...] = ()
