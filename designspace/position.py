"""What tells earlier keys apart by their place. Source: arXiv 2510.09389, principle 3."""

from designspace import readout as readouts
from designspace.mixer import MixerSpec
from designspace.streams import convolved


def position_codes(mixer: MixerSpec, seq_len: int) -> tuple[str, ...]:
    """Paths of what tells earlier keys apart by their place in `seq_len` tokens.

    Empty: no coefficient depends on the order of the past. A table of one lag only knows the query's own key, a mixer
    that reads no past has none to order, and a convolution only counts on what is computed from tokens.
    """
    own = _codes(mixer, seq_len) if _reads_past(mixer) else ()
    convolves = mixer.io.short_conv.width > 1 and bool(convolved(mixer))
    return (*own, "io.short_conv") if convolves else own


def _codes(mixer: MixerSpec, seq_len: int) -> tuple[str, ...]:
    parts = {
        "decay": not mixer.decay.is_identity and mixer.decay.hull != (1.0, 1.0),
        "rotation": not mixer.rotation.is_identity,
        "erase": not mixer.erase.is_identity,
        "shear": not mixer.shear.is_identity and mixer.shear.width != 1,
        "lift": mixer.lift.kind != "none" and mixer.lift.width != 1,
        "support.window": _drops_some(mixer.support.window, seq_len),
        "support.chunk": _drops_some(mixer.support.chunk, seq_len),
        "scaling.gate": mixer.scaling.gate == "index",
    }
    return tuple(path for path, holds in parts.items() if holds)


def _reads_past(mixer: MixerSpec) -> bool:
    """A query reads other keys than its own; the only tap of a shift leaves them the weight phi(0)."""
    alone = mixer.lift.width == 1 and readouts.value(mixer.readout, 0.0) == 0.0
    return not alone and 1 not in (mixer.support.window, mixer.support.chunk)


def _drops_some(bound: int | None, seq_len: int) -> bool:
    """Some earlier keys of the sequence are read and some are not."""
    return bound is not None and 1 < bound < seq_len
