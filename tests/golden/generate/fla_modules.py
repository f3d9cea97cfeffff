"""Widths of the layers of flash-linear-attention, built from random configurations, for the tests of the importer.

    python tests/golden/generate/fla_modules.py tests/designspace/huggingface/fla_modules.json

Needs fla-core 0.6.0 and flash-linear-attention 0.6.0 with an importable triton, and transformers; nothing runs, since
every module lies on the meta device. A configuration that the classes refuse is kept with the error in place of layers.
"""

import importlib
import json
import random
import sys
import warnings
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

SAMPLES = 8  # configurations of each model_type
LAYERS = 3
NULL: Any = None
ATTN = {"layers": [1], "num_heads": 8, "num_kv_heads": 2, "window_size": 64, "rope_theta": 50000.0}
SHARED: dict[str, list[Any]] = {
    "hidden_size": [256, 512, 768],
    "intermediate_size": [NULL, NULL, 640],
    "hidden_ratio": [2, 3, 4, 3.5],
    "attn": [NULL, ATTN, [ATTN, {"layers": [2], "num_heads": 4}]],
}
CONVOLVED: dict[str, list[Any]] = {"use_short_conv": [True, False], "conv_size": [2, 4]}
GROUPED: dict[str, list[Any]] = {
    **{"num_heads": [4, 8], "num_kv_heads": [NULL, 2, 4], "expand_k": [0.5, 1.0, 0.75], "expand_v": [1, 2]},
    **{"use_output_gate": [True, False]},
}
VALUES: dict[str, list[Any]] = {
    **{"num_heads": [2, 4, 6], "num_v_heads": [NULL, NULL, 8], "head_dim": [32, 64], "expand_v": [1, 2.0, 1.5, 0.7]},
}
SOFTMAX: dict[str, list[Any]] = {
    **{"num_heads": [4, 8, 16], "num_kv_heads": [NULL, 2, 3, 4], "qk_norm": [True, False], "window_size": [NULL, 32]},
}
CHOICES: dict[str, dict[str, list[Any]]] = {
    "gla": {**GROUPED, **CONVOLVED},
    "delta_net": {
        **CONVOLVED,
        **{"num_heads": [2, 4, 7], "expand_k": [0.5, 1.0], "expand_v": [1.0, 2], "use_gate": [True, False]},
    },
    "gated_deltanet": {
        **VALUES,
        **CONVOLVED,
        "use_gate": [True, False],
        "output_gate_activation": ["swish", "sigmoid"],
    },
    "kda": {**VALUES, **CONVOLVED},
    "comba": {**VALUES, **CONVOLVED, "use_output_gate": [True, False]},
    "gated_deltaproduct": {
        **CONVOLVED,
        **{"num_heads": [2, 4], "head_dim": [32, 64], "expand_v": [1, 2.0], "num_householder": [1, 2, 3]},
        **{"use_output_gate": [True, False], "use_forget_gate": [True, False]},
    },
    "retnet": {**GROUPED},
    "linear_attn": {
        **{key: values for key, values in GROUPED.items() if key != "use_output_gate"},
        "feature_map": ["elementwise_product", "elu", "relu", "identity", "hedgehog", "dpfp", "t2r"],
    },
    "hgrn": {"expand_ratio": [1, 2, 0.5]},
    "hgrn2": {**CONVOLVED, "expand_ratio": [32, 64, 128], "num_heads": [NULL]},
    "transformer": SOFTMAX,
    "forgetting_transformer": {**SOFTMAX, "use_output_gate": [True, False]},
    "wall_transformer": {**SOFTMAX, "use_output_gate": [True, False], "use_scalar_gate": [True, False]},
    "path_attn": {"num_heads": [4, 8], "num_kv_heads": [NULL, 2], "use_forget_gate": [True, False]},
    "mla": {
        **{"num_heads": [4, 8], "kv_lora_rank": [32, 64], "qk_nope_head_dim": [32, 64], "qk_rope_head_dim": [16, 32]},
        **{"qk_head_dim": [NULL, 64], "v_head_dim": [32, 64], "q_lora_rank": [NULL, 64]},
        "rope_scaling": [NULL, {"rope_type": "yarn", "factor": 40.0, "mscale_all_dim": 0.707}],
    },
    "rwkv6": {"num_heads": [2, 4, 8], "expand_k": [0.5, 1.0], "expand_v": [1.0, 2.0]},
    "rwkv7": {"head_dim": [32, 64, NULL], "num_heads": [NULL, 4, 8]},
    "mamba3": {
        **{"head_dim": [32, 64, 48], "state_size": [16, 64], "expand": [1, 2], "n_groups": [1, 2, 3]},
        **{"rope_fraction": [0.5, 1.0, 0.3], "is_outproj_norm": [True, False]},
    },
}
OTHERS = (  # configuration classes without a choice above
    *(
        "abc",
        "gsa",
        "log_linear_mamba2",
        "mamba",
        "mamba2",
        "mesa_net",
        "samba",
        "rodimus",
        "nsa",
        "moba",
        "mom",
        "raven",
    ),
    *("stickbreaking_attn", "deltaformer", "parallax", "lightnet", "precond_gated_deltanet", "precond_kda"),
)
PLAIN = ("forgetting_transformer", "transformer", "wall_transformer", "path_attn", "mla", "mamba3")  # no `attn`

