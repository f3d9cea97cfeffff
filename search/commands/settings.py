"""`sextant lint --show-settings`: the settings of each spec, with where every value came from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from search.commands import screen

if TYPE_CHECKING:
    from checkers.settings_file import Resolved, Resolver

SHOWN_SPECS = 5


def show_settings(specs: Sequence[str], settings_of: "Resolver", output_format: str) -> None:
    """Print the settings of the specs, those with the same ones together, as text or JSON.

    Raises:
        SpecError: the format is neither.
    """
    from designspace.errors import SpecError

    groups: list[tuple[Resolved, list[str]]] = []
    for spec in specs:
        resolved = settings_of(spec)
        alike = next((named for other, named in groups if other is resolved), None)
        if alike is None:
            groups.append((resolved, [spec]))
        else:
            alike.append(spec)
    match output_format:
        case "json":
            screen.print_json({"schema": "sextant.settings/1", "groups": [_data(*group) for group in groups]})
        case "text":
            for resolved, named in groups:
                _print(resolved, named)
        case _:
            raise SpecError(f"settings are shown as text or json, not `{output_format}`; set --format.")


def _data(resolved: "Resolved", specs: list[str]) -> dict[str, Any]:
    from checkers.settings_file import rows

    return {
        "specs": specs,
        "file": resolved.file,
        "rules": _rules(resolved),
        "settings": [
            {"key": row.key, "value": row.value, "unit": row.unit, "allowed": row.allowed, "from": row.origin}
            for row in rows(resolved)
        ],
    }


def _print(resolved: "Resolved", specs: list[str]) -> None:
    from checkers.settings_file import rows

    more = len(specs) - SHOWN_SPECS
    named = ", ".join(specs[:SHOWN_SPECS]) + (f" and {more} more" if more > 0 else "")
    console = screen.console()
    console.print(f"{named}\nsettings file: {resolved.file or 'none'}; {len(_rules(resolved))} rules run")
    cells = [[row.key, _shown(row.value), row.unit, row.allowed, row.origin] for row in rows(resolved)]
    console.print(screen.table(["key", "value", "unit", "allowed", "from"], cells))


def _rules(resolved: "Resolved") -> list[str]:
    from checkers.rule import all_rules

    return [rule.code for rule in all_rules() if resolved.settings.runs(rule)]


def _shown(value: object) -> str:
    match value:
        case list() | tuple():
            return "[" + ", ".join(map(_shown, value)) + "]"
        case float():
            return f"{value:g}"
        case _:
            return str(value)
