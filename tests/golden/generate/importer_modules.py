"""Facts of the attention modules that transformers builds from a config, for the test of the importer.

Reads tests/configs/modules.json, builds the model of each config on the meta device, and writes beside the config what
its modules say: score scale, widths, rows of the projections, window, sink, norms, angles of the rotation.
Run with transformers 5.24 installed: python tests/golden/generate/importer_modules.py
"""

import json
from copy import deepcopy
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers import CONFIG_MAPPING, AutoModel, AutoModelForCausalLM

FILE = Path(__file__).parents[2] / "configs" / "modules.json"
SCALES = ("scaling", "softmax_scale", "inv_norm_factor")
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "query_key_value")
NORMS = ("q_norm", "k_norm", "qk_norm", "q_b_norm")
LEFT_OUT = ("auto_map", "quantization_config")


def facts(config: dict[str, Any]) -> dict[str, Any]:
    """Runs of equal attention modules in the order of the layers, and the angles of every rotary module."""
    text = config.get("text_config", config)
    kept = deepcopy(
        {key: value for key, value in text.items() if key not in LEFT_OUT}
    )  # from_dict changes its argument
    built = CONFIG_MAPPING[text["model_type"]].from_dict(kept)
    with torch.device("meta"):
        try:
            model = AutoModelForCausalLM.from_config(built)
        except ValueError:  # an encoder
            model = AutoModel.from_config(built)
    layers = [attention(module) for module in model.modules() if score_scale(module) is not None]
    runs = [{"count": len(list(run)), **layer} for layer, run in groupby(layers)]
    return {"layers": runs, "rotations": rotations(model, built)}


def score_scale(module: nn.Module) -> float | None:
    """What multiplies q.k, LongCat's factor of the queries included; None where this is no attention."""
    if not any(word in type(module).__name__ for word in ("Attention", "MLA")):
        return None
    for name in SCALES:
        if isinstance(value := getattr(module, name, None), int | float):
            return float(value) * float(getattr(module, "mla_scale_q_lora", 1.0))
    divisor = getattr(module, "norm_factor", None)
    return None if divisor is None else 1.0 / float(divisor)


def attention(module: nn.Module) -> dict[str, Any]:
    """What one module says of itself; absent facts are left out."""
    width = getattr(module, "qk_head_dim", None) or getattr(module, "head_dim", None)
    found = {
        "scale": score_scale(module),
        "key_dim": width,
        "value_dim": getattr(module, "v_head_dim", None),
        "window": getattr(module, "sliding_window", None) or None,
        "sink": getattr(module, "sinks", None) is not None,
        "normed": any(getattr(module, name, None) is not None for name in NORMS),
    }
    rows = {name: getattr(module, name).weight.shape[0] for name in PROJECTIONS if has_weight(module, name)}
    return {key: value for key, value in found.items() if value is not None} | rows


def has_weight(module: nn.Module, name: str) -> bool:
    """The projection exists and is a matrix."""
    return isinstance(getattr(getattr(module, name, None), "weight", None), torch.Tensor)


def rotations(model: nn.Module, config: Any) -> list[dict[str, Any]]:
    """Angles per step and factor on cosine and sine, once for every kind of layer."""
    classes = {type(module) for module in model.modules() if "RotaryEmbedding" in type(module).__name__}
    found = []
    for rotary in sorted(classes, key=lambda one: one.__name__):
        module = rotary(config=config)
        for name, angles in module.named_buffers():
            if name.endswith("inv_freq") and "original" not in name:
                factor = getattr(module, name.removesuffix("inv_freq") + "attention_scaling", 1.0)
                found.append({"angles": [float(f"{float(angle):.8g}") for angle in angles], "factor": float(factor)})
    return found


if __name__ == "__main__":
    stored = json.loads(FILE.read_text())
    versions = {"transformers": transformers.__version__, "torch": torch.__version__}
    entries = [
        json.dumps(name) + ": " + json.dumps({"config": entry["config"], **facts(entry["config"])})
        for name, entry in stored["models"].items()
    ]
    head = f'{{"versions": {json.dumps(versions)},\n"models": {{\n'
    FILE.write_text(head + ",\n".join(entries) + "\n}}\n")
