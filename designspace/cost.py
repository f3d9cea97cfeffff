"""Closed-form cost of a candidate: parameters, multiply-accumulates (MACs) and decode memory.

FLOP counters on code miss this: fused attention looks linear, and recurrences count as zero. One MAC is two FLOPs.
Parameters are those of `workers.model.Model`. MACs per token and head follow the design catalogue, section 2.6, which
writes K for the key width n after the feature map and V for the value width p; T/2 is the mean number of visible keys.
"""

import math
from collections.abc import Iterator

from designspace import readout as readouts
from designspace.candidate import Block, Candidate, ModelSpec, Parallel
from designspace.decay import schedule
from designspace.mixer import MixerSpec
from designspace.outside import Outside
from designspace.recent import recent
from designspace.spec import Dtype, Spec
from designspace.streams import convolved, latent_widths, parameter_shapes, projections, stream_counts
from designspace.target import Target

CHUNK = 64  # tokens per chunk of the chunkwise form (fla default)
FFT_MACS = 12.0  # three radix-2 transforms of 2T points, 4 real MACs per complex one: 12 log2(2T) per token
COMPLEX_SCAN = 2.0  # real MACs per entry of a rotating pair, against one that only decays
DTYPE_BYTES: dict[Dtype, int] = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}


class FormMacs(Spec):
    """MACs per token of alpha and its product with v, forward, all heads of a layer; null: the form does not exist."""

    quadratic: float
    recurrent: float | None
    chunkwise: float | None
    scan: float | None
    fft: float | None

    @property
    def cheapest(self) -> float:
        """The form with the fewest MACs."""
        forms = (self.quadratic, self.recurrent, self.chunkwise, self.scan, self.fft)
        return min(macs for macs in forms if macs is not None)


class MixerCost(Spec):
    """Cost of one layer's mixer at `target.seq_len`.

    Attributes:
        parameters: of projections, short convolution, signals, output norm and output projection.
        projection_macs: per token outside the form: projections, short convolution, random features, output.
        training: MACs per token inside the form, forward; the backward pass takes twice as many again.
        decode_macs: MACs of the last token of the sequence inside the form.
        state_bytes: decode memory that does not grow with the length, short convolution included.
        cache_bytes: decode memory that grows, at `target.seq_len`.
        cache_bytes_per_token: what one more token adds while no window or chunk is full.
        break_even_length: shortest sequence whose key/value cache would be as large as the state; null where the
            mixer keeps a cache anyway.
    """

    parameters: int
    projection_macs: int
    training: FormMacs
    decode_macs: float
    state_bytes: int
    cache_bytes: int
    cache_bytes_per_token: int
    break_even_length: int | None


class LayerCost(Spec):
    """A mixer of the spec file and the number of layers that repeat it."""

    path: str
    repeat: int
    mixer: MixerCost


class Parameters(Spec):
    """Parameter counts by part, all layers."""

    embedding: int
    mixers: int
    merges: int
    channel_mixers: int
    norms: int
    head: int
    total: int


class Cost(Spec):
    """Cost of a whole candidate at `target.seq_len`.

    Attributes:
        training_macs: per token, forward, every mixer in its cheapest form, channel mixers and head included.
        quadratic_macs: the same with every mixer in the quadratic form.
        decode_macs: of the last token of the sequence.
        state_bytes, cache_bytes, memory_bytes: decode memory of all layers for one sequence.
        cache_bytes_per_token: what one more token adds while no window is full.
        unknown_layers: layers whose mixer lies outside the grammar: nothing of theirs is counted above.
    """

    parameters: Parameters
    layers: tuple[LayerCost, ...]
    training_macs: float
    quadratic_macs: float
    decode_macs: float
    state_bytes: int
    cache_bytes: int
    memory_bytes: int
    cache_bytes_per_token: int
    unknown_layers: int