# Class of a mixer -> its attributes for heads, groups, key and value width per head; a number stands for itself.
GVA = ("num_v_heads", "num_heads", "head_k_dim", "head_v_dim")
GQA = ("num_heads", "num_kv_heads", "head_k_dim", "head_v_dim")
WIDTHS: dict[str, tuple[str, str, str, str]] = {
    **dict.fromkeys(("GatedDeltaNet", "KimiDeltaAttention", "Comba", "GatedDeltaProduct"), GVA),
    **dict.fromkeys(("GatedLinearAttention", "MultiScaleRetention", "LinearAttention"), GQA),
    **dict.fromkeys(("DeltaNet", "RWKV6Attention"), ("num_heads", "num_heads", "head_k_dim", "head_v_dim")),
    **dict.fromkeys(
        ("Attention", "ForgettingAttention", "PaTHAttention", "WallAttention"),
        ("num_heads", "num_kv_heads", "head_dim", "head_dim"),
    ),
    "HGRNAttention": ("input_dim", "input_dim", "1", "1"),
    "HGRN2Attention": ("num_heads", "num_heads", "head_f_dim", "head_i_dim"),
    "MultiheadLatentAttention": ("num_heads", "num_heads", "qk_head_dim", "v_head_dim"),
    "RWKV7Attention": ("num_heads", "num_heads", "head_dim", "head_v_dim"),
    "Mamba3": ("num_heads", "n_groups", "ssm_state_size", "head_dim"),
}
OUTPUT_GATES = {"WallAttention": "o_gate_proj", "PaTHAttention": ""}  # elsewhere g_proj


def sample(model_type: str, generator: random.Random) -> dict[str, Any]:
    """A random configuration."""
    choices = {**SHARED, **CHOICES[model_type]}
    if model_type in PLAIN:
        del choices["attn"]
    picked = {key: generator.choice(values) for key, values in choices.items()}
    if model_type == "rwkv7" and picked["head_dim"]:
        picked["num_heads"] = NULL  # not read beside head_dim, and the importer wants the two to agree
    return {"model_type": model_type, "num_hidden_layers": LAYERS, "vocab_size": 512, **picked}


def saved(model_type: str) -> dict[str, Any]:
    """The file that the configuration class writes at its defaults."""
    package = importlib.import_module(f"fla.models.{model_type}")
    needed = {"ska_attn": {"num_heads": 8}} if model_type == "rodimus" else {}
    dump: dict[str, Any] = json.loads(_class(package, "Config")(**needed).to_json_string(use_diff=False))
    return dump


def built(config: dict[str, Any]) -> list[dict[str, Any]]:
    """What the modules of each layer say of themselves."""
    model_type = config["model_type"]
    package = importlib.import_module(f"fla.models.{model_type}")
    values = {key: value for key, value in config.items() if key != "model_type"}
    configuration = _class(package, "Config")(**values)
    modeling = importlib.import_module(_class(package, "Model").__module__)
    with torch.device("meta"):
        return [_facts(_class(modeling, "Block")(configuration, index)) for index in range(LAYERS)]


def _class(module: Any, ending: str) -> Any:
    """The class of the model's own whose name has this ending."""
    package = ".".join(module.__name__.split(".")[:3])
    classes = [value for name, value in vars(module).items() if name.endswith(ending) and isinstance(value, type)]
    return next(one for one in classes if one.__module__.startswith(f"{package}.") and "PreTrained" not in one.__name__)


def _facts(block: Any) -> dict[str, Any]:
    mixer = getattr(block, "attn", None) or block.mixer
    name = type(mixer).__name__
    heads, groups, key, value = (
        int(attribute) if attribute.isdigit() else getattr(mixer, attribute) for attribute in WIDTHS[name]
    )
    convolutions = [one for part, one in mixer.named_children() if part.endswith("_conv1d") and part != "w_conv1d"]
    inner = next((part for part in ("mlp", "ffn") if hasattr(block, part)), None)
    width = getattr(block, inner).intermediate_size if inner else 0
    return {
        **{"mixer": name, "heads": heads, "groups": groups, "key_dim": key, "value_dim": value, "inner": width},
        "conv": [convolutions[0].kernel_size[0], sum(one.hidden_size for one in convolutions)]
        if convolutions
        else None,
        "gate": hasattr(mixer, OUTPUT_GATES.get(name, "g_proj")),
        "scale": getattr(mixer, "scaling", None),
    }


def main() -> None:
    """Write the file."""
    warnings.filterwarnings("ignore")
    for module in ("attn", "mla"):
        layer = vars(importlib.import_module(f"fla.layers.{module}"))
        layer["flash_attn_func"] = object()  # only asked for at construction
    generator = random.Random(0)
    records = []
    for model_type in CHOICES:
        for _ in range(SAMPLES):
            config = sample(model_type, generator)
            try:
                records.append({"config": config, "layers": built(deepcopy(config))})
            except (AssertionError, ValueError) as error:
                records.append({"config": config, "error": str(error)[:200] or type(error).__name__})
    defaults = ",\n".join(f"{json.dumps(name)}: {json.dumps(saved(name))}" for name in [*CHOICES, *OTHERS])
    versions = {name: version(name) for name in ("fla-core", "transformers", "torch")}
    lines = ",\n".join(json.dumps(record) for record in records)
    Path(sys.argv[1]).write_text(
        f'{{"versions": {json.dumps(versions)}, "records": [\n{lines}\n],\n"saved": {{\n{defaults}\n}}}}\n'
    )


if __name__ == "__main__":
    main()
