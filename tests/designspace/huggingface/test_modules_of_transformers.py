"""The importer against the attention modules that transformers builds from the same config.

tests/configs/modules.json holds configs (class defaults, and files of the hub rebuilt from their published values) and
what the modules of transformers 5.24 say: made by tests/golden/generate/importer_modules.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from designspace.candidate import Block
from designspace.document import parse
from designspace.huggingface import import_config
from designspace.mixer import MixerSpec
from designspace.outside import Outside

MODELS: dict[str, Any] = json.loads((Path(__file__).parents[2] / "configs" / "modules.json").read_text())["models"]
FLOAT32 = 2e-6  # relative error of an angle that was computed in float32


def imported_mixers(config: dict[str, Any]) -> list[MixerSpec]:
    """The mixer of each layer; the nearest one where the layer is outside the grammar."""
    candidate = import_config(parse(json.dumps(config), "config.json", special_numbers=True)).candidate
    return [mixer for block in candidate.blocks for mixer in [_mixer(block)] * block.repeat]


def _mixer(block: Block) -> MixerSpec:
    mixer = block.mixer.nearest if isinstance(block.mixer, Outside) else block.mixer
    assert isinstance(mixer, MixerSpec)
    return mixer


def module_layers(name: str) -> list[dict[str, Any]]:
    return [run for run in MODELS[name]["layers"] for _ in range(run["count"])]


@pytest.mark.parametrize("name", MODELS)
def test_every_layer_has_the_sizes_scale_window_and_norms_of_its_module(name: str) -> None:
    mixers, modules = imported_mixers(MODELS[name]["config"]), module_layers(name)
    assert len(mixers) == len(modules) > 0
    for mixer, module in zip(mixers, modules, strict=True):
        assert mixer.base == pytest.approx(module["scale"])
        assert mixer.support.window == module.get("window")
        assert (mixer.normalization.kind == "sum_with_sink") == module["sink"]
        assert (mixer.features.norm != "none") == module["normed"]
        assert mixer.heads.state_dim == module.get("key_dim", mixer.heads.state_dim)
        assert mixer.heads.head_dim == module.get("value_dim", mixer.heads.head_dim)


@pytest.mark.parametrize("name", MODELS)
def test_rows_of_the_projections_are_heads_times_widths(name: str) -> None:
    for mixer, module in zip(imported_mixers(MODELS[name]["config"]), module_layers(name), strict=True):
        heads = mixer.heads
        expected = {"q_proj": heads.num_heads * heads.state_dim}
        if heads.latent_dim is None:
            expected |= {"k_proj": heads.groups * heads.state_dim, "v_proj": heads.groups * heads.head_dim}
            expected["query_key_value"] = sum(expected.values())
        given = {key: module[key] for key in expected if key in module}
        assert given == {key: expected[key] for key in given}


@pytest.mark.parametrize("name", [name for name, entry in MODELS.items() if entry["rotations"]])
def test_angles_and_their_factor_are_those_of_a_rotary_module(name: str) -> None:
    """Each rotating mixer has the angles of one module; a module may list angles of 0 for channels that stay."""
    modules = [
        ([angle for angle in module["angles"] if angle], module["factor"]) for module in MODELS[name]["rotations"]
    ]
    rotations = {(mixer.rotation, mixer.heads.state_dim) for mixer in imported_mixers(MODELS[name]["config"])}
    for rotation, width in rotations:
        if rotation.source == "none":
            continue
        angles = pytest.approx(rotation.angles(width), rel=FLOAT32)
        assert [factor for found, factor in modules if tuple(found) == angles] == [
            pytest.approx(rotation.attention_factor)
        ]
