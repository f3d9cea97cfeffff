"""Runs the command line in this process, in a folder that holds what examples name."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from designspace import catalogue
from designspace.canonical import fingerprint
from designspace.job import Result
from search import cli, leases, ledger
from search.store import open_store

ROOT = Path(__file__).parents[2]
PLAN = ledger.Plan(tasks=("selective_copying",), seeds=(0, 1))
ACCURACY = {"softmax_rope": 0.75, "softmax_nope": 0.25}


class Outcome(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the command: a config.json, a spec and a space."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "tests" / "configs" / "mistral-7b-v0.1.json", tmp_path / "config.json")
    (tmp_path / "my.yaml").write_text("mixer: {use: gated_deltanet}\n")
    space = (ROOT / "search" / "demo" / "space.yaml").read_text()
    (tmp_path / "space.yaml").write_text(space.replace("steps: 250", "steps: 8"))
    return tmp_path


@pytest.fixture
def sextant(folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:  # noqa: ARG001
    """`sextant(*arguments)` runs the command and says how it ended."""

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr("sys.argv", ["sextant", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        captured = capfd.readouterr()
        return Outcome(code if isinstance(code, int) else 0 if code is None else 1, captured.out, captured.err)

    return run


@pytest.fixture
def results(folder: Path) -> str:
    """The default store with a finished study `first`: two mixers, one task, two seeds."""
    path = str(folder / "sextant.sqlite")
    with closing(open_store(path)) as store:
        study = ledger.create_study(store, "first", space={}, budget=ledger.Budget(trials=2))
        for name in ACCURACY:
            ledger.propose(store, study.id, draft(name), PLAN)
        claim = leases.claim(store, leases.ClaimRequest(worker="w", max=9, idempotency_key="k"))
        leases.complete(
            store,
            [
                Result(
                    job_id=job.id, attempt=1, status="done", metrics={"accuracy": score, "chance": 0.1, "tokens": 9.0}
                )
                for job in claim.jobs
                for score in [ACCURACY[job.spec["name"]] + 0.01 * job.seed]
            ],
        )
        ledger.end_study(store, "first", "All 2 trials are done.")
    return path


def draft(name: str) -> ledger.Draft:
    """A proposal of a catalogue entry without findings."""
    candidate = catalogue.get(name).candidate
    return ledger.Draft(
        fingerprint=fingerprint(candidate),
        name=name,
        spec=candidate.model_dump(mode="json", by_alias=True),
        report={"findings": [], "summary": {"errors": 0, "warnings": 1, "infos": 2}},
        rejected=False,
        facts={"selective_copying": {"parameters": 1000.0, "state_bytes": 2048.0, "decode_macs": 5.0}},
    )
