"""`sextant train`: one candidate, one task, one seed, in this process and without Ray."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from designspace.job import MAX_STEPS
from search.commands import screen
from search.commands.specs import Spec

if TYPE_CHECKING:
    from designspace.job import Job, Progress, Result


def train(
    spec: Spec,
    task: Annotated[str, typer.Option(help="A task, such as in_context_recall.")],
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of data, weights and order.")] = 0,
    protocol: Annotated[str, typer.Option(help="Sizes and schedule: tiny or mad.")] = "tiny",
    budget: Annotated[
        int | None, typer.Option("--budget", "--steps", min=1, max=MAX_STEPS, help="Optimizer steps.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Save result and learning curve here.")] = None,
    output_format: screen.Format = screen.DataFormat.TEXT,
) -> None:
    """Train one candidate on one task and save its learning curve.

    \b
    Example: sextant train catalogue:gated_deltanet --task in_context_recall --budget 20 -o curve.json
    """
    from designspace.canonical import fingerprint
    from designspace.job import Job
    from designspace.specfile import load

    candidate = load(spec)
    job = Job(
        id=0,
        attempt=1,
        fingerprint=fingerprint(candidate),
        spec=candidate.model_dump(mode="json", by_alias=True),
        task=task,
        protocol=protocol,
        seed=seed,
        steps=budget,
    )
    result = _run(job, show=output_format == screen.DataFormat.TEXT)
    saved = {"job": job.model_dump(mode="json"), "result": result.model_dump(mode="json")}
    if output is not None:
        import json

        screen.save(json.dumps(saved, indent=2), output)
    if output_format == screen.DataFormat.JSON:
        screen.print_json(saved)
    else:
        screen.console().print(_summary(result))
        if output is not None:
            typer.echo(f"curve and result: {output}")
    if result.status != "done":
        raise typer.Exit(1)


def _run(job: "Job", *, show: bool) -> "Result":
    """Train to the end; print a line per point of the curve."""
    import torch

    from designspace.errors import SpecError
    from workers.limits import is_out_of_memory, limit_memory
    from workers.model import build
    from workers.train import train as run

    torch.set_num_threads(1)  # as every worker does, so that this run gives the number that a search gives
    limit_memory()
    points = run(job, build=build)
    while True:
        try:
            point = next(points)
        except StopIteration as end:
            result: Result = end.value
            return result
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise SpecError(f"training needs more memory than one core's share here ({error}).") from error
        if show:
            typer.echo(_line(point))


def _line(point: "Progress") -> str:
    accuracy = "" if point.validation_accuracy is None else f"  validation accuracy {point.validation_accuracy:.3f}"
    return f"step {point.step:>6}/{point.steps}  loss {point.loss:.4f}{accuracy}  {point.seconds:.1f} s"


def _summary(result: "Result") -> object:
    rows: list[tuple[str, object]] = [("status", result.status)]
    if result.error:
        rows.append(("error", result.error))
    rows += [*result.metrics.items(), ("seconds", result.seconds)]
    return screen.table(["measured", "value"], [(name, screen.cell(value)) for name, value in rows])
