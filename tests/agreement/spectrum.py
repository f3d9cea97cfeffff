"""The per-step factor before and after training: shown, not judged (theory, section 3; arXiv 2510.09379).

    .venv/bin/python -m tests.agreement.spectrum gla mamba2 deltanet softmax_rope --steps 200
    .venv/bin/python -m tests.agreement.spectrum --steps 60 --markdown        every entry, into docs/agreement.md

A recurrence has the eigenvalues of A_t (share of |lambda| in bins, and of phases above pi / 2), a mixer that sums its
rows |eta_(i-1) / eta_i|. Models are those of the tiny protocol; the first mixer of each is looked at on the inputs it
has in its stack.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from designspace import catalogue
from designspace.canonical import fingerprint
from designspace.errors import SpecError
from designspace.job import Job
from designspace.mixer import MixerSpec
from workers import coefficients as definition
from workers import train
from workers.mixer import Mixer
from workers.model import build
from workers.probes.evolution import SIZES, share
from workers.probes.factors import eta_ratios
from workers.signals import Signals

STEPS = 200
SEQUENCES = 2
TOKENS = 24
PAGE = Path(__file__).parents[2] / "docs" / "agreement.md"
START, END = "<!-- spectrum: start -->", "<!-- spectrum: end -->"


def factors(spec: MixerSpec, signals: Signals) -> tuple[str, Tensor]:
    """What keeps a key from one step to the next: ratios of eta where rows are divided by their sum, else A_t."""
    if spec.normalization.sums_the_row:
        return "eta ratio", eta_ratios(spec, signals)
    steps = [definition.transition(spec, signals, step) for step in range(TOKENS * spec.erase.rank)]
    return "eigenvalue", torch.linalg.eigvals(torch.cat([one.flatten(0, 1) for one in steps])).flatten()


@dataclass(frozen=True)
class Shares:
    """How the factors of a mixer are spread.

    Attributes:
        factor: what they are.
        sizes: share in each bin of `SIZES`.
        turned: share of the phases above pi / 2; None where the factors are no eigenvalues.
    """

    factor: str
    sizes: tuple[float, ...]
    turned: float | None


def shares(factor: str, values: Tensor) -> Shares:
    """The spread of these factors."""
    edges = zip(SIZES, (*SIZES[1:], math.inf), strict=True)
    return Shares(
        factor,
        tuple(share(values.abs(), low, high) for low, high in edges),
        share(values.angle().abs() / math.pi, 0.5, math.inf) if values.is_complex() else None,
    )


@torch.no_grad()
def spectrum(model: nn.Module, tokens: Tensor) -> Shares:
    """The shares of the first mixer of a model on its own inputs."""
    mixer = next(part for part in model.modules() if isinstance(part, Mixer))
    inputs: list[Tensor] = []
    raw = mixer.raw

    def keeping(x: Tensor) -> Any:
        inputs.append(x)
        return raw(x)

    mixer.raw = keeping  # type: ignore[method-assign]
    model(tokens)
    del mixer.raw
    signals = definition.in_float64(mixer.project(inputs[0])[0])
    return shares(*factors(mixer.spec, signals))


def before_and_after(name: str, *, steps: int, task: str = "in_context_recall") -> Iterator[Shares]:
    """The shares of a catalogue entry at initialisation, and after `steps` of training."""
    candidate = catalogue.get(name).candidate
    job = Job(
        id=1,
        attempt=1,
        fingerprint=fingerprint(candidate),
        spec=candidate.model_dump(mode="json", by_alias=True),
        task=task,
        seed=0,
        steps=steps,
    )
    run = train.prepare(job, build=build, device=torch.device("cpu"))
    tokens = run.data["validation"][0][:SEQUENCES, :TOKENS]
    yield spectrum(run.model, tokens)
    for step, rows in enumerate(islice(train.batches(run), steps), start=1):
        train.optimize(run, step, rows)
    yield spectrum(run.model, tokens)


def entries() -> list[str]:
    """Catalogue entries with a per-step factor: an evolution that is not the identity, or a row sum that divides."""
    found = []
    for name in catalogue.names():
        located = next(catalogue.get(name).candidate.mixers(), None)
        if located is None:
            continue
        mixer = located.mixer
        steps = not mixer.evolution_is_identity and mixer.lift.kind != "shift"  # a filter has taps, no steps
        if steps or mixer.normalization.sums_the_row:
            found.append(name)
    return found


HEAD = (
    f"| entry | factor | at most {SIZES[1]:g} |"
    + "".join(f" {low:g} to {high:g} |" for low, high in pairwise(SIZES[1:]))
    + f" above {SIZES[-1]:g} | phase above pi / 2 |"
)


def row(name: str, start: Shares, end: Shares) -> str:
    """One line of the table: the shares before and after, in percent."""
    cells = [_change(*pair) for pair in zip(start.sizes, end.sizes, strict=True)]
    turned = "" if start.turned is None or end.turned is None else _change(start.turned, end.turned)
    return f"| {' | '.join([name, start.factor, *cells, turned])} |"


def _change(before: float, after: float) -> str:
    """Two shares in percent; one number where they round to the same."""
    first, last = f"{100.0 * before:.0f}", f"{100.0 * after:.0f}"
    return first if first == last else f"{first} > {last}"


def write(table: list[str]) -> None:
    """Replace the table in docs/agreement.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text("\n".join([f"{before}{START}", *table, f"{END}{after}"]), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Print a row of the table for each entry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="catalogue entries; all that have a per-step factor without any")
    parser.add_argument("--steps", type=int, default=STEPS, help="training steps")
    parser.add_argument("--markdown", action="store_true", help="write the table into docs/agreement.md")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    table = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    print("\n".join(table))
    for name in options.names or entries():
        try:
            table.append(row(name, *before_and_after(name, steps=options.steps)))
        except SpecError as error:  # reads later tokens, where the answers of the task stand
            print(f"{name}: not trained: {error}", file=sys.stderr)
            continue
        print(table[-1], flush=True)
    if options.markdown:
        write(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
