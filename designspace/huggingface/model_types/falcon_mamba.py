"""falcon_mamba: Mamba with RMS norms without weights on dt, B and C, which no key says.

`intermediate_size` overrules `expand`: the file of falcon-mamba-7b says 8192 and 16, at a hidden size of 4096.

Source: arXiv 2410.05355; transformers 5.24, modeling_falcon_mamba (FalconMambaWeightlessRMSNorm).
"""

from designspace.huggingface.config import Config
from designspace.huggingface.importer import Importer, Stack
from designspace.huggingface.model_types.mamba import selective_heads
from designspace.huggingface.selective import IGNORES, mamba_mixer, pure_stack, silu_activation, step_range

DEFAULT_HIDDEN, DEFAULT_LAYERS, DEFAULT_VOCAB = 768, 32, 50280
TRAINING_LENGTH = 8192  # arXiv 2410.05355, section 3


def _stack(config: Config) -> Stack:
    hidden = config.integer("hidden_size", default=DEFAULT_HIDDEN)
    silu_activation(config)
    if (
        config.has("intermediate_size")
        and config.integer("intermediate_size") != config.integer("expand", default=2) * hidden
    ):
        config.note("expand", "overruled by `intermediate_size`, which the model code reads last")
    eps = config.number("mixer_rms_eps", default=1e-6)
    config.note("norm on dt, B, C", "in code: RMS without a weight")
    mixer = mamba_mixer(
        selective_heads(config, hidden),
        conv=config.integer("conv_kernel", default=4),
        step=step_range(config),
        features={"norm": "rms", "eps": eps, "eps_kind": "mean"},
    )
    return pure_stack(config, hidden, mixer, layers=DEFAULT_LAYERS, vocab=DEFAULT_VOCAB, seq_len=TRAINING_LENGTH)


importer = Importer(_stack, ignores={**IGNORES, "use_falcon_mambapy": "execution"})
