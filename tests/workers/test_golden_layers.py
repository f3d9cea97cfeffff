"""Published layers as data (tests/golden/layers/README.md): pre-activations in, input of the output projection out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from designspace.entry import Entry
from designspace.mixer import MixerSpec
from designspace.streams import parameter_shapes, projections
from designspace.units import load_unit
from workers.coefficients import outputs
from workers.mixer import LatentMap, OutputStage
from workers.realise import realise

LAYERS = Path(__file__).parents[1] / "golden" / "layers"
FILES = sorted(path.stem for path in LAYERS.glob("*.npz"))
CATALOGUE_NAMES = {
    "softmax_alibi_falcon": "softmax_alibi",
    "softmax_chunked": "softmax_qknorm",
    "softmax_qknorm_after_rotation": "softmax_qknorm",
    "softmax_qknorm_all_heads": "softmax_qknorm",
    "softmax_rope_llama3": "softmax_rope",
}
TOLERANCE = 1e-6  # relative to max |y|; parts of the references are computed in float32
LOOSE = {"gated_deltanet": 5e-6}  # its float32 rows of small norm are divided by that norm

Arrays = dict[str, Tensor]


def read(name: str) -> tuple[MixerSpec, Arrays]:
    """The catalogue entry with the sizes and constants of the file, and its arrays."""
    with np.load(LAYERS / f"{name}.npz") as file:
        meta: dict[str, Any] = json.loads(file["meta"].tobytes())
        arrays = {key: torch.from_numpy(file[key]) for key in file.files if key != "meta"}
    entry = CATALOGUE_NAMES.get(meta["architecture"], meta["architecture"])
    fields = load_unit("designspace.catalogue", entry, "entry", Entry).mixer.model_dump()
    for part, values in meta["fields"].items():
        fields[part] |= values
    return MixerSpec.model_validate(fields), arrays


def group(arrays: Arrays, name: str) -> Arrays:
    """The arrays `name.*`."""
    return {key.removeprefix(f"{name}."): value for key, value in arrays.items() if key.startswith(f"{name}.")}


def layer_output(spec: MixerSpec, arrays: Arrays) -> Tensor:
    """Signals, coefficients, output norm and gate: (position, heads * head_dim) in float64."""
    raw = {name: value[None] for name, value in group(arrays, "raw").items()}
    if spec.heads.latent_dim is not None:
        raw = latent_map(spec, group(arrays, "latent"))(raw)
    y = outputs(spec, realise(spec, raw, group(arrays, "parameter")))
    stage, given = OutputStage(spec).double(), group(arrays, "stage")
    gate = given.pop("gate", None)
    with torch.no_grad():
        for name, parameter in stage.norm.named_parameters():
            parameter.copy_(given.pop(name, torch.zeros_like(parameter)))
        assert not given, "the file holds more than the output stage takes"
        found: Tensor = stage(y, None if gate is None else gate[None])
    return found[0]


def latent_map(spec: MixerSpec, weights: Arrays) -> LatentMap:
    """From the latent vector to keys and values, with the weights of the file."""
    made = LatentMap(spec, seed=0, name="latent").double()
    made.load_state_dict({f"{name}.weight": value for name, value in weights.items()})
    return made


def test_every_layer_has_two_files() -> None:
    assert len(FILES) == 2 * len({name.rsplit("_T", 1)[0] for name in FILES}) >= 40


@pytest.mark.parametrize("name", FILES)
def test_the_file_holds_exactly_what_the_entry_needs(name: str) -> None:
    spec, arrays = read(name)
    assert group(arrays, "raw").keys() == projections(spec).keys()
    found = {key: tuple(value.shape) for key, value in group(arrays, "parameter").items()}
    assert found == parameter_shapes(spec)


@pytest.mark.parametrize("name", FILES)
def test_the_entry_reproduces_the_layer(name: str) -> None:
    spec, arrays = read(name)
    found, reference = layer_output(spec, arrays), arrays["y"]
    tolerance = LOOSE.get(name.rsplit("_T", 1)[0], TOLERANCE)
    assert float((found - reference).abs().max() / reference.abs().max()) <= tolerance
