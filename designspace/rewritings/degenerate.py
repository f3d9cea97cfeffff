"""Degenerate values: settings at which a part does nothing, or does what a simpler part does.

All of these keep every coefficient exactly (to rounding).
"""

from designspace.decay import Decay
from designspace.erase import Erase
from designspace.mixer import MixerSpec
from designspace.readout import Sigmoid
from designspace.rewritings.change import changed, is_one, rounded, snapped
from designspace.rewritings.parts import COMMUTING_NORMS
from designspace.rotation import Rotation
from designspace.shear import Shear

WRITES_GATE = ("complement", "one_minus_bk2")  # decay maps that change the scaling gate too
READS_DECAY = ("complement", "sqrt_1_minus_a2", "step_power")  # scaling gates that are computed from the decay
SHARES_STEP = ("dt", "step_power")  # scaling gates that are computed from the step of the decay


def softcap_infinite(mixer: MixerSpec) -> MixerSpec:
    """c tanh(z / c) tends to z."""
    return mixer if mixer.readout.is_capped else changed(mixer, "readout", softcap=None)


def decay_of_one(mixer: MixerSpec) -> MixerSpec:
    """a = 1, constant or by its range: no decay, unless a gate or the keys are computed from it."""
    decay = mixer.decay
    needed = mixer.scaling.gate in READS_DECAY or mixer.features.map == "one_minus_decay"
    if decay.granularity == "none" or needed or decay.map in WRITES_GATE or decay.hull != (1.0, 1.0):
        return mixer
    return mixer.model_copy(update={"decay": Decay()})


def decay_range_of_one_value(mixer: MixerSpec) -> MixerSpec:
    """A range [c, c] leaves the constant c, whatever the map. Not where the map sets the gate or shares its step."""
    decay = mixer.decay
    free = decay.map not in WRITES_GATE and mixer.scaling.gate not in SHARES_STEP
    if decay.granularity == "none" or decay.range[0] != decay.range[1] or not free:
        return mixer
    return changed(mixer, "decay", source="constant", map="fixed", initial=None, spacing=Decay().spacing)


def decay_constant(mixer: MixerSpec) -> MixerSpec:
    """A constant schedule is one number per head: scalar, given by its range; one head takes the lower end."""
    decay = mixer.decay
    if decay.granularity == "none" or decay.source != "constant":
        return mixer
    low, high = decay.constant_range
    span = (low, low) if mixer.heads.num_heads == 1 else (low, high)
    granularity = "diagonal" if mixer.features.map == "one_minus_decay" else "scalar"
    return changed(mixer, "decay", granularity=granularity, range=span, initial=None)


def one_channel(mixer: MixerSpec) -> MixerSpec:
    """Equivalence 5: with one key channel a diagonal decay is scalar and a gain per channel is one gain."""
    if mixer.key_dim > 1:
        return mixer
    if mixer.erase.per_channel:
        mixer = changed(mixer, "erase", per_channel=False)
    named_diagonal = mixer.decay.map == "one_minus_bk2" or mixer.features.map == "one_minus_decay"
    named_diagonal = named_diagonal or mixer.scaling.gate == "step_power"
    if mixer.decay.granularity != "diagonal" or named_diagonal:
        return mixer
    return changed(mixer, "decay", granularity="scalar")


