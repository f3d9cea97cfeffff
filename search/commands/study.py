"""`sextant search`: run, resume, stop, status and list; the live display."""

import shlex
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.commands import screen

if TYPE_CHECKING:
    from search.ledger import Budget
    from search.run import Hands, Live
    from search.status import Status

DEFAULT_STORE = "sextant.sqlite"
DEFAULT_WORKERS = 2
EXIT_UNFINISHED = 1

app = typer.Typer(help="Run and watch searches.", no_args_is_help=True, rich_markup_mode=None)

Store = Annotated[
    str, typer.Option("--store", envvar="SEXTANT_STORE", help="Database: a SQLite file or an SQLAlchemy URL.")
]
Study = Annotated[str, typer.Option("--study", help="Name of the study.")]
Workers = Annotated[int, typer.Option(min=1, help="Candidates trained at the same time.")]
Budget_ = Annotated[
    int | None,
    typer.Option("--budget", min=1, max=1_000_000_000, help="Distinct candidates to train, in place of the space's."),
]
Ray = Annotated[str | None, typer.Option("--ray", help="Address of a running Ray cluster; none: one on this machine.")]
NoRay = Annotated[bool, typer.Option("--no-ray", help="Train in one plain process instead of Ray actors.")]


@app.command()
def run(
    space: Annotated[str, typer.Argument(help="A space file: a spec with holes, tasks, seeds, budget, sampler.")],
    study: Study,
    store: Store = DEFAULT_STORE,
    workers: Workers = DEFAULT_WORKERS,
    budget: Budget_ = None,
    ray: Ray = None,
    no_ray: NoRay = False,
    config: Annotated[
        str | None, typer.Option(help="Settings file of the checker, in place of the nearest one upwards of the space.")
    ] = None,
    isolated: Annotated[bool, typer.Option("--isolated", help="Read no settings file of the checker.")] = False,
) -> None:
    """Search a space: propose, check, train on workers, keep every result.

    In the space file, `{choice: [...]}` and `{range: [lo, hi]}` leave a value open, and `mixer: {grammar: full}` leaves
    open the whole mixer, but for the keys beside it.

    Candidates are checked with the settings of `sextant lint`: the key `checker` of the space, else the nearest
    settings file. The study keeps them.

    Ctrl-C stops it in order; `sextant search resume` goes on, also after a kill -9.

    \b
    Example: sextant search run space.yaml --study first --budget 1
    """
    from checkers.settings_file import resolver
    from search.run import run_study
    from search.space import load_space

    loaded = load_space(space, settings_of=resolver(config=config, isolated=isolated))
    limits = loaded.settings.limits if budget is None else loaded.settings.limits.model_copy(update={"trials": budget})
    with Display() as display:
        final = run_study(
            loaded, name=study, store_url=store, hands=_hands(workers, ray, no_ray), budget=limits, on_live=display.show
        )
    conclude(final, store)


@app.command()
def resume(
    study: Annotated[str, typer.Argument(help="Name of the study.")],
    store: Store = DEFAULT_STORE,
    workers: Workers = DEFAULT_WORKERS,
    budget: Budget_ = None,
    ray: Ray = None,
    no_ray: NoRay = False,
) -> None:
    """Go on with a study that was stopped or killed; --budget extends it.

    \b
    Example: sextant search resume first
    """
    from search.run import resume_study

    limits = _extended(study, store, budget)
    with Display() as display:
        final = resume_study(
            study, store_url=store, hands=_hands(workers, ray, no_ray), budget=limits, on_live=display.show
        )
    conclude(final, store)


@app.command()
def stop(study: Annotated[str, typer.Argument(help="Name of the study.")], store: Store = DEFAULT_STORE) -> None:
    """Ask a running study to stop; what is in training is given back.

    \b
    Example: sextant search stop first
    """
    from search.run import stop_study

    typer.echo(headline(stop_study(study, store_url=store)))


@app.command()
def status(
    study: Annotated[str, typer.Argument(help="Name of the study.")],
    store: Store = DEFAULT_STORE,
    output_format: screen.Format = screen.DataFormat.TEXT,
) -> None:
    """Show where a study stands.

    \b
    Example: sextant search status first
    """
    from search.status import status as status_of
    from search.store import open_store

    with closing(open_store(store, create=False)) as opened:
        found = status_of(opened, study)
    if output_format == screen.DataFormat.JSON:
        screen.print_json(found.model_dump(mode="json"))
        return
    typer.echo(headline(found))
    if found.rejected:
        rows = [[one.number, one.name, one.fingerprint, ", ".join(one.codes)] for one in found.rejected]
        screen.console().print(screen.table(["#", "rejected candidate", "fingerprint", "rules"], rows))


