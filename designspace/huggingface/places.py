"""Where a field of an imported spec stands in its config.json: at the key that it was read from.

A finding names a field of the spec, `blocks[3].mixer.support.window`; the reader has a config.json, where that field
is `sliding_window`, or one word of `layer_types`. A field that no key of the file holds stands where its parent stands,
and at last at the
schedule of the layers or at `model_type`, which decides what the importer takes from the code of the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from designspace import readout as readouts
from designspace.candidate import AnyMixer, Candidate, Parallel
from designspace.document import Document, Entry, Node
from designspace.events import Mark, Span
from designspace.huggingface.importer import TEXT_PARTS, Imported
from designspace.outside import Outside

SCHEDULE = (  # keys that say which layer is of which kind
    "layer_types layers_block_type hybrid_override_pattern block_types _block_types attn_type_list attention_types"
    " attention_layers hybrid_layer_pattern hybrid_layer_ids attn.layers attn.0.layers full_attn_idxs attn_layer_idx"
    " attn_layer_indices attn_layer_period full_attention_interval linear_attn_config.full_attn_layers"
    " sliding_window_pattern _sliding_window_pattern layer_switch global_attn_every_n_layers no_rope_layers"
    " no_rope_layer_interval max_window_layers"
)
# Tables: field of the spec -> keys of config files, of which the first that was read counts.
WHOLE = {
    "target.seq_len": "max_position_embeddings n_positions n_ctx max_seq_len max_sequence_length seq_length"
    " context_length",
    "target.dtype": "dtype torch_dtype",
    "model.model_dim": "hidden_size n_embd d_model hidden_dim word_embed_proj_dim",
    "model.vocab_size": "vocab_size",
    "model.positions": "position_embedding_type n_positions",
    "model.residual_dtype": "residual_in_fp32 dtype torch_dtype",
    "blocks": f"{SCHEDULE} num_hidden_layers n_layer n_layers num_layers",
}
BLOCK = {
    "repeat": "num_hidden_layers n_layer n_layers num_layers",
    "channel_mixer.ratio": "intermediate_size n_inner ffn_dim ffn_hidden_size hidden_ratio mlp_ratio",
    "norm": "norm_eps rms_norm_eps layer_norm_eps layer_norm_epsilon",
}
MIXER = {
    "heads.head_dim": "v_head_dim attn.head_dim head_dim hidden_size n_embd d_model",
    "heads.latent_dim": "kv_lora_rank",
    "heads.shared_key_dim": "qk_rope_head_dim",
    "readout.softcap": "attn_logit_softcapping gate_soft_cap",
    "rotation.theta": "attn.rope_theta rope_parameters.rope_theta rope_theta rotary_emb_base rope_local_base_freq",
    "rotation.fraction": "rope_parameters.partial_rotary_factor partial_rotary_factor rotary_pct rotary_dim"
    " qk_rope_head_dim rope_fraction",
    "rotation.scaling": "rope_parameters.rope_type rope_scaling.rope_type rope_scaling.type rope_scaling"
    " rope_parameters",
    "rotation.attention_factor": "rope_parameters.attention_factor rope_scaling.attention_factor"
    " rope_parameters.factor rope_scaling.factor",
    "rotation": "attn.rope_theta rope_parameters rope_theta rope_scaling rotary_pct rotary_dim partial_rotary_factor"
    " no_rope_layers",
    "shear": "alibi attn_config.alibi attn_config.alibi_bias_max use_forget_gate use_scalar_gate",
    "scaling.base": "attention_multiplier query_pre_attn_scalar attn_config.softmax_scale key_multiplier"
    " scale_attn_weights scale_attn_by_inverse_layer_idx rope_scaling.mscale_all_dim rope_parameters.mscale_all_dim"
    " qk_nope_head_dim head_dim attn.num_heads num_attention_heads n_head num_heads",
    "scaling.query_schedule": "attn_temperature_tuning floor_scale attn_scale",
    "scaling.initial": "time_step_min mamba_dt_min dt_min",
    "support.window": "attn.window_size sliding_window window_size sliding_window_size attention_window_size",
    "support.chunk": "attention_chunk_size",
    "support": "sliding_window window_size attention_chunk_size",
    "features.map": "feature_map qk_activation",
    "features.norm": "use_qk_norm qk_norm qk_layernorm",
    "decay": "safe_gate use_lower_bound use_forget_gate gate_init_bias",
    "decay.range": "lower_bound clamp_min kda_lower_bound",
    "decay.initial": "dt_min time_step_min mamba_dt_min gate_init_bias",
    "erase.rank": "num_householder",
    "erase.gain": "allow_neg_eigval linear_allow_neg_eigval use_beta",
    "io.short_conv": "conv_kernel conv_size mamba_d_conv linear_conv_kernel_dim short_conv_kernel_size conv1d_width"
    " conv_L_cache linear_attn_config.short_conv_kernel_size use_short_conv",
    "io.gate": "use_output_gate use_gate attn_output_gate output_gate_activation hidden_act",
    "io.output_norm": "mamba_rms_norm rmsnorm use_output_norm",
    "io.norm_eps": "norm_eps rms_norm_eps layer_norm_epsilon layer_norm_eps",
}
SOFTMAX = MIXER | {
    "heads": "attn.num_heads num_attention_heads n_head n_heads num_heads",
    "heads.num_heads": "attn.num_heads num_attention_heads n_head n_heads num_heads",
    "heads.state_dim": "qk_nope_head_dim attn.head_dim head_dim hidden_size n_embd d_model",
    "heads.kv_groups": "attn.num_kv_heads num_key_value_heads num_kv_heads n_head_kv multi_query",
}
RECURRENT = MIXER | {
    "heads": "linear_num_value_heads mamba_n_heads mamba_num_heads linear_attn_config.num_heads num_v_heads num_heads",
    "heads.num_heads": "linear_num_value_heads mamba_n_heads mamba_num_heads linear_attn_config.num_heads num_v_heads"
    " num_heads expand intermediate_size lru_width num_attention_heads",
    "heads.state_dim": "linear_key_head_dim state_size mamba_d_state ssm_state_size linear_attn_config.head_dim"
    " expand_k expand_ratio qk_dim_factor head_dim head_size",
    "heads.head_dim": "linear_value_head_dim mamba_d_head mamba_head_dim mamba_headdim expand_v v_dim_factor head_dim"
    " head_size",
    "heads.kv_groups": "linear_num_key_heads n_groups mamba_n_groups mamba_ngroups num_kv_heads",
}
OUTSIDE = "index_topk num_slots moba_topk block_counts num_memories max_cg_step_training is_mimo"
PER_LAYER = ("layer_types", "layers_block_type", "attn_type_list", "attention_layers")  # one item for each layer

Region = tuple[Mark, Mark]


def placed(document: Document, found: Imported) -> Document:
    """A document with the shape of the spec, each field of which stands at its key in the config.json `document`.

    Keys that the importer does not know stand at their own names, as a finding names them.
    """
    keys = _Keys(document, found)
    home = keys.home
    root = _mapping(keys, WHOLE, home)
    blocks = _content(root).get("blocks", Entry(*home, Node({}, *home)))
    items = _blocks(keys, found.candidate)
    _content(root)["blocks"] = blocks._replace(node=Node(items, blocks.start, blocks.end))
    _content(root)["approximated"] = _approximated(keys)
    unknown = {key.partition(".")[0] for key in found.unknown}
    own = {key: entry for key, entry in _content(document.root).items() if key in unknown}
    return Document(document.file, Node({**own, **_content(root)}, *home))


@dataclass(frozen=True)
class _Keys:
    """The keys that the importer read, with their places."""

    document: Document
    found: Imported

    @property
    def home(self) -> Region:
        """The model_type, or what stands for one; the start of the file where it has neither."""
        return self.first("model_type") or self.first("ssm_cfg") or _region(self.document.span())

    def first(self, keys: str) -> Region | None:
        """Where the first of `keys` stands that was read and is not null, else the first that was read."""
        names = [name for key in keys.split() if (name := self.name(key)) is not None]
        given = [name for name in names if self.found.read[name] is not None] or names
        return self.at(given[0]) if given else None

    def at(self, name: str, *index: int) -> Region:
        """Where a key of the account stands, or an item of its list."""
        parts = [int(part) if part.isdigit() else part for part in name.split(".")]
        return _region(self.document.span((*parts, *index)))

    def name(self, key: str) -> str | None:
        """What the account calls a key."""
        return self._names.get(key)

    @cached_property
    def _names(self) -> dict[str, str]:
        """Key -> its name in the account, where a key of the text part counts before one of the whole model."""
        names = {name: name for name in self.found.read}
        for part in TEXT_PARTS:
            names |= {name.removeprefix(f"{part}."): name for name in names if name.startswith(f"{part}.")}
        return names


def _region(span: Span) -> Region:
    return Mark(span.line, span.column), Mark(span.end_line, span.end_column)


def _content(node: Node) -> dict[str, Entry]:
    return node.content if isinstance(node.content, dict) else {}


def _mapping(keys: _Keys, table: Mapping[str, str], region: Region) -> Node:
    """A node with every field of `table` that a key of the file holds; `a.b` stands below `a`."""
    root = Node({}, *region)
    for field in sorted(table, key=lambda name: name.count(".")):
        place = keys.first(table[field])
        if place is not None:
            _insert(root, field.split("."), place)
    return root


def _insert(root: Node, parts: list[str], region: Region) -> None:
    node = root
    for part in parts[:-1]:
        parent = Entry(node.start, node.end, Node({}, node.start, node.end))
        node = _content(node).setdefault(part, parent).node
    _content(node)[parts[-1]] = Entry(*region, Node({}, *region))


def _blocks(keys: _Keys, candidate: Candidate) -> list[Node]:
    """One node per block: at the word of its first layer where the file has a word for each, else at the key that says
    which layers differ.
    """
    nodes, layer = [], 0
    words = _words(keys, candidate.num_layers)
    home = (keys.first(SCHEDULE) if len(candidate.blocks) > 1 else None) or keys.home
    for block in candidate.blocks:
        region = keys.at(words, layer) if words else home
        node = _mapping(keys, BLOCK, region)
        mixer = _mixer(keys, block.mixer, region)
        _content(node)["mixer"] = Entry(mixer.start, mixer.end, mixer)
        nodes.append(node)
        layer += block.repeat
    return nodes


def _approximated(keys: _Keys) -> Entry:
    """One node per approximation, at its key; at home where it is about the model's code."""
    present = _content(keys.document.root)
    names = [one.key for one in keys.found.candidate.approximated]
    regions = [keys.at(name) if name.partition(".")[0] in present else keys.home for name in names]
    return Entry(*keys.home, Node([Node(None, *region) for region in regions], *keys.home))


def _words(keys: _Keys, num_layers: int) -> str | None:
    """The name of a list that was read and has one item per layer."""
    names = (keys.name(key) for key in PER_LAYER)
    lists = {name: keys.found.read[name] for name in names if name is not None}
    return next((name for name, words in lists.items() if isinstance(words, list) and len(words) == num_layers), None)


def _mixer(keys: _Keys, mixer: AnyMixer | None, region: Region) -> Node:
    match mixer:
        case None:
            return Node({}, *region)
        case Outside():
            return Node({}, *(keys.first(OUTSIDE) or region))
        case Parallel(parallel=branches):
            nodes = [_mixer(keys, branch, region) for branch in branches]
            return Node({"parallel": Entry(*region, Node(nodes, *region))}, *region)
        case _:
            return _mapping(keys, RECURRENT if readouts.is_linear(mixer.readout) else SOFTMAX, region)
