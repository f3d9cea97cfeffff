"""The record of a labelled case: a spec or config.json, and what the checker must and must not say about it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from checkers.finding import Answer, Severity
from designspace.document import Document, parse, read
from designspace.errors import SpecError
from designspace.specfile import CATALOGUE_PREFIX, Loaded, load_config, load_document, load_with_places

RECORDS = Path(__file__).parent / "records"
CONFIGS = Path(__file__).parent.parent / "configs"
WITHIN = 0.01  # relative, of a number that names no other tolerance

Code = Annotated[str, Field(pattern=r"^CD[1-9]\d\d$")]
Scalar = float | str
Spec = Mapping[str, Any]


class Strict(BaseModel):
    """A part of a record."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Near(Strict):
    """A number with its relative tolerance."""

    value: float
    within: float = Field(WITHIN, ge=0.0)

    def meets(self, found: Any) -> bool:
        """`found` is a number that is close enough."""
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        return is_number and abs(found - self.value) <= self.within * abs(self.value) + 1e-12


Expected = Near | float | str | tuple[float, ...] | None  # None: left out


class Record(Strict):
    """One labelled case.

    Attributes:
        record: number in lint_cases.md (B01, B58a), or X01 and up for cases of our own.
        kind: defect, or trap (nothing at warning or error beyond `expect` and `names`, at most two infos).
        spec, config: exactly one: a spec mapping (`mixer` alone will do) or `catalogue:NAME`; a config.json as a
            mapping, or the name of one in tests/configs.
        expect: of a defect, exactly this level; of a trap, at most.
        names: true of the tuple and beside the point of the record; at most this level.
        silent: codes that have no finding at all.
        numbers: evidence of the finding, within 1 % unless it says otherwise.
        says: parts of the messages of the findings of a code.
        paths: where a code has its findings, all of them.
        verdicts: the answer of a rule, for what is no finding.
        spec_holds: values of the imported candidate by path.
        error: the spec is refused with this text in the message.
    """

    record: str = Field(pattern=r"^[BX]\d\d[a-h]?$")
    kind: Literal["defect", "trap"]
    title: str = Field(min_length=8)
    spec: dict[str, Any] | str | None = None
    config: dict[str, Any] | str | None = None
    expect: dict[Code, Severity] = Field(default_factory=dict)
    names: dict[Code, Severity] = Field(default_factory=dict)
    silent: tuple[Code, ...] = ()
    numbers: dict[Code, dict[str, Expected]] = Field(default_factory=dict)
    says: dict[Code, str] = Field(default_factory=dict)
    paths: dict[Code, tuple[str, ...]] = Field(default_factory=dict)
    verdicts: dict[Code, Answer] = Field(default_factory=dict)
    spec_holds: dict[str, Any] = Field(default_factory=dict, alias="expect_spec")
    error: str | None = Field(None, alias="expect_error")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.spec is None) == (self.config is None):
            raise ValueError("give exactly one of `spec` and `config`.")
        both = sorted({*self.expect} & {*self.names} | ({*self.expect, *self.names} & {*self.silent}))
        if both:
            raise ValueError(f"{', '.join(both)}: name a code once, in `expect`, `names` or `silent`.")
        if self.kind == "defect" and not (self.expect or self.verdicts or self.spec_holds or self.error):
            raise ValueError("a defect needs `expect`, `verdicts`, `expect_spec` or `expect_error`.")
        return self

    def load(self) -> Loaded:
        """The candidate of the case, read as the command line reads it.

        Raises:
            SpecError: it is refused.
        """
        return loaded(self.spec, self.config)


def loaded(spec: Spec | str | None, config: Spec | str | None) -> Loaded:
    """The candidate of a spec mapping or `catalogue:NAME`, or else of a config.json or the name of one."""
    if isinstance(spec, str):
        if not spec.startswith(CATALOGUE_PREFIX):
            raise SpecError(f"`spec` must be a mapping or catalogue:NAME, got {spec!r}.")
        return load_with_places(spec)
    if spec is not None:
        return load_document(parse(json.dumps(spec), "case.json"))
    if isinstance(config, str):
        return load_config(read(CONFIGS / config, special_numbers=True))
    return load_config(parse(json.dumps(config), "config.json", special_numbers=True))


@dataclass(frozen=True, eq=False)
class Case:
    """A record with the name of its file."""

    name: str
    record: Record

    @property
    def takes(self) -> str:
        """What the case is made of."""
        return "spec" if self.record.config is None else "config"


@cache
def cases(folder: Path = RECORDS) -> tuple[Case, ...]:
    """Every case of the folder, by file name.

    Raises:
        SpecError: a file is no record, or its name does not start with the number of the record.
    """
    return tuple(_case(path) for path in sorted(folder.glob("*.yaml")))


def _case(path: Path) -> Case:
    document = read(path)
    try:
        record = Record.model_validate(document.data)
    except ValidationError as error:
        raise _located(document, error) from None
    if path.stem.partition("_")[0] != record.record:
        raise document.error(f"the file name must start with `{record.record}_`; rename it.", ("record",))
    return Case(path.stem, record)


def _located(document: Document, error: ValidationError) -> SpecError:
    """The first mistake, at its line."""
    first = error.errors()[0]
    path = tuple(part for part in first["loc"] if isinstance(part, int | str))
    return document.error(f"{'.'.join(map(str, path)) or 'record'}: {first['msg']}", path)
