"""`sextant demo`: lint, search, leaderboard and one principle measured, on this machine; and `sextant doctor`."""

import os
import shutil
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from search.commands import results, screen, study

if TYPE_CHECKING:
    from search.run import Hands

OUTPUT = Path("demo-output")
STORE = "demo.sqlite"
SPECS = ("qwen3-next-80b.config.json", "sound.yaml", "unsound.yaml")
PACKAGES = ("torch", "ray", "optuna", "pydantic", "sqlalchemy", "networkx", "fastapi")


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of the demo's store; an older one is replaced.")
    ] = OUTPUT,
    workers: Annotated[int, typer.Option(min=1, help="Candidates trained at the same time.")] = study.DEFAULT_WORKERS,
) -> None:
    """Lint a real model and two specs, search for some minutes, show the leaderboard, and measure one principle.

    \b
    Example: sextant demo
    """
    from search.run import Hands

    started = time.monotonic()
    store = _fresh_store(output)
    _copy_files(output)

    _heading("1. Lint: a model from the hub, a sound spec, and one with two mistakes")
    _lint([output / name for name in SPECS])

    _heading("2. Search: Optuna proposes, the rules reject, Ray actors train")
    _search(output / "space.yaml", "demo", store, Hands(workers=workers))
    _heading("3. Leaderboard: mean over tasks and seeds, with the 95 % interval")
    results.leaderboard(store=store)

    _heading("4. Principle 3, measured: attention without position against attention with a rotation, on copying")
    _search(output / "contrast.yaml", "contrast", store, Hands(workers=workers))
    results.compare("softmax_rope", "softmax_nope", task="selective_copying", store=store)
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    typer.echo(f"\nDone in {minutes} min {seconds} s. Specs, spaces and results lie in {output}; try\n")
    typer.echo(f"    sextant leaderboard --store {store} --task selective_copying")
    typer.echo(f"    sextant lint {output / 'unsound.yaml'}")


def doctor(store: study.Store = study.DEFAULT_STORE) -> None:
    """Show what a search would run on: versions, processors, accelerators, and the store.

    \b
    Example: sextant doctor
    """
    from importlib.metadata import version

    import torch

    devices = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    rows = [("python", sys.version.split()[0]), *((name, version(name)) for name in PACKAGES)]
    rows += [
        ("processors", str(os.cpu_count())),
        ("accelerators", ", ".join(devices) or "none: training runs on processors"),
        ("store", _store_state(store)),
    ]
    screen.console().print(screen.table(["", "found"], rows))


def _lint(specs: list[Path]) -> None:
    from checkers.check import check
    from designspace.specfile import load_with_places
    from search.commands.output import output

    loaded = [load_with_places(spec) for spec in specs]
    reports = [check(one.candidate, document=one.document, unread=one.unread) for one in loaded]
    output("text").write(reports, loaded)


def _search(space: Path, name: str, store: str, hands: "Hands") -> None:
    from search.run import run_study
    from search.space import load_space

    with study.Display() as display:
        final = run_study(load_space(space), name=name, store_url=store, hands=hands, on_live=display.show)
    for one in final.rejected:
        typer.echo(f"rejected before training: {one.name} ({', '.join(one.codes)})")
    study.conclude(final, store)


def _fresh_store(folder: Path) -> str:
    """Path of the demo's store in `folder`, without what an earlier demo left there."""
    from search.run import locked

    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / STORE):  # a demo that still runs there keeps its store
        for old in folder.glob(f"{STORE}*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    return str(folder / STORE)


def _copy_files(folder: Path) -> None:
    """Put the demo's specs and spaces into `folder`, to be read and changed."""
    for source in files("search.demo").iterdir():
        if source.name.endswith((".yaml", ".json")):
            (folder / source.name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")


def _store_state(url: str) -> str:
    from designspace.errors import SpecError
    from search.store import open_store

    try:
        open_store(url, create=False).close()
    except SpecError as error:
        return str(error)
    return f"{url}: ready"


def _heading(text: str) -> None:
    typer.echo(f"\n{text}\n{'-' * len(text)}")
