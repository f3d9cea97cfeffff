"""Keys of any config.json that do not bear on the tuple, with the reason; a key outside this table is reported."""

import re
from typing import Any

_TRAINING = "training only: dropout or initialisation of weights a checkpoint replaces"
_GENERATION = "generation and tokens"
_FRAMEWORK = "book-keeping of the framework"
_OUTPUTS = "which outputs are returned"

_CHANNEL = "of the channel mixer"
_ROUTING = "routing of the channel mixer"
_NORM = "of the norms around the sub-layers"
_EXECUTION = "execution"
_BIAS = "a bias of a projection leaves the tuple as it is"
_OUTSIDE = "outside the mixer"


def _all(reason: str, keys: str) -> dict[str, str]:
    return dict.fromkeys(keys.split(), reason)


IGNORED = {
    **_all(
        _TRAINING,
        "attention_dropout attention_probs_dropout_prob attn_pdrop aux_loss_alpha classifier_dropout dropout"
        " embd_pdrop embed_dropout ffn_dropout hidden_dropout hidden_dropout_prob init_std initializer_range layerdrop"
        " neftune_noise_alpha num_nextn_predict_layers output_router_logits resid_dropout resid_pdrop residual_dropout"
        " router_aux_loss_coef router_jitter_noise router_z_loss_coef seq_aux summary_first_dropout",
    ),
    **_all(
        _GENERATION,
        "bad_words_ids begin_suppress_tokens bos_token_id decoder_start_token_id diversity_penalty do_sample"
        " early_stopping encoder_no_repeat_ngram_size end_token_id eos_token_id exponential_decay_length_penalty"
        " forced_bos_token_id forced_eos_token_id generation_config length_penalty max_length min_length"
        " no_repeat_ngram_size num_beam_groups num_beams num_logits_to_keep num_return_sequences pad_token_id"
        " prefix remove_invalid_values repetition_penalty sep_token_id suppress_tokens task_specific_params"
        " temperature top_k top_p typical_p unk_token_id use_cache vocab_size_padded",
    ),
    **_all(
        _FRAMEWORK,
        "_from_model_config architectures auto_map chunk_size_feed_forward custom_pipelines ep_size finetuned"
        " finetuning_task gradient_checkpointing id2label"
        " is_decoder is_encoder_decoder is_llama_config label2id _name_or_path pad_vocab_size_multiple pretraining_tp"
        " problem_type"
        " quantization quantization_config tensor_parallel_size tf_legacy_loss tokenizer_class torchscript"
        " transformers.js_config transformers_version unsloth_fixed unsloth_version use_bfloat16",
    ),
    **_all(
        _OUTPUTS,
        "_num_labels num_labels output_attentions output_hidden_states output_past output_scores return_dict"
        " return_dict_in_generate summary_activation"
        " summary_proj_to_labels summary_type summary_use_proj use_return_dict",
    ),
    **_all(_CHANNEL, "activation activation_function hidden_act hidden_activation mlp_bias mlp_hidden_act"),
    **_all(
        _ROUTING,
        "decoder_sparse_step experts_per_token first_k_dense_replace mlp_only_layers moe_intermediate_size"
        " moe_layer_freq moe_router_dtype n_group n_routed_experts n_shared_experts norm_topk_prob num_experts"
        " num_experts_per_tok"
        " num_local_experts routed_scaling_factor scoring_func shared_expert_intermediate_size topk_group topk_method",
    ),
    **_all(_NORM, "layer_norm_eps layer_norm_epsilon layernorm_epsilon norm_eps norm_epsilon rms_norm_eps"),
    **_all(
        _EXECUTION,
        "_attn_implementation _attn_implementation_autoset _attn_implementation_internal _flash_attn_2_enabled"
        " attn_implementation"
        " use_flash_attention use_flash_attn",
    ),
    **_all(_BIAS, "attention_bias bias qkv_bias use_bias use_qkv_bias"),
    **_all(_OUTSIDE, "logit_scale perceiver_config pixel_shuffle_factor type_vocab_size use_resampler"),
    "max_sequence_length": "not read by the model code: max_position_embeddings is the length",
    "model_max_length": "not read by the model code: max_position_embeddings is the length",
    "tie_word_embeddings": "outside the mixer; parameters are counted untied",
    "use_mrope": "a text token has one position in all axes of the rotation",
}
WHILE_OFF = {  # keys that may only be null, false or empty
    "add_cross_attention": "the decoder reads no encoder",
    "is_cross_attention": "the decoder reads no encoder",
    "qk_layer_norms": "q and k have no norm in code",
    "rope_interleaved": "channels rotate in the pairs of the code",
    "tie_encoder_decoder": "no encoder",
}

BEARING = re.compile(  # words of the names of keys that say something about a mixer
    r"(?:^|_)(?:attn|attention|heads?|rope|rotary|window|sliding|softcap(?:ping)?|softmax|alibi|positions?|position"
    r"|qk|kv|query|key|value|lora|mla|nope|layers?_types?|pattern|schedule|block_types?|conv|ssm|mamba|state|recurrent"
    r"|linear|decay|delta|beta|gate|sparse|index|topk|chunk|sinks?|scale|scaling|multiplier|expand|dt|time|feature"
    r"|lru|rnn|lstm|retention|memory|temperature|interval|period|offset|normalizer|theta|ntk|yarn|causal|eigval|ngroups)"
    r"(?:_|$)"
)


def reason_of_emptiness(key: str, value: Any) -> str | None:
    """Why a key that nobody knows does not bear on the tuple, from its value alone; None: the value does not say."""
    if value is None or value in ([], {}, ""):
        return "empty"
    return WHILE_OFF.get(key.rpartition(".")[2]) if value is False else None


def bears_on_tuple(key: str, value: Any) -> bool:
    """A key that nobody knows looks as if it changed the mixer: by its words, and because it is not switched off."""
    is_off = value is None or value is False or value in ([], {}, "")
    return not is_off and BEARING.search(key.rpartition(".")[2].lower()) is not None