def cost(candidate: Candidate) -> Cost:
    """Closed-form cost of a candidate."""
    layers = tuple(_layers(candidate))
    parameters = _parameters(candidate, layers)
    outside = parameters.channel_mixers + parameters.merges + candidate.model.model_dim * candidate.model.vocab_size
    state = sum(layer.repeat * layer.mixer.state_bytes for layer in layers)
    cache = sum(layer.repeat * layer.mixer.cache_bytes for layer in layers)
    projections = outside + sum(layer.repeat * layer.mixer.projection_macs for layer in layers)
    return Cost(
        parameters=parameters,
        layers=layers,
        training_macs=projections + sum(layer.repeat * layer.mixer.training.cheapest for layer in layers),
        quadratic_macs=projections + sum(layer.repeat * layer.mixer.training.quadratic for layer in layers),
        decode_macs=projections + sum(layer.repeat * layer.mixer.decode_macs for layer in layers),
        state_bytes=state,
        cache_bytes=cache,
        memory_bytes=state + cache,
        cache_bytes_per_token=sum(layer.repeat * layer.mixer.cache_bytes_per_token for layer in layers),
        unknown_layers=sum(block.repeat for block in candidate.blocks if isinstance(block.mixer, Outside)),
    )


@recent
def mixer_cost(mixer: MixerSpec, *, model_dim: int, target: Target, borrows_values: bool = False) -> MixerCost:
    """Closed-form cost of one layer's mixer.

    Args:
        borrows_values: without values, output stage and output projection, which another branch has.
    """
    shapes = projections(mixer, borrows_values=borrows_values)
    inner = 0 if borrows_values else mixer.heads.num_heads * mixer.heads.head_dim
    channels = sum(shape.channels for shape in shapes.values()) + (inner if mixer.io.gate != "none" else 0)
    smoothed = sum(shapes[name].channels for name in convolved(mixer, borrows_values=borrows_values))
    taps = mixer.io.short_conv.width * smoothed
    signals = sum(math.prod(shape) for shape in parameter_shapes(mixer).values())
    latent = (mixer.heads.latent_dim or 0) * mixer.heads.num_heads * sum(latent_widths(mixer))
    state = _state_values(mixer)
    per_token = _cache_values(mixer) - (mixer.erase.rank * _cached_values(mixer) if borrows_values else 0)
    state_bytes = math.ceil(state * DTYPE_BYTES[mixer.execution.dtype.state])
    norms = 0 if borrows_values else _norm_parameters(mixer)
    token_bytes = per_token * DTYPE_BYTES[target.dtype]
    seq_len = target.seq_len
    levels = seq_len.bit_length() if mixer.lift.kind == "fenwick" else 1
    return MixerCost(
        parameters=model_dim * (channels + inner) + taps + latent + signals + norms,
        projection_macs=model_dim * (channels + inner) + taps + latent + _random_feature_macs(mixer),
        training=_training(mixer, seq_len),
        decode_macs=_decode(mixer, seq_len),
        state_bytes=levels * state_bytes + _buffer_bytes(mixer, smoothed, target),
        cache_bytes=0 if state else token_bytes * _cached_tokens(mixer, seq_len),
        cache_bytes_per_token=0 if state or _has_taps(mixer) else token_bytes,
        break_even_length=math.ceil(state_bytes / token_bytes) if state and token_bytes and levels == 1 else None,
    )


@recent
def state_rows(mixer: MixerSpec) -> int | None:
    """Rows of the recurrent state per distinct state; None where none is finite. delay1 and shift keep inputs beside.

    A polynomial readout of degree d needs C(m + d - 1, d) rows for keys of width m; a momentum doubles m, a shear adds
    two coordinates to it.
    """
    if not (mixer.is_finite_memory or _is_log_linear(mixer)) or _has_taps(mixer):
        return None
    if mixer.score_is_additive:
        return 1
    width = mixer.key_dim * (2 if mixer.lift.kind == "momentum" else 1) + (0 if mixer.shear.is_identity else 2)
    return sum(math.comb(width + degree - 1, degree) for degree in readouts.monomials(mixer.readout))


def _is_log_linear(mixer: MixerSpec) -> bool:
    """A linear readout whose memory is one state per Fenwick level."""
    linear = readouts.polynomial_coefficients(mixer.readout) is not None
    return linear and mixer.lift.kind == "fenwick" and mixer.support.window is None and mixer.shear.source != "table"


def _has_taps(mixer: MixerSpec) -> bool:
    return mixer.lift.kind == "shift"


