"""JSON text as events (RFC 8259, with the NaN and Infinity that Python writes), with the place of every value."""

import re
from bisect import bisect_right
from collections.abc import Generator, Iterator
from json import JSONDecodeError, JSONDecoder
from math import inf, nan

from designspace.errors import SpecError
from designspace.events import MAX_INTEGER_DIGITS, Event, Mark, Scalar, quoted

SPACE = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
WORD = re.compile(r"-?\w+")
CONSTANTS: dict[str, Scalar] = {
    "null": None,
    "true": True,
    "false": False,
    "NaN": nan,
    "Infinity": inf,
    "-Infinity": -inf,
}
DECODER = JSONDecoder()


def events(text: str, file: str) -> Iterator[Event]:
    """The events of the one value in `text`, lazily.

    Raises:
        SpecError: the text is not JSON.
    """
    return _Scanner(text, file).document()


class _Scanner:
    """Walks over the text; every method takes an offset, and generators return the offset where they ended."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def document(self) -> Iterator[Event]:
        start = self.skip_space(0)
        if start == len(self.text):
            return
        end = self.skip_space((yield from self.value(start)))
        if end != len(self.text):
            raise self.error("text follows the end of the JSON value; remove it.", end)

    def value(self, at: int) -> Generator[Event, None, int]:
        match self.text[at : at + 1]:
            case "{":
                return (yield from self.mapping(at))
            case "[":
                return (yield from self.sequence(at))
            case '"':
                string, end = self.string(at)
                yield Event("scalar", self.mark(at), self.mark(end), string, string)
                return end
            case _:
                return (yield from self.plain(at))

    def mapping(self, at: int) -> Generator[Event, None, int]:
        yield Event("mapping", self.mark(at), self.mark(at + 1))
        at = self.skip_space(at + 1)
        while self.text[at : at + 1] != "}":
            if self.text[at : at + 1] != '"':
                raise self.error("a key in double quotes or `}` must stand here; check commas and quotes.", at)
            key, end = self.string(at)
            yield Event("scalar", self.mark(at), self.mark(end), key, key)
            at = self.skip_space(end)
            if self.text[at : at + 1] != ":":
                raise self.error(f"`:` must follow the key {quoted(key)}; add it.", at)
            at = yield from self.value(self.skip_space(at + 1))
            at = self.after_item(at, "}")
        yield Event("end", self.mark(at), self.mark(at + 1))
        return at + 1

    def sequence(self, at: int) -> Generator[Event, None, int]:
        yield Event("sequence", self.mark(at), self.mark(at + 1))
        at = self.skip_space(at + 1)
        while self.text[at : at + 1] != "]":
            at = yield from self.value(at)
            at = self.after_item(at, "]")
        yield Event("end", self.mark(at), self.mark(at + 1))
        return at + 1

    def after_item(self, at: int, closing: str) -> int:
        """Offset of the next item, or of the closing bracket."""
        at = self.skip_space(at)
        if self.text[at : at + 1] == closing:
            return at
        if self.text[at : at + 1] != ",":
            raise self.error(f"`,` or `{closing}` must stand here; check commas and brackets.", at)
        following = self.skip_space(at + 1)
        if self.text[following : following + 1] == closing:
            raise self.error(f"a comma stands before `{closing}`; remove it.", at)
        return following

    def plain(self, at: int) -> Generator[Event, None, int]:
        """A number or a word such as `true`."""
        found = NUMBER.match(self.text, at)
        word = WORD.match(self.text, at)
        if word and word[0] in CONSTANTS:
            end, value = word.end(), CONSTANTS[word[0]]
        elif found and (word is None or word.end() <= found.end()):
            end, value = found.end(), _number(found)
        else:
            shown = quoted(word[0] if word else self.text[at]) if at < len(self.text) else "the end of the file"
            raise self.error(f"a JSON value must stand here, got {shown}; check quotes, commas and brackets.", at)
        yield Event("scalar", self.mark(at), self.mark(end), value, self.text[at:end])
        return end

    def string(self, at: int) -> tuple[str, int]:
        """The string whose opening quote is at `at`, and the offset after its closing quote."""
        try:
            string, end = DECODER.raw_decode(self.text, at)
            str(string).encode()
            return str(string), end
        except UnicodeEncodeError:
            raise self.error("half of a surrogate pair is not a character; write the character itself.", at) from None
        except JSONDecodeError as error:
            raise self.error(f"not a JSON string: {error.msg.lower()}; close or escape it.", error.pos) from None

    def skip_space(self, at: int) -> int:
        space = SPACE.match(self.text, at)
        return space.end() if space else at

    def mark(self, at: int) -> Mark:
        line = bisect_right(self.line_starts, at)
        return Mark(line, at - self.line_starts[line - 1] + 1)

    def error(self, message: str, at: int) -> SpecError:
        mark = self.mark(at)
        return SpecError(f"not valid JSON: {message}", file=self.file, line=mark.line, column=mark.column)


def _number(found: re.Match[str]) -> int | float:
    whole, fraction, exponent = found.groups()
    if fraction is None and exponent is None and len(whole) <= MAX_INTEGER_DIGITS:
        return int(whole)
    return float(found[0])
