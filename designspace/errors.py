"""The one exception for the user's input: it says where the mistake is and what to do."""


class SpecError(Exception):
    """Bad user input: a spec, a space, a configuration file, a command argument.

    Args:
        message: field, value got, the condition and the remedy, in one sentence that ends with a period.
        file: name of the file as the user gave it.
        line: line of the key, from 1.
        column: column of the key, from 1.
        path: dotted path of the key, such as `blocks[0].mixer.readout.kind`.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.path = path

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return visible(f"{where}: {self.message}" if where else self.message)


def visible(text: str) -> str:
    """`text` on one line, with what a terminal or a log would obey (escape sequences, line breaks) as escapes."""
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