def _columns(mixer: MixerSpec) -> int:
    """Columns of the state: the value, and the row sum where eta needs it."""
    return mixer.heads.head_dim + (1 if mixer.normalization.sums_the_row else 0)


def _state_values(mixer: MixerSpec) -> int:
    """Numbers in the recurrent states of a layer (of one Fenwick level); 0 where there is none."""
    rows = state_rows(mixer)
    if rows is None:
        return 0
    own_shear = not mixer.shear.is_identity or (mixer.scaling.learnable and mixer.scaling.where != "after")
    count = stream_counts(mixer)
    states = mixer.heads.num_heads if own_shear or _own_decay(mixer) else count.value
    previous = count.key * mixer.key_dim + count.value * mixer.heads.head_dim if mixer.lift.kind == "delay1" else 0
    constant = 1 if 0 in readouts.monomials(mixer.readout) else 0  # the sum of the values, which no score enters
    numbers = (states * (rows - constant) + count.value * constant) * _columns(mixer)
    return numbers + _maxima(mixer, states) + previous


def _own_decay(mixer: MixerSpec) -> bool:
    """Heads that share keys and values keep states of their own: a constant decay differs from head to head."""
    constant = mixer.decay.granularity != "none" and mixer.decay.source == "constant"
    return constant and len(set(schedule(mixer.decay, mixer.heads.num_heads))) > 1


def _maxima(mixer: MixerSpec, states: int) -> int:
    """Running maxima: of the scores of each state, or of the gates of each stream."""
    if mixer.score_is_additive:
        return states if mixer.execution.stabiliser == "running_max" else 0
    return stream_counts(mixer).value if mixer.keeps_gate_maximum else 0


def _cache_values(mixer: MixerSpec) -> int:
    """Numbers cached per token: keys (before the feature map) and values of every distinct stream, or the latent vector
    they are made of; log gate.
    """
    heads, count = mixer.heads, stream_counts(mixer)
    if mixer.features.is_static:
        keys = count.value if mixer.scaling.reads_input else 0
    else:
        keys = count.key * heads.state_dim
    log_gate = heads.num_heads if mixer.shear.source == "input" else 0
    if heads.latent_dim is not None:
        return heads.latent_dim + heads.shared_key_dim + log_gate
    return mixer.erase.rank * (keys + _cached_values(mixer)) + log_gate


def _cached_values(mixer: MixerSpec) -> int:
    """Numbers in the values of one token, every distinct stream."""
    return stream_counts(mixer).value * mixer.heads.head_dim


def _cached_tokens(mixer: MixerSpec, seq_len: int) -> int:
    """Most keys that a decoder holds at once."""
    if _has_taps(mixer):
        return 0
    limits = (mixer.support.window, mixer.support.chunk)
    return min(seq_len, *(limit for limit in limits if limit is not None), seq_len)


def _buffer_bytes(mixer: MixerSpec, smoothed: int, target: Target) -> int:
    """Past inputs of the short convolution, which acts on `smoothed` channels, and of the taps (k v^T where that is
    smaller than k and v apart).
    """
    short = max(mixer.io.short_conv.width - 1, 0) * smoothed
    width, head_dim = mixer.key_dim, mixer.heads.head_dim
    lags = (mixer.lift.width or 1) - 1
    apart = width + head_dim
    per_lag = min(width * head_dim, apart) if readouts.is_linear(mixer.readout) else apart
    return (short + lags * mixer.heads.num_heads * per_lag) * DTYPE_BYTES[target.dtype]


def _training(mixer: MixerSpec, seq_len: int) -> FormMacs:
    heads, rows, columns = mixer.heads.num_heads, state_rows(mixer), _columns(mixer)
    chunkwise = scan = None
    if rows is not None:
        if not mixer.score_is_additive:
            chunkwise = heads * _chunkwise(mixer, rows * columns, min(CHUNK, seq_len), seq_len)
        if mixer.erase.is_identity and mixer.lift.kind in ("none", "delay1"):
            factor = 1.0 if mixer.rotation.is_identity else COMPLEX_SCAN
            scan = heads * 3.0 * factor * rows * columns
    recurrent = _recurrent(mixer, seq_len)
    return FormMacs(
        quadratic=heads * _quadratic(mixer, seq_len),
        recurrent=None if recurrent is None else heads * recurrent,
        chunkwise=chunkwise,
        scan=scan,
        fft=heads * _fft(mixer, seq_len) if _is_convolution(mixer) else None,
    )


