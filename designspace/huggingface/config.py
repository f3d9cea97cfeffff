"""A config.json that remembers which of its keys were read, so that none is dropped in silence."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from designspace.candidate import MAX_LAYERS
from designspace.document import Document
from designspace.errors import SpecError
from designspace.events import KeyPath
from designspace.spec import LARGEST, Dtype

DTYPES: tuple[Dtype, ...] = get_args(Dtype)


@dataclass
class Account:
    """What became of the keys. Nested keys are written with dots: `rope_scaling.factor`.

    Attributes:
        read: key -> value that was taken from the file.
        defaulted: key -> value that stands in for an absent key, and where it comes from.
        derived: name -> how a value that no key holds was found.
        approximated: key -> what the grammar does not hold of it, and what stands in its place.
    """

    read: dict[str, Any] = field(default_factory=dict)
    defaulted: dict[str, str] = field(default_factory=dict)
    derived: dict[str, str] = field(default_factory=dict)
    approximated: dict[str, str] = field(default_factory=dict)


class Config:
    """Typed access to the keys of a config.json, or of an object in it.

    Several keys of one call are names for one thing: the first present counts, and any other that is present must
    agree. null counts as absent. A default is the model class's own, as named by `source`.
    """

    def __init__(self, document: Document, data: dict[str, Any], *, path: KeyPath, account: Account) -> None:
        self.data = data
        self.account = account
        self.source = "the model class"
        self._document = document
        self._path = path
        self._nested: dict[str, Config] = {}

    def integer(self, *keys: str, default: int | None = None, least: int = 1, because: str = "") -> int:
        """An integer not below `least`; `because`: how a default follows from other keys."""
        key, value = self._take(keys, default, "an integer", because)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(key, f"`{key}` must be an integer >= {least}, got {value!r}.")
        return value

    def depth(self, *keys: str, default: int | None = None) -> int:
        """The number of layers, no more than a candidate may have."""
        value = self.integer(*keys, default=default)
        if value > MAX_LAYERS:
            raise self.error(keys[0], f"`{keys[0]}` must be at most {MAX_LAYERS}, got {value}; give a smaller stack.")
        return value

    def number(self, *keys: str, default: float | None = None) -> float:
        """A finite number."""
        key, value = self._take(keys, default, "a number")
        return self.finite(key, value)

    def finite(self, key: str, value: Any) -> float:
        """`value`, which stands at `key`, as a finite number."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
            raise self.error(key, f"`{key}` must be a number within 1e30 of zero, got {value!r}.")
        return float(value)

    def flag(self, *keys: str, default: bool) -> bool:
        """true or false."""
        key, value = self._take(keys, default, "true or false")
        if not isinstance(value, bool):
            raise self.error(key, f"`{key}` must be true or false, got {value!r}.")
        return value

    def text(self, *keys: str, default: str) -> str:
        """A string."""
        key, value = self._take(keys, default, "a string")
        if not isinstance(value, str):
            raise self.error(key, f"`{key}` must be a string, got {value!r}.")
        return value

    def dtype(self) -> Dtype:
        """The number format of the weights; bfloat16 where the file names none."""
        if not (self.has("dtype") or self.has("torch_dtype")):
            self.is_null("dtype", "torch_dtype")
            self.account.defaulted[self._name("dtype")] = "'bfloat16', our own choice: the file names no number format"
            return "bfloat16"
        stored = self.text("dtype", "torch_dtype", default="bfloat16").removeprefix("torch.")
        found = next((name for name in DTYPES if name == stored), None)
        if found is None:
            raise self.error("torch_dtype", f"`torch_dtype` must be one of {', '.join(DTYPES)}, got {stored!r}.")
        return found

    def items(self, key: str) -> list[Any] | None:
        """A list; None where it is absent or null."""
        value = self.optional(key)
        if value is not None and not isinstance(value, list):
            raise self.error(key, f"`{key}` must be a list, got {value!r}.")
        return value

    def integers(self, key: str, *, least: int = 0) -> list[int] | None:
        """A list of integers not below `least`; None where it is absent or null."""
        values = self.items(key)
        for value in values or []:
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise self.error(key, f"`{key}` must hold integers >= {least}, got {value!r}.")
        return values

    def optional(self, key: str) -> Any:
        """The raw value of a key, None where it is absent or null."""
        if key in self.data:
            self.account.read[self._name(key)] = self.data[key]
        return self.data.get(key)

    def has(self, key: str) -> bool:
        """The key is present and not null."""
        return self.data.get(key) is not None

    def is_null(self, *keys: str) -> bool:
        """The file holds null there, and no value under any other of these names; then they count as read."""
        present = [key for key in keys if key in self.data]
        if not present or any(map(self.has, present)):
            return False
        self.account.read |= {self._name(key): None for key in present}
        return True

    def nested(self, key: str) -> "Config":
        """A nested object, whose keys are accounted for one by one; an empty one where it is absent or null."""
        if key not in self._nested:
            value = self.optional(key)
            if value is not None and not isinstance(value, dict):
                raise self.error(key, f"`{key}` must be an object, got {value!r}.")
            self._nested[key] = self._inner(value or {}, (*self._path, key))
        return self._nested[key]

    def objects(self, key: str) -> "list[Config]":
        """A list of objects, whose keys are accounted for like those of `nested`; one object is a list of one."""
        value = self.optional(key)
        if not isinstance(value, list):
            return [self.nested(key)] if value is not None else []
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                raise self.error(key, f"`{key}` must hold objects, got {item!r}.")
            self._nested[f"{key}.{index}"] = self._inner(item, (*self._path, key, index))
        return [self._nested[f"{key}.{index}"] for index in range(len(value))]

    def note(self, name: str, explanation: str) -> None:
        """Record a value that stands in the model's code, not in its file."""
        self.account.derived[name] = explanation

    def approximate(self, key: str, explanation: str) -> None:
        """Record a key that the candidate follows in part only."""
        self.account.approximated[self._name(key)] = explanation

    def error(self, key: str, message: str) -> SpecError:
        """A SpecError at the line of `key`; one below an object may be written with dots."""
        parts = [int(part) if part.isdigit() else part for part in key.split(".")]
        line = self._document.span((*self._path, *parts)).line
        return SpecError(message, file=self._document.file, line=line, path=self._name(key))

    def unread(self) -> Iterator[tuple[str, Any]]:
        """Name and value of every key that nobody read, those of nested objects that were opened included."""
        for key, value in self.data.items():
            if self._name(key) not in self.account.read:
                yield self._name(key), value
        for inner in self._nested.values():
            yield from inner.unread()

    def _inner(self, data: dict[str, Any], path: KeyPath) -> "Config":
        inner = Config(self._document, data, path=path, account=self.account)
        inner.source = self.source
        return inner

    def _name(self, key: str) -> str:
        return ".".join(str(part) for part in (*self._path, key))

    def _take(self, keys: tuple[str, ...], default: Any, expected: str, because: str = "") -> tuple[str, Any]:
        present = {key: self.data[key] for key in keys if key in self.data}
        self.account.read |= {self._name(key): value for key, value in present.items()}
        given = [(key, value) for key, value in present.items() if value is not None]
        for key, value in given[1:]:
            if value != given[0][1]:
                raise self.error(
                    key, f"`{key}: {value!r}` contradicts `{given[0][0]}: {given[0][1]!r}`; they name one thing."
                )
        if given:
            return given[0]
        if default is None:
            names = " or ".join(f"`{key}`" for key in keys)
            raise self.error(keys[0], f"{names} is missing; the importer needs {expected} there.")
        if because:
            self.account.derived[self._name(keys[0])] = f"{because} = {default!r}"
        else:
            self.account.defaulted[self._name(keys[0])] = f"{default!r}, the default of {self.source}"
        return keys[0], default
