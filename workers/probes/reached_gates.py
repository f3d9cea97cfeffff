"""What do gates and decays reach at the extremes of the declared ranges? (P2, numerics)"""

import math
from collections.abc import Iterator

from designspace.measurement import Measurement
from workers.extremes import FARTHEST, LOOSENED, by_draw, extremes
from workers.probe import Probe, Subject

LARGEST = 1e300  # that a measurement holds
DRAWS = 2  # extremes differ little


def _mixer(subject: Subject) -> Iterator[Measurement]:
    spec = subject.small
    draws = min(subject.draws, DRAWS)
    far = [
        one.signals
        for draw in range(draws)
        for one in extremes(spec, seed=subject.draw_seed(draw), sizes=(FARTHEST,))
        if one.pattern != LOOSENED
    ]
    gates = [one.gate for one in far if one.gate is not None and spec.scaling.gate != "index"]
    if gates:
        lowest, highest = [min(float(one.min()), LARGEST) for one in gates], [float(one.log().max()) for one in gates]
        yield from subject.smallest("reached_gate", by_draw(lowest, draws, min))
        yield from subject.largest("reached_log_gate", [min(one, LARGEST) for one in by_draw(highest, draws, max)])
    decays = [one.log_decay for one in far if one.log_decay is not None]
    if decays:
        lowest, highest = [max(float(one.min()), -LARGEST) for one in decays], [float(one.max()) for one in decays]
        yield from subject.smallest("reached_log_decay", by_draw(lowest, draws, min))
        yield from subject.largest("reached_decay", [math.exp(one) for one in by_draw(highest, draws, max)])


probe = Probe(
    quantities={
        "reached_gate": "smallest scaling gate that extreme inputs reach",
        "reached_log_gate": "largest log of a scaling gate that extreme inputs reach",
        "reached_log_decay": "smallest log a that extreme inputs reach",
        "reached_decay": "largest factor a that extreme inputs reach",
    },
    mixer=_mixer,
)
