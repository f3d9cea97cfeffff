"""The layers: what each package may import."""

import ast
from pathlib import Path

from given import ROOT


def test_the_diamond_holds() -> None:
    """designspace <- checkers | workers <- search; only the executor imports ray; the first two stay light."""

    def imported(path: Path) -> set[str]:
        found: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                found.add(node.module.split(".")[0])
        return found

    forbidden = {
        "designspace": {"checkers", "workers", "search", "torch", "ray", "optuna", "sqlalchemy"},
        "checkers": {"workers", "search", "torch", "ray", "optuna", "sqlalchemy"},
        "workers": {"checkers", "search", "optuna", "sqlalchemy"},
        "search": set(),
    }
    for package, names in forbidden.items():
        for path in (ROOT / package).rglob("*.py"):
            assert not imported(path) & names, path
            if path != ROOT / "workers" / "executor.py":
                assert "ray" not in imported(path), path