def rotation_pairs(mixer: MixerSpec) -> MixerSpec:
    """What counts is the number of pairs: the fraction is 1 for as many as fit, else 2 pairs / n.

    A single pair is (0, 1) in either pairing, and its constant angle is theta^0 whatever theta; angles of tokens have
    no theta.
    """
    rotation, width = mixer.rotation, mixer.key_dim
    if rotation.is_identity:
        return mixer
    pairs = rotation.pairs(width)
    if pairs == 1:
        mixer = changed(mixer, "rotation", pairing="half")
    if rotation.source == "input" or (rotation.source == "constant" and pairs == 1 and rotation.scaling is None):
        mixer = changed(mixer, "rotation", theta=Rotation().theta)
    return changed(mixer, "rotation", fraction=1.0 if pairs == width // 2 else 2 * pairs / width)


def erase_gain_zero(mixer: MixerSpec) -> MixerSpec:
    """beta = 0: nothing is erased. The micro-steps of a higher rank and a tied gate stay, in no direction."""
    erase = mixer.erase
    if erase.direction == "none" or erase.gain != (0.0, 0.0) or mixer.lift.kind == "momentum":
        return mixer
    if erase.rank == 1 and mixer.scaling.gate != "tied_to_erase":
        return mixer.model_copy(update={"erase": Erase()})
    return changed(mixer, "erase", direction="key", compose="product")


def erase_gain_constant(mixer: MixerSpec) -> MixerSpec:
    """A gain in [c, c] is the same in every channel."""
    same = mixer.erase.gain[0] == mixer.erase.gain[1]
    return changed(mixer, "erase", per_channel=False) if mixer.erase.per_channel and same else mixer


def erase_composition(mixer: MixerSpec) -> MixerSpec:
    """Without decay and rotation the additive form is the product form. Not per channel: there it is its transpose."""
    still = mixer.decay.is_identity and (mixer.rotation.is_identity or _turns_before_norm(mixer))
    if mixer.erase.compose == "product" or not still or mixer.erase.per_channel:
        return mixer
    return changed(mixer, "erase", compose="product")


def shear_slopes(mixer: MixerSpec) -> MixerSpec:
    """Constant slopes in one form: signed, with the base multiplied in; null for ALiBi's, one number for equal ones."""
    shear, scaling = mixer.shear, mixer.scaling
    if shear.source != "constant":
        return mixer
    if shear.is_identity:
        return mixer.model_copy(update={"shear": Shear()})
    absorbs = shear.scaled and not scaling.learnable
    factor = mixer.base if absorbs and scaling.where != "after" else 1.0
    sign = 1.0 if shear.sign == "decreasing" else -1.0
    slopes = tuple(snapped(sign * factor * slope) for slope in shear.head_slopes(mixer.heads.num_heads))
    alibi = Shear(source="constant").head_slopes(mixer.heads.num_heads)
    is_alibi = list(map(rounded, slopes)) == list(map(rounded, alibi))
    form = None if is_alibi else slopes[0] if len(set(slopes)) == 1 else slopes
    return changed(mixer, "shear", slopes=form, sign="decreasing", scaled=shear.scaled and not absorbs)


def shear_scale_of_one(mixer: MixerSpec) -> MixerSpec:
    """Multiplying the shear by a base of 1, or by one that acts after phi, changes nothing."""
    scaling = mixer.scaling
    one = not scaling.learnable and is_one(mixer.base)
    return changed(mixer, "shear", scaled=False) if one or scaling.where == "after" else mixer


def widths_within_support(mixer: MixerSpec) -> MixerSpec:
    """Lags that no query sees need no entry: tables and filters are as wide as the window or chunk at most.

    A table of lag 0 is not read under a strict mask.
    """
    if mixer.support.mask == "strict" and mixer.shear.width == 1:
        mixer = mixer.model_copy(update={"shear": Shear()})
    reach = mixer.support.window or mixer.support.chunk
    if reach is None:
        return mixer
    if mixer.shear.width is not None and mixer.shear.width > reach:
        mixer = changed(mixer, "shear", width=reach)
    if mixer.lift.width is not None and mixer.lift.width > reach:
        mixer = changed(mixer, "lift", width=reach)
    return mixer


def support_of_one(mixer: MixerSpec) -> MixerSpec:
    """A chunk of one key is a window of one key, and causal or not makes no difference to it."""
    support = mixer.support
    if support.chunk == 1:
        mixer = changed(mixer, "support", chunk=None, window=1)
    return changed(mixer, "support", mask="causal") if _sees_itself_only(mixer) else mixer


def length_of_one(mixer: MixerSpec) -> MixerSpec:
    """With a window of one key the visible length is 1, and its logarithm 0."""
    if not _sees_itself_only(mixer) or mixer.normalization.length_kind != "visible":
        return mixer
    if isinstance(mixer.readout, Sigmoid) and mixer.readout.offset == "-log_length":
        mixer = changed(mixer, "readout", offset=0.0)
    return changed(mixer, "normalization", kind="none") if mixer.normalization.kind == "length" else mixer


def evolution_unseen(mixer: MixerSpec) -> MixerSpec:
    """With a window of one key no product of A is read: decay, rotation, erase and shear are void.

    What else depends on them stays: a gate, keys or micro-steps; the table's entry at lag 0.
    """
    if not _sees_itself_only(mixer) or mixer.lift.kind != "none" or mixer.erase.rank > 1:
        return mixer
    if mixer.features.map != "one_minus_decay" and _decays_alone(mixer):
        mixer = mixer.model_copy(update={"decay": Decay()})
    held = _turns_before_norm(mixer) or mixer.decay.granularity == "diagonal" or mixer.rotation.attention_factor != 1
    if mixer.rotation.source != "none" and not held:
        mixer = mixer.model_copy(update={"rotation": Rotation(phase_dtype=mixer.rotation.phase_dtype)})
    if mixer.scaling.gate != "tied_to_erase":
        mixer = changed(mixer, "erase", direction="none", per_channel=False)
    else:
        mixer = changed(mixer, "erase", direction="key", compose="product")
    if mixer.shear.source in ("constant", "input"):
        mixer = mixer.model_copy(update={"shear": Shear()})
    return mixer


def _sees_itself_only(mixer: MixerSpec) -> bool:
    return mixer.support.window == 1 and mixer.support.mask != "strict"


def _turns_before_norm(mixer: MixerSpec) -> bool:
    """q and k are rotated before a norm that does not commute with it: the rotation is theirs, not A's."""
    waits = mixer.features.norm_order == "after_rotation" and mixer.features.norm not in COMMUTING_NORMS
    return waits and not mixer.rotation.is_identity


def _decays_alone(mixer: MixerSpec) -> bool:
    """No gate is computed from the decay or together with it."""
    gated = mixer.scaling.gate in READS_DECAY or mixer.decay.map in WRITES_GATE
    return mixer.decay.granularity != "none" and not gated


REWRITINGS = (
    softcap_infinite,
    decay_of_one,
    decay_range_of_one_value,
    decay_constant,
    one_channel,
    rotation_pairs,
    erase_gain_zero,
    erase_gain_constant,
    erase_composition,
    shear_slopes,
    shear_scale_of_one,
    widths_within_support,
    support_of_one,
    length_of_one,
    evolution_unseen,
)
