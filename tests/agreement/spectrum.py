"""The per-step factor before and after training: shown, not judged (theory, section 3; arXiv 2510.09379).

    .venv/bin/python -m tests.agreement.spectrum gla mamba2 deltanet softmax_rope --steps 200

A recurrence has the eigenvalues of A_t (share of |lambda| and of its phase in bins), a mixer that sums its rows
|eta_(i-1) / eta_i|. Models are those of the tiny protocol; each mixer is looked at on the inputs it has in its stack.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor, nn

from designspace import catalogue
from designspace.canonical import fingerprint
from designspace.job import Job
from designspace.mixer import MixerSpec
from workers import coefficients as definition
from workers import train
from workers.mixer import Mixer
from workers.model import build
from workers.probes.evolution import PHASES, SIZES, share
from workers.probes.factors import eta_ratios
from workers.signals import Signals

STEPS = 200
SEQUENCES = 2
TOKENS = 24


def factors(spec: MixerSpec, signals: Signals) -> tuple[str, Tensor]:
    """What keeps a key from one step to the next: ratios of eta where rows are divided by their sum, else A_t."""
    if spec.normalization.sums_the_row:
        return "eta ratio", eta_ratios(spec, signals)
    steps = [definition.transition(spec, signals, step) for step in range(TOKENS * spec.erase.rank)]
    return "eigenvalue", torch.linalg.eigvals(torch.cat([one.flatten(0, 1) for one in steps])).flatten()


def shares(values: Tensor) -> Iterator[tuple[str, float]]:
    """Share of the sizes in each bin, and of the phases where there are any."""
    for low, high in zip(SIZES, (*SIZES[1:], math.inf), strict=True):
        yield f"size above {low:g}", share(values.abs(), low, high)
    if values.is_complex():
        for low, high in zip(PHASES, (*PHASES[1:], math.inf), strict=True):
            yield f"phase above {low:g} pi", share(values.angle().abs() / math.pi, low, high)


@torch.no_grad()
def spectrum(model: nn.Module, tokens: Tensor) -> dict[str, float]:
    """The shares of the first mixer of a model on its own inputs."""
    mixer = next(part for part in model.modules() if isinstance(part, Mixer))
    inputs: list[Tensor] = []
    hook = mixer.register_forward_pre_hook(lambda _mixer, arguments: inputs.append(arguments[0]))
    model(tokens)
    hook.remove()
    signals = definition.in_float64(mixer.project(inputs[0])[0])
    name, values = factors(mixer.spec, signals)
    return {f"{name} {bin_name}": value for bin_name, value in shares(values)}


def before_and_after(name: str, *, steps: int, task: str = "in_context_recall") -> Iterator[dict[str, float]]:
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


def main(arguments: list[str]) -> int:
    """Print a table of each entry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="catalogue entries")
    parser.add_argument("--steps", type=int, default=STEPS, help="training steps")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print("| entry | factor | before | after |\n|---|---|---|---|")
    for name in options.names:
        start, end = before_and_after(name, steps=options.steps)
        for key, value in start.items():
            print(f"| {name} | {key} | {value:.3f} | {end[key]:.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
