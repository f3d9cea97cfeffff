"""Golden lint reports of every catalogue entry; docs/published.md says why each alarm stands.

python -m tests.reports.published    writes the reports anew; read the difference before you commit it
"""

from pathlib import Path

from checkers.check import check
from checkers.finding import Report
from checkers.formats import text
from designspace import catalogue
from designspace.specfile import load_with_places

FOLDER = Path(__file__).parent / "published"
EXPLAINED = Path(__file__).parents[2] / "docs" / "published.md"


def report(name: str) -> Report:
    """What the checker says of an entry, as `sextant lint catalogue:NAME` does."""
    loaded = load_with_places(f"catalogue:{name}")
    return check(loaded.candidate, document=loaded.document)


def written(name: str) -> str:
    """The report as text; without the version of the tool, which the text does not show."""
    return text.render([report(name)])


def path(name: str) -> Path:
    """Where the golden report of an entry lies."""
    return FOLDER / f"{name}.txt"


def names() -> list[str]:
    """The entries with a golden report: all, those outside the grammar too."""
    return sorted({*catalogue.names(), *catalogue.outside_names()})


def alarms(name: str) -> list[tuple[str, str]]:
    """Severity and code of what the report shows at warning or error, each once."""
    return sorted({(found.severity, found.code) for found in report(name).active if found.severity != "info"})


def explained() -> set[tuple[str, str, str]]:
    """Entry, severity and code of each row of the table in docs."""
    rows = [line.split("|") for line in EXPLAINED.read_text().splitlines() if line.startswith("| `")]
    return {(row[1].strip().strip("`"), row[2].strip(), row[3].strip()) for row in rows}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    for name in names():
        path(name).write_text(written(name))
