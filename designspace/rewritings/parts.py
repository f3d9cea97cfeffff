"""Subfields of parts that are switched off, and names for the same thing: they take their default.

All of these keep every coefficient exactly.
"""

from typing import get_args

from designspace.decay import Decay
from designspace.erase import Erase
from designspace.features import Features
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Sigmoid
from designspace.rewritings.change import changed, rounded, snapped
from designspace.rotation import Rotation
from designspace.scaling import DT_INITIAL
from designspace.shear import Shear
from designspace.spec import Dtype

COMMUTING_NORMS = ("none", "l2", "rms")  # norms that a rotation does not change (equivalence 6)
NO_DECAY, NO_ERASE, NO_SHEAR = Decay(), Erase(), Shear()
NO_ROTATION = {name: Rotation(phase_dtype=name) for name in get_args(Dtype)}
FEATURES, STAGE, ETA = Features(), InputOutput(), Normalization()


def decay_off(mixer: MixerSpec) -> MixerSpec:
    """`granularity: none`: source, map and ranges mean nothing."""
    if mixer.decay.granularity != "none" or mixer.decay == NO_DECAY:
        return mixer
    return mixer.model_copy(update={"decay": NO_DECAY})


def rotation_off(mixer: MixerSpec) -> MixerSpec:
    """No rotation, or fraction 0: nothing else about it has a meaning."""
    none = NO_ROTATION[mixer.rotation.phase_dtype]
    if not mixer.rotation.is_identity or mixer.rotation == none:
        return mixer
    return mixer.model_copy(update={"rotation": none})


def decay_spacing_off(mixer: MixerSpec) -> MixerSpec:
    """Only several heads of a constant decay lie apart."""
    decay = mixer.decay
    spread = decay.source == "constant" and mixer.heads.num_heads > 1 and decay.hull[0] != decay.hull[1]
    return mixer if spread else changed(mixer, "decay", spacing=NO_DECAY.spacing)


def angle_scaling_off(mixer: MixerSpec) -> MixerSpec:
    """A scaling that leaves every angle as it is (such as `dynamic`, or a factor of 1) is none."""
    rotation, width = mixer.rotation, mixer.key_dim
    if rotation.scaling is None:
        return mixer
    plain = rotation.model_copy(update={"scaling": None})
    return changed(mixer, "rotation", scaling=None) if plain.angles(width) == rotation.angles(width) else mixer


def norm_reach_off(mixer: MixerSpec) -> MixerSpec:
    """Without a norm it acts on nothing; the vector of all heads is that of the only one."""
    features = mixer.features
    if features.norm == "none":
        mixer = changed(mixer, "features", norm_on="qk")
    if features.norm == "none" or mixer.heads.num_heads == 1:
        return changed(mixer, "features", norm_over="head")
    return changed(mixer, "features", gain_shared=True) if features.norm_over == "all_heads" else mixer


def erase_off(mixer: MixerSpec) -> MixerSpec:
    """`direction: none`: gain and compose mean nothing."""
    if mixer.erase.direction != "none" or mixer.erase == NO_ERASE:
        return mixer
    return mixer.model_copy(update={"erase": NO_ERASE})


def shear_off(mixer: MixerSpec) -> MixerSpec:
    """`source: none`: scaled and sign mean nothing. A learned table has its own signs."""
    match mixer.shear.source:
        case "none" if mixer.shear != NO_SHEAR:
            return mixer.model_copy(update={"shear": NO_SHEAR})
        case "table":
            return changed(mixer, "shear", sign="decreasing")
        case _:
            return mixer


def length_kind_off(mixer: MixerSpec) -> MixerSpec:
    """`length_kind` counts keys for `kind: length` and for the sigmoid offset `-log_length` only."""
    readout = mixer.readout
    if mixer.normalization.kind == "length" or (isinstance(readout, Sigmoid) and readout.offset == "-log_length"):
        return mixer
    return changed(mixer, "normalization", length_kind=ETA.length_kind)


def eta_eps_off(mixer: MixerSpec) -> MixerSpec:
    """eps is added to row sums only."""
    return mixer if mixer.normalization.sums_the_row else changed(mixer, "normalization", eps=ETA.eps)


def feature_fields_off(mixer: MixerSpec) -> MixerSpec:
    """eps without a norm; the place of a softmax that is none; scales of vectors that are constant or the decay's."""
    features, default = mixer.features, FEATURES
    if features.norm == "none":
        mixer = changed(mixer, "features", eps=default.eps)
    if features.map != "softmax_pm":
        mixer = changed(mixer, "features", map_over=default.map_over)
    if features.map == "ones":
        mixer = changed(mixer, "features", q_std=default.q_std)
    if features.map in ("ones", "one_minus_decay"):
        mixer = changed(mixer, "features", k_std=default.k_std)
    return mixer


