"""The catalogue lints as it was reviewed, and docs/published.md explains every alarm about a published mixer."""

import pytest

from tests.reports import published

BARE = {
    "CD201",
    "CD301",
}  # linear attention without gates or positions, where each of four remarks is about another lack


@pytest.mark.parametrize("name", published.names())
def test_the_report_is_the_reviewed_one(name: str) -> None:
    golden = published.path(name)
    assert golden.exists(), f"no golden report; run python -m tests.reports.published and read {golden}"
    assert published.written(name) == golden.read_text()


def test_every_report_belongs_to_an_entry() -> None:
    assert {one.stem for one in published.FOLDER.glob("*.txt")} == set(published.names())


def test_every_alarm_is_explained_and_nothing_else() -> None:
    found = {(name, severity, code) for name in published.names() for severity, code in published.alarms(name)}
    assert published.explained() == found


def test_infos_are_few() -> None:
    """More than three infos about one layer are noise."""
    crowded = {}
    for name in published.names():
        by_layer: dict[str, set[str]] = {}
        for one in published.report(name).active:
            if one.severity == "info":
                by_layer.setdefault(one.path.partition(".mixer")[0], set()).add(one.code)
        worst = max(by_layer.values(), key=len, default=set())
        if len(worst) > 3 and not worst >= BARE:
            crowded[name] = sorted(worst)
    assert crowded == {}