def _quadratic(mixer: MixerSpec, seq_len: int) -> float:
    """T (n + p) / 2; a diagonal decay doubles the products of keys; an erase adds one (own direction) or three and the
    triangular solve T^2 / 6. r micro-steps per token make sequences of r T sources.
    """
    visible, rank = _mean_visible(mixer, seq_len), mixer.erase.rank
    products = 2 if mixer.decay.granularity == "diagonal" else 1
    work = products * mixer.key_dim + mixer.heads.head_dim
    if mixer.erase.is_identity:
        return visible * rank * work
    more = rank if mixer.erase.direction in ("key", "key_scaled") else 1 + 2 * rank
    return visible * rank * (work + more * products * mixer.key_dim) + (rank * seq_len) ** 2 / 6.0


def _recurrent(mixer: MixerSpec, seq_len: int) -> float | None:
    """2 n p; an erase 2 n p (1 + r); delay1 3 n p, momentum 6 n p; one read per Fenwick level."""
    if _has_taps(mixer):
        return float((mixer.lift.width or 1) * (mixer.key_dim + mixer.heads.head_dim))
    rows = state_rows(mixer)
    if rows is None:
        return None
    size = rows * _columns(mixer)
    match mixer.lift.kind:
        case "momentum":
            return 3.0 * size  # the state holds two blocks: 6 n p
        case "delay1":
            erase = 0 if mixer.erase.is_identity else 2 * mixer.erase.rank
            return (3.0 + erase) * size
        case _:
            levels = math.log2(seq_len) if mixer.lift.kind == "fenwick" else 0.0
            factor = 2.0 if mixer.erase.is_identity else 2.0 * (1 + mixer.erase.rank)
            return (factor + levels) * size


def _chunkwise(mixer: MixerSpec, size: int, chunk: int, seq_len: int) -> float:
    """Inside a chunk C (n + p) / 2 (an erase: C (3 n + 2 p) / 2 + C^2 / 6 per micro-step), between chunks 2 n p."""
    width, columns = mixer.key_dim, _columns(mixer)
    diagonal = chunk * width if mixer.decay.granularity == "diagonal" else 0
    levels = math.log2(seq_len) * size if mixer.lift.kind == "fenwick" else 0.0
    if mixer.erase.is_identity:
        return chunk * (width + columns) / 2.0 + 2.0 * size + diagonal + levels
    return (
        mixer.erase.rank * (chunk * (3 * width + 2 * columns) / 2.0 + chunk**2 / 6.0 + 2.0 * size) + diagonal + levels
    )


def _is_convolution(mixer: MixerSpec) -> bool:
    """Time-invariant from input to output: static q and k, or taps on key products, under a linear readout."""
    plain = readouts.is_linear(mixer.readout) and mixer.support.chunk is None and mixer.support.window is None
    still = mixer.is_time_invariant and not mixer.normalization.sums_the_row
    return plain and still and (mixer.features.is_static or _has_taps(mixer))


def _fft(mixer: MixerSpec, seq_len: int) -> float:
    channels = mixer.heads.head_dim * (mixer.key_dim if _has_taps(mixer) else 1)
    return FFT_MACS * channels * math.log2(2 * seq_len)


def _decode(mixer: MixerSpec, seq_len: int) -> float:
    """The recurrent step, or one query against the cache, whose keys an erase or a changing decay updates first."""
    heads, recurrent = mixer.heads.num_heads, _recurrent(mixer, seq_len)
    if recurrent is not None:
        return heads * recurrent
    cached = _cached_tokens(mixer, seq_len) * mixer.erase.rank
    update = 0 if mixer.erase.is_identity else 2 * mixer.erase.rank * mixer.key_dim
    update += 0 if mixer.decay.is_identity else mixer.key_dim
    return float(heads * cached * (mixer.key_dim + mixer.heads.head_dim + update))


