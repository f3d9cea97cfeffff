"""The records of lint_cases.md: their numbers, and the class of evidence that each names."""

import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parent / "lint_cases.md"
HEADING = re.compile(r"^\*\*(B\d\d)\*\*")
GROUP = "B58"  # short positives, one letter each
LETTER = re.compile(r"^([a-h])\. ")
CLASS = re.compile(r"(?<![\w/])([SRKI](?:/[SRKI])*)(?:, [hml](?:/[hml])?)?\.?(?=\s|$)")
LAST_DEFECT, MORE_DEFECTS = 58, range(85, 91)  # traps lie between


@cache
def classes() -> dict[str, str]:
    """The letters of each record: S (tuple), R (an extra field), K (kernel), I (importer); empty for a trap.

    `lint_cases.md` names no letter for B46, which is outside the grammar, and for the traps.
    """
    return {number: _letters(number, text) for number, text in _texts().items()}


def is_defect(number: str) -> bool:
    """The page lists the record as a defect, not as a trap."""
    position = int(number[1:3])
    return position <= LAST_DEFECT or position in MORE_DEFECTS


def _letters(number: str, text: str) -> str:
    if not is_defect(number):
        return ""
    found = CLASS.search(text)
    return found[1].replace("/", "") if found else ""


def _texts() -> dict[str, str]:
    """Text by number; the parts of the group stand on lines of their own."""
    texts: dict[str, str] = {}
    number = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if heading := HEADING.match(line):
            number = heading[1]
        elif number.startswith(GROUP) and (part := LETTER.match(line)):
            number = GROUP + part[1]
        elif line.startswith("## "):
            number = ""
        if number:
            texts[number] = f"{texts.get(number, '')}{line}\n"
    texts.pop(GROUP)
    return texts
