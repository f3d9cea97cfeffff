"""Keys of any config.json that do not bear on the tuple, with the reason; a key outside this table is reported."""

_TRAINING = "training only: dropout or initialisation of weights a checkpoint replaces"
_GENERATION = "generation and tokens"
_FRAMEWORK = "book-keeping of the framework"
_OUTPUTS = "which outputs are returned"

IGNORED = {
    **dict.fromkeys(
        (
            "attention_dropout",
            "attn_pdrop",
            "classifier_dropout",
            "embd_pdrop",
            "embed_dropout",
            "hidden_dropout",
            "initializer_range",
            "resid_dropout",
            "resid_pdrop",
            "router_aux_loss_coef",
            "summary_first_dropout",
        ),
        _TRAINING,
    ),
    **dict.fromkeys(
        (
            "bos_token_id",
            "decoder_start_token_id",
            "eos_token_id",
            "num_logits_to_keep",
            "pad_token_id",
            "task_specific_params",
            "unk_token_id",
            "use_cache",
            "vocab_size_padded",
        ),
        _GENERATION,
    ),
    **dict.fromkeys(
        (
            "_name_or_path",
            "architectures",
            "auto_map",
            "chunk_size_feed_forward",
            "gradient_checkpointing",
            "id2label",
            "is_encoder_decoder",
            "label2id",
            "pad_vocab_size_multiple",
            "pretraining_tp",
            "problem_type",
            "quantization_config",
            "tokenizer_class",
            "transformers_version",
        ),
        _FRAMEWORK,
    ),
    **dict.fromkeys(
        (
            "output_attentions",
            "output_hidden_states",
            "output_router_logits",
            "return_dict",
            "summary_activation",
            "summary_proj_to_labels",
            "summary_type",
            "summary_use_proj",
        ),
        _OUTPUTS,
    ),
    "attention_bias": "a bias of the projections leaves the tuple as it is",
    "mlp_bias": "outside the mixer",
    "tie_word_embeddings": "outside the mixer; parameters are counted untied",
    "norm_topk_prob": "routing of the channel mixer",
}
