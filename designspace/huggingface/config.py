"""A config.json that remembers which of its keys were read, so that none is dropped in silence."""

from typing import Any, get_args

from designspace.candidate import MAX_LAYERS
from designspace.document import Document
from designspace.errors import SpecError
from designspace.spec import Dtype

DTYPES: tuple[Dtype, ...] = get_args(Dtype)


class Config:
    """Typed access to the keys of a config.json; aliases are tried in order, the first key present counts.

    Attributes:
        read: key -> value that was taken from the file.
        derived: name -> how a value that the file does not hold was found.
        approximated: key -> what the grammar does not hold of it, and what stands in its place.
    """

    def __init__(self, document: Document) -> None:
        self.data: dict[str, Any] = document.data
        self.read: dict[str, Any] = {}
        self.derived: dict[str, str] = {}
        self.approximated: dict[str, str] = {}
        self._document = document

    def integer(self, *keys: str, default: int | None = None, least: int = 1) -> int:
        """An integer not below `least`; `default` where no key is present (null counts as absent)."""
        value = self._take(keys, default, "an integer")
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(keys[0], f"`{keys[0]}` must be an integer >= {least}, got {value!r}.")
        return value

    def depth(self, *keys: str) -> int:
        """The number of layers, no more than a candidate may have."""
        value = self.integer(*keys)
        if value > MAX_LAYERS:
            raise self.error(keys[0], f"`{keys[0]}` must be at most {MAX_LAYERS}, got {value}; give a smaller stack.")
        return value

    def number(self, *keys: str, default: float | None = None) -> float:
        """A finite number."""
        return self.finite(keys[0], self._take(keys, default, "a number"))

    def finite(self, key: str, value: Any) -> float:
        """`value`, which stands at `key`, as a finite number."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
            raise self.error(key, f"`{key}` must be a finite number, got {value!r}.")
        return float(value)

    def flag(self, *keys: str, default: bool) -> bool:
        """true or false."""
        value = self._take(keys, default, "true or false")
        if not isinstance(value, bool):
            raise self.error(keys[0], f"`{keys[0]}` must be true or false, got {value!r}.")
        return value

    def text(self, *keys: str, default: str) -> str:
        """A string."""
        value = self._take(keys, default, "a string")
        if not isinstance(value, str):
            raise self.error(keys[0], f"`{keys[0]}` must be a string, got {value!r}.")
        return value

    def dtype(self) -> Dtype:
        """The number format of the weights; bfloat16 where the file names none."""
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

    def optional(self, key: str) -> Any:
        """The raw value of a key, None where it is absent or null."""
        if key in self.data:
            self.read[key] = self.data[key]
        return self.data.get(key)

    def section(self, key: str) -> dict[str, Any]:
        """A nested object; empty where it is absent or null."""
        value = self.optional(key)
        if value is not None and not isinstance(value, dict):
            raise self.error(key, f"`{key}` must be an object, got {value!r}.")
        return value or {}

    def note(self, name: str, explanation: str) -> None:
        """Record a value that stands in the model's code, not in its file."""
        self.derived[name] = explanation

    def approximate(self, key: str, explanation: str) -> None:
        """Record a key that the candidate follows in part only."""
        self.approximated[key] = explanation

    def error(self, key: str, message: str) -> SpecError:
        """A SpecError at the line of `key`."""
        return SpecError(message, file=self._document.file, line=self._document.span((key,)).line, path=key)

    def _take(self, keys: tuple[str, ...], default: Any, expected: str) -> Any:
        for key in keys:
            if self.data.get(key) is not None:
                self.read[key] = self.data[key]
                return self.data[key]
        for key in keys:
            if key in self.data:
                self.read[key] = None
        if default is None:
            names = " or ".join(f"`{key}`" for key in keys)
            raise self.error(keys[0], f"{names} is missing; the importer needs {expected} there.")
        self.derived[keys[0]] = f"absent: the default {default!r}"
        return default