@app.command("list")
def list_(store: Store = DEFAULT_STORE, output_format: screen.Format = screen.DataFormat.TEXT) -> None:
    """List the studies of a store.

    \b
    Example: sextant search list
    """
    from search import ledger
    from search.store import open_store

    with closing(open_store(store, create=False)) as opened:
        studies = ledger.studies(opened)
    if output_format == screen.DataFormat.JSON:
        screen.print_json([study.model_dump(mode="json", exclude={"space"}) for study in studies])
        return
    rows = [
        [one.name, one.state, one.trials_taken, one.budget.trials, one.jobs_taken, f"{one.created_at:%Y-%m-%d %H:%M}"]
        for one in studies
    ]
    screen.console().print(screen.table(["study", "state", "trials", "of", "runs", "started (UTC)"], rows))


def headline(status: "Status") -> str:
    """One line: how many proposals stand where, the best one, the time left."""
    proposals, jobs = status.counts.proposals, status.counts.jobs
    finished = proposals.get("done", 0) + proposals.get("replayed", 0)
    parts = [
        f"{status.name} {status.state}: {finished} of {status.budget.trials} candidates",
        f"{jobs.get('done', 0)} runs done, {jobs.get('leased', 0)} running, {jobs.get('queued', 0)} waiting",
        f"{proposals.get('rejected', 0)} rejected, {proposals.get('duplicate', 0)} duplicate, "
        f"{proposals.get('replayed', 0)} replayed",
    ]
    if failed := proposals.get("failed", 0):
        parts.append(f"{failed} failed")
    if status.best is not None:
        parts.append(f"best {status.best.values[0]:.3f} {status.best.name}")
    if status.seconds_left:
        parts.append(f"about {_duration(status.seconds_left)} left")
    return "; ".join(parts) + "."


class Display:
    """Shows a running search: in place on a terminal, else one line whenever the counts change."""

    def __init__(self) -> None:
        self.last = ""
        self.live: Any = None

    def __enter__(self) -> "Display":
        if sys.stderr.isatty():
            from rich.live import Live as RichLive

            self.live = RichLive(console=screen.console(stderr=True), refresh_per_second=2, transient=True)
            self.live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self.live is not None:
            self.live.__exit__(*error)

    def show(self, live: "Live") -> None:
        """Show the state; called a few times per second."""
        if self.live is not None:
            self.live.update(panel(live))
            return
        counts = live.status.counts
        news = f"{counts.proposals}{counts.jobs.get('done')}{live.status.state}"
        if news != self.last:
            self.last = news
            typer.echo(headline(live.status), err=True)


def panel(live: "Live") -> object:
    """The headline, and a bar per candidate in training."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for job_id, point in sorted(live.progress.items()):
        progress = point.progress
        accuracy = "" if progress.validation_accuracy is None else f"accuracy {progress.validation_accuracy:.3f}"
        bar = ProgressBar(total=progress.steps, completed=progress.step, width=30)
        grid.add_row(f"run {job_id}", bar, f"{progress.step}/{progress.steps}", f"loss {progress.loss:.3f}", accuracy)
    return Group(headline(live.status), grid)


def conclude(final: "Status", store: str) -> None:
    """Print how a study ended; one that is not done ends the command with exit code 1 and says how to go on."""
    typer.echo(headline(final))
    if final.reason:
        typer.echo(final.reason)
    if final.state != "done":
        typer.echo(f"To go on: sextant search resume {shlex.quote(final.name)} --store {shlex.quote(store)}")
        raise typer.Exit(EXIT_UNFINISHED)


def _hands(workers: int, ray: str | None, no_ray: bool) -> "Hands":
    from search.run import Hands

    return Hands(workers=workers, ray=not no_ray, ray_address=ray)


def _extended(study: str, store: str, trials: int | None) -> "Budget | None":
    if trials is None:
        return None
    from search import ledger
    from search.store import open_store

    with closing(open_store(store, create=False)) as opened:
        return ledger.study(opened, study).budget.model_copy(update={"trials": trials})


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