def _mean_visible(mixer: MixerSpec, seq_len: int) -> float:
    """Keys that a query reads, averaged over the sequence (the mean of `Support.visible`)."""
    support = mixer.support
    both_sides = support.mask == "none"
    if support.chunk is not None:
        full, rest = divmod(seq_len, support.chunk)
        total = full * _pairs(support.chunk, both_sides) + _pairs(rest, both_sides)
    else:
        reach = min(support.window or seq_len, seq_len) - 1
        earlier = reach * (reach - 1) // 2 + reach * (seq_len - reach)
        total = seq_len + (2 if both_sides else 1) * earlier
    return total / seq_len - (support.mask == "strict")


def _pairs(length: int, both_sides: bool) -> int:
    """Pairs of query and key in a block of `length`."""
    return length**2 if both_sides else length * (length + 1) // 2


def _random_feature_macs(mixer: MixerSpec) -> int:
    """Products with the fixed random matrix of `favor` and `rff`."""
    if mixer.features.map not in ("favor", "rff"):
        return 0
    count = stream_counts(mixer)
    return (count.query + mixer.erase.rank * count.key) * mixer.heads.state_dim * (mixer.features.width or 0)


def _norm_parameters(mixer: MixerSpec) -> int:
    """Weights of the output norm and of the norm of the latent vector."""
    latent, heads = mixer.heads.latent_dim or 0, mixer.heads
    match mixer.io.output_norm:
        case "none":
            return latent
        case "head_rms":
            return latent + heads.head_dim
        case "head_ln":
            return latent + 2 * heads.head_dim
        case "group_rms" | "full_rms":
            return latent + heads.num_heads * heads.head_dim


def _layers(candidate: Candidate) -> Iterator[LayerCost]:
    """Every mixer of the file; equal mixers are counted once."""
    known: dict[tuple[MixerSpec, bool], MixerCost] = {}
    for located in candidate.mixers():
        key = (located.mixer, located.borrows_values)
        if key not in known:
            known[key] = mixer_cost(
                located.mixer,
                model_dim=candidate.model.model_dim,
                target=candidate.target,
                borrows_values=located.borrows_values,
            )
        found = known[key]
        yield LayerCost(path=located.path, repeat=located.repeat, mixer=found)


def _parameters(candidate: Candidate, layers: tuple[LayerCost, ...]) -> Parameters:
    model, blocks = candidate.model, candidate.blocks
    positions = candidate.target.seq_len * model.model_dim if model.positions == "learned" else 0
    embedding = model.vocab_size * model.model_dim + positions
    mixers = sum(layer.repeat * layer.mixer.parameters for layer in layers)
    merges = sum(block.repeat * _merge_parameters(block, model) for block in blocks)
    channel_mixers = sum(block.repeat * _channel_parameters(block, model) for block in blocks)
    norms = model.model_dim + sum(block.repeat * _block_norm_parameters(block, model) for block in blocks)
    head = model.vocab_size * model.model_dim
    return Parameters(
        embedding=embedding,
        mixers=mixers,
        merges=merges,
        channel_mixers=channel_mixers,
        norms=norms,
        head=head,
        total=embedding + mixers + merges + channel_mixers + norms + head,
    )


def _merge_parameters(block: Block, model: ModelSpec) -> int:
    """The map of `concat`, or the learned weights of the branches."""
    match block.mixer:
        case Parallel(merge="concat", parallel=mixers):
            return len(mixers) * model.model_dim**2
        case Parallel(learnable_weights=True, parallel=mixers):
            return len(mixers)
        case _:
            return 0


def _channel_parameters(block: Block, model: ModelSpec) -> int:
    hidden = round(block.channel_mixer.ratio * model.model_dim)
    match block.channel_mixer.kind:
        case "none":
            return 0
        case "swiglu":
            return 3 * model.model_dim * hidden
        case "mlp":
            return 2 * model.model_dim * hidden


def _block_norm_parameters(block: Block, model: ModelSpec) -> int:
    sub_layers = bool(block.mixers) + (block.channel_mixer.kind != "none")
    weights = {"rms": 1, "layer": 2, "none": 0}[block.norm.kind]
    return sub_layers * weights * model.model_dim
