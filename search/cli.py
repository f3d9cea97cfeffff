"""The `sextant` command: one file per command group in `search/commands`, exit codes and one-line errors here.

Only light modules are imported at the top here and in the commands: torch, ray, optuna and the store cost seconds, and
`sextant lint` must answer in well under one.
"""

import io
import os
import sys
import traceback

import typer

from designspace.errors import SpecError, visible
from search.commands import catalogue, configs, demo, lint, probe, results, rules, show, specs, study, train

EXIT_BAD_INPUT = 2  # also a bad configuration and an internal error

app = typer.Typer(
    name="sextant",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(lint.lint)
app.command()(probe.probe)
app.command()(rules.rules)
app.command()(rules.rule)
app.command("explain")(rules.rule)
app.command()(catalogue.catalogue)
app.command()(show.show)
app.command()(show.cost)
app.command()(specs.diff)
app.command()(specs.new)
app.command()(specs.schema)
app.command("import")(configs.import_config)
app.command()(train.train)
app.add_typer(study.app, name="search")
app.command()(results.leaderboard)
app.command()(results.compare)
app.command()(demo.demo)
app.command()(demo.doctor)


@app.callback(invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error (also SEXTANT_DEBUG=1)."),
) -> None:
    """Lint, search and rank causal sequence mixers by theory and by measurement."""
    if debug:
        os.environ["SEXTANT_DEBUG"] = "1"
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"sextant {installed('sextant-search')}")
        raise typer.Exit


def main() -> None:
    """Run the command line: exit 0 or 1 as the command says, 2 on bad input and on an internal error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")  # an encoding without a sign such as ± shows a ? for it
    try:
        app()
    except SpecError as error:
        _fail(error, str(error))
    except Exception as error:
        reason = " ".join(str(error).split())
        _fail(error, f"internal error: {type(error).__name__}: {reason}; --debug shows where.")


def _fail(error: Exception, message: str) -> None:
    if os.environ.get("SEXTANT_DEBUG"):
        traceback.print_exception(error)
    typer.echo(f"error: {visible(message)}", err=True)
    sys.exit(EXIT_BAD_INPUT)
