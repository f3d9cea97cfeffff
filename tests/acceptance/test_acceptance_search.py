"""A search from end to end: rejection, duplicates, leaderboard, kill -9 and resume."""

import csv
import io
import json
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from given import (
    ENVIRONMENT,
    SEXTANT,
    Spec,
    sextant,
)

SPACE: Spec = {
    "name": "accept",
    "blocks": [
        {
            "repeat": 2,
            "mixer": {
                "choice": [
                    {"use": "gla"},
                    {"use": "gla", "scaling": {"where": "q"}},  # the same function as the first
                    {"use": "retnet"},
                    {"use": "linear_elu_norm"},
                    {"use": "softmax_unscaled"},  # score std 8
                    {"use": "linear"},  # the sum grows
                    {"use": "deltanet", "features": {"norm": "none"}},  # unnormalised keys
                ]
            },
        }
    ],
    "tasks": ["in_context_recall", "selective_copying"],
    "seeds": 2,
    "budget": {"trials": 3},
    "sampler": {"name": "random", "seed": 1},
    "steps": 2,
    "reject": ["error"],
}
UNSOUND_NAMES = ("softmax_unscaled", "linear", "deltanet")


def rows(store: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=10) as connection:
        return connection.execute(query).fetchall()


def count(store: Path, table: str) -> int:
    return int(rows(store, f"select count(*) from {table}")[0][0])


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A finished search with the plain worker; store and the finished process."""
    folder = tmp_path_factory.mktemp("search")
    (folder / "space.yaml").write_text(yaml.safe_dump(SPACE))
    found = sextant(
        "search",
        "run",
        "space.yaml",
        "--study",
        "a",
        "--store",
        "s.sqlite",
        "--no-ray",
        "--workers",
        "1",
        cwd=folder,
        timeout=120,
    )
    return folder / "s.sqlite", found


@pytest.mark.slow
def test_a_search_ends_with_exactly_the_planned_results(searched: tuple[Path, Any]) -> None:
    store, process = searched
    assert process.returncode == 0, process.stderr
    assert count(store, "result") == 3 * 2 * 2
    assert count(store, "job") == 3 * 2 * 2
    status = json.loads(sextant("search", "status", "a", "--store", str(store), "--format", "json").stdout)
    assert status["state"] == "done"
    assert status["counts"]["results"] == 12
    assert status["trials_taken"] == 3
    unique = rows(store, "select candidate_id, task, seed, count(*) from job group by 1, 2, 3")
    assert len(unique) == 12
    assert all(one[3] == 1 for one in unique)


@pytest.mark.slow
def test_no_rejected_candidate_is_trained_and_each_shows_its_findings(searched: tuple[Path, Any]) -> None:
    store, _ = searched
    trained = {one[0] for one in rows(store, "select c.name from candidate c join job j on j.candidate_id = c.id")}
    assert trained
    assert not any(f'"{one}"' in name for name in trained for one in UNSOUND_NAMES)
    status = json.loads(sextant("search", "status", "a", "--store", str(store), "--format", "json").stdout)
    assert status["rejected"], "the seed must meet an unsound choice"
    wanted = {"softmax_unscaled": "CD501", "linear": "CD601", "deltanet": "CD602"}
    for one in status["rejected"]:
        which = next(name for name in UNSOUND_NAMES if f'"{name}"' in one["name"])
        assert wanted[which] in one["codes"]
    fingerprints = {one["fingerprint"] for one in status["rejected"]}
    jobs = {one[0] for one in rows(store, "select c.fingerprint from candidate c join job j on j.candidate_id = c.id")}
    assert not fingerprints & jobs


@pytest.mark.slow
def test_a_duplicate_is_never_trained_twice(searched: tuple[Path, Any]) -> None:
    store, _ = searched
    assert rows(store, "select fingerprint from candidate group by fingerprint having count(*) > 1") == []
    found = [
        one[0]
        for one in rows(store, "select distinct c.fingerprint from candidate c join job j on j.candidate_id = c.id")
    ]
    assert len(found) == 3
    status = json.loads(sextant("search", "status", "a", "--store", str(store), "--format", "json").stdout)
    assert status["counts"]["proposals"]["duplicate"] > 0


@pytest.mark.slow
def test_a_second_study_replays_what_the_store_knows(searched: tuple[Path, Any]) -> None:
    store, _ = searched
    folder = store.parent
    before = count(store, "result")
    (folder / "again.yaml").write_text(yaml.safe_dump({**SPACE, "sampler": {"name": "tpe", "seed": 9}}))
    found = sextant(
        "search", "run", "again.yaml", "--study", "b", "--store", "s.sqlite", "--no-ray", cwd=folder, timeout=60
    )
    assert found.returncode == 0, found.stderr
    assert count(store, "result") == before
    status = json.loads(sextant("search", "status", "b", "--store", str(store), "--format", "json").stdout)
    assert status["counts"]["proposals"]["replayed"] == 3
    assert status["jobs_taken"] == 0
    assert (
        sextant("search", "run", "again.yaml", "--study", "b", "--store", "s.sqlite", "--no-ray", cwd=folder).returncode
        == 2
    )


@pytest.mark.slow
def test_leaderboard_has_mean_interval_n_and_sizes(searched: tuple[Path, Any]) -> None:
    store, _ = searched
    found = sextant("leaderboard", "--task", "selective_copying", "--store", str(store), "--format", "json")
    assert found.returncode == 0, found.stderr
    board = json.loads(found.stdout)
    table = board["rows"]
    assert len(table) == 3
    by_candidate: dict[str, list[float]] = {}
    stored = rows(
        store,
        "select c.fingerprint, r.accuracy from result r join job j on r.job_id = j.id"
        " join candidate c on c.id = j.candidate_id where j.task = 'selective_copying'",
    )
    for name, value in stored:
        by_candidate.setdefault(name, []).append(value)
    for row in table:
        first, second = by_candidate[row["fingerprint"]]
        assert row["accuracy"] == pytest.approx((first + second) / 2)
        half = 12.7062 * abs(first - second) / 2  # t(0.975, 1) s / sqrt(2), s = |a - b| / sqrt(2)
        assert row["half_width"] == pytest.approx(half, rel=1e-4, abs=1e-9)
        assert row["n"] == 2
        assert row["parameters"] > 0
        assert row["state_bytes"] > 0
        assert row["tokens"] > 0
        assert row["errors"] == 0
    sorted_ = json.loads(
        sextant("leaderboard", "--store", str(store), "--sort", "parameters", "--format", "json").stdout
    )["rows"]
    assert [one["parameters"] for one in sorted_] == sorted(one["parameters"] for one in sorted_)
    filtered = sextant("leaderboard", "--store", str(store), "--where", "parameters < 1", "--format", "json")
    assert json.loads(filtered.stdout)["rows"] == []
    pareto = json.loads(
        sextant("leaderboard", "--store", str(store), "--pareto", "accuracy,parameters", "--format", "json").stdout
    )["rows"]
    everything = json.loads(sextant("leaderboard", "--store", str(store), "--format", "json").stdout)["rows"]
    wanted = {
        one["fingerprint"]
        for one in everything
        if not any(
            other["accuracy"] >= one["accuracy"]
            and other["parameters"] <= one["parameters"]
            and (other["accuracy"], other["parameters"]) != (one["accuracy"], one["parameters"])
            for other in everything
        )
    }
    assert {one["fingerprint"] for one in pareto} == wanted
    text = sextant("leaderboard", "--store", str(store), "--format", "csv").stdout
    assert len(list(csv.DictReader(io.StringIO(text)))) == 3
    assert sextant("leaderboard", "--store", str(store), "--where", "import os").returncode == 2
    assert sextant("leaderboard", "--store", str(store), "--sort", "nothing").returncode == 2
    names = [one["fingerprint"] for one in everything]
    compared = sextant("compare", names[0], names[1], "--store", str(store), "--format", "json")
    assert compared.returncode == 0, compared.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 2])
def test_kill_9_then_resume_gives_exactly_the_planned_results(kills: int, tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text(yaml.safe_dump({**SPACE, "seeds": 4, "tasks": ["selective_copying"]}))
    store = tmp_path / "s.sqlite"
    command = [
        *SEXTANT,
        "search",
        "run",
        "space.yaml",
        "--study",
        "k",
        "--store",
        str(store),
        "--no-ray",
        "--workers",
        "1",
    ]
    for number in range(kills):
        owner = subprocess.Popen(
            command, env=ENVIRONMENT, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if count(store, "result") >= 3 * (number + 1):
                    break
            except sqlite3.OperationalError:
                pass
            time.sleep(0.05)
        assert owner.poll() is None
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        assert count(store, "result") < 12
        command = [*SEXTANT, "search", "resume", "k", "--store", str(store), "--no-ray", "--workers", "1"]
    found = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, timeout=90)
    assert found.returncode == 0, found.stderr
    assert count(store, "result") == 12
    assert count(store, "job") == 12
    assert len(set(rows(store, "select job_id from result"))) == 12
    assert len(rows(store, "select distinct candidate_id from job")) == 3
    assert rows(store, "pragma integrity_check") == [("ok",)]
    assert rows(store, "pragma journal_mode") == [("wal",)]


@pytest.mark.slow
def test_results_do_not_depend_on_when_they_were_made(searched: tuple[Path, Any], tmp_path: Path) -> None:
    """Deterministic seeds: `train` of one job gives the number that the search stored."""
    store, _ = searched
    status = json.loads(sextant("leaderboard", "--store", str(store), "--format", "json").stdout)["rows"]
    row = next(one for one in status if "retnet" in one["name"] or "gla" in one["name"])
    spec = rows(store, f"select spec from candidate where fingerprint = '{row['fingerprint']}'")[0][0]
    path = tmp_path / "spec.json"
    path.write_text(spec)
    result = sextant(
        "train", str(path), "--task", "selective_copying", "--steps", "2", "--seed", "1", "--format", "json"
    )
    assert result.returncode == 0, result.stderr
    stored = rows(
        store,
        "select r.accuracy from result r join job j on r.job_id = j.id join candidate c on c.id = j.candidate_id "
        f"where c.fingerprint = '{row['fingerprint']}' and j.task = 'selective_copying' and j.seed = 1",
    )
    assert json.loads(result.stdout)["result"]["metrics"]["accuracy"] == pytest.approx(stored[0][0], abs=1e-9)


@pytest.mark.slow
def test_a_size_hole_that_the_protocol_overrides_is_refused_or_said(tmp_path: Path) -> None:
    """Two candidates that train alike are one: a hole that changes nothing must not buy runs silently."""
    space = {
        "name": "sizes",
        "mixer": {"use": "retnet", "heads": {"state_dim": {"choice": [16, 32]}}},
        "tasks": ["selective_copying"],
        "seeds": 1,
        "budget": {"trials": 2},
        "steps": 2,
        "sampler": {"name": "random", "seed": 0},
    }
    (tmp_path / "space.yaml").write_text(yaml.safe_dump(space))
    found = sextant(
        "search", "run", "space.yaml", "--study", "a", "--store", "s.sqlite", "--no-ray", cwd=tmp_path, timeout=90
    )
    said = "state_dim" in found.stderr.split("best")[0] or "protocol" in found.stderr
    assert said or count(tmp_path / "s.sqlite", "result") == 1, found.stdout


SPACE_ERRORS: dict[str, Spec] = {
    "unknown task": {"tasks": ["nothing"]},
    "unknown sampler": {"sampler": {"name": "magic"}},
    "unknown key": {"budgett": {"trials": 3}},
    "unknown rule in reject": {"reject": ["CD999"]},
    "no tasks": {"tasks": []},
    "zero seeds": {"seeds": 0},
    "bad hole": {"mixer": {"use": "gla", "scaling": {"base": {"range": [1.0]}}}, "blocks": None},
    "empty choice": {"mixer": {"choice": []}, "blocks": None},
    "reversed range": {"mixer": {"use": "gla", "scaling": {"base": {"range": [2.0, 1.0]}}}, "blocks": None},
    "log range from 0": {
        "mixer": {"use": "gla", "scaling": {"base": {"range": [0.0, 1.0], "log": True}}},
        "blocks": None,
    },
    "wrong value in a hole": {
        "mixer": {"use": "gla", "scaling": {"gate": {"choice": ["none", "nothing"]}}},
        "blocks": None,
    },
    "unknown protocol": {"protocol": "huge"},
    "unknown objective": {"objectives": ["beauty"]},
}


@pytest.mark.parametrize("change", SPACE_ERRORS.values(), ids=list(SPACE_ERRORS))
def test_a_bad_space_file_exits_2_and_makes_no_store(change: Spec, tmp_path: Path) -> None:
    space = {key: value for key, value in {**SPACE, **change}.items() if value is not None}
    (tmp_path / "space.yaml").write_text(yaml.safe_dump(space))
    found = sextant(
        "search", "run", "space.yaml", "--study", "a", "--store", "s.sqlite", "--no-ray", cwd=tmp_path, timeout=60
    )
    assert found.returncode == 2, found.stdout
    assert "space.yaml" in found.stderr
    assert found.stderr.strip().count("\n") == 0, found.stderr
    assert not (tmp_path / "s.sqlite").exists()