def gain_sharing_off(mixer: MixerSpec) -> MixerSpec:
    """Only a learned gain of several heads can be shared between them."""
    if mixer.features.norm_has_gain and mixer.heads.num_heads > 1:
        return mixer
    return changed(mixer, "features", gain_shared=FEATURES.gain_shared)


def norm_order_off(mixer: MixerSpec) -> MixerSpec:
    """Equivalence 6: an l2 or weightless rms norm commutes with rotation; without a rotation every norm does."""
    if mixer.features.norm in COMMUTING_NORMS or mixer.rotation.is_identity:
        return changed(mixer, "features", norm_order="before_rotation")
    return mixer


def groups_off(mixer: MixerSpec) -> MixerSpec:
    """As many groups as heads: nothing is shared, in whichever way."""
    if mixer.heads.groups != mixer.heads.num_heads:
        return mixer
    return changed(mixer, "heads", kv_groups=None, shared="kv")


def layout_name(mixer: MixerSpec) -> MixerSpec:
    """`layout: channel` is a name for head_dim 1."""
    return changed(mixer, "heads", layout="multi")


def output_stage_off(mixer: MixerSpec) -> MixerSpec:
    """Without an output norm it has no eps; order matters between a norm and a gate; streams are a set.

    A norm over one head is a norm per head, and a group of one head is that head.
    """
    io, default = mixer.io, STAGE
    if io.output_norm == "none":
        mixer = changed(mixer, "io", norm_eps=default.norm_eps)
    if io.output_norm == "none" or io.gate == "none":
        mixer = changed(mixer, "io", order=default.order)
    if mixer.heads.num_heads == 1 and io.output_norm in ("group_rms", "full_rms"):
        mixer = changed(mixer, "io", output_norm="head_rms")
    conv = io.short_conv
    if not conv.on:
        return mixer
    ordered = tuple(sorted(conv.on, key="qkv".index))
    return mixer if conv.on == ordered else changed(mixer, "io", short_conv=conv.model_copy(update={"on": ordered}))


def base_place(mixer: MixerSpec) -> MixerSpec:
    """A factor on q, on k or on the score is the same factor: A holds none of them."""
    return changed(mixer, "scaling", where="score") if mixer.scaling.where in ("q", "k") else mixer


def base_name(mixer: MixerSpec) -> MixerSpec:
    """A base of n^-1/2 or n^-1 has that name, however it was written."""
    return with_base(mixer, mixer.base)


def step_default(mixer: MixerSpec) -> MixerSpec:
    """`gate: dt` without a declared range starts in Mamba's."""
    if mixer.scaling.gate != "dt" or mixer.scaling.initial is not None:
        return mixer
    return changed(mixer, "scaling", initial=DT_INITIAL)


def gate_initial_off(mixer: MixerSpec) -> MixerSpec:
    """Where the decay is 1 - gate and says where it starts, the gate starts there too."""
    decay = mixer.decay
    if decay.granularity == "none" or decay.map != "complement" or decay.initial is None:
        return mixer
    return changed(mixer, "scaling", initial=None)


def decay_map_name(mixer: MixerSpec) -> MixerSpec:
    """`sigmoid_floor` is `sigmoid` with a range: both are lo + (hi - lo) sigmoid(x)."""
    return changed(mixer, "decay", map="sigmoid") if mixer.decay.map == "sigmoid_floor" else mixer


def with_base(mixer: MixerSpec, base: float) -> MixerSpec:
    """The mixer with the constant `base`, under its name where it has one."""
    number, state_dim = rounded(base), mixer.heads.state_dim
    if number == rounded(state_dim**-0.5):
        return changed(mixer, "scaling", base="n^-1/2")
    return changed(mixer, "scaling", base="n^-1" if number == rounded(1.0 / state_dim) else snapped(base))


REWRITINGS = (
    decay_off,
    decay_spacing_off,
    rotation_off,
    angle_scaling_off,
    erase_off,
    shear_off,
    length_kind_off,
    eta_eps_off,
    feature_fields_off,
    gain_sharing_off,
    norm_reach_off,
    norm_order_off,
    groups_off,
    layout_name,
    output_stage_off,
    base_place,
    base_name,
    step_default,
    gate_initial_off,
    decay_map_name,
)
