"""Published CPU references as data (tests/golden/README.md): one generic reading reproduces all of them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from designspace.entry import Entry
from designspace.mixer import MixerSpec
from designspace.units import load_unit
from workers import feature_maps
from workers.coefficients import outputs
from workers.form import Form
from workers.forms import quadratic, recurrent
from workers.signals import Signals

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted(path.stem for path in GOLDEN.glob("*.npz"))
CATALOGUE_NAMES = {
    "mamba_mambapy": "mamba",
    "momentum_deltanet_scaled": "momentum_deltanet",
    "retnet_rope": "retnet",
    "rwkv7_bonus": "rwkv7",
    "s5": "lru_s5",
    "softmax_alibi_falcon": "softmax_alibi",
    "softmax_chunked": "softmax_qknorm",
    "softmax_qknorm_all_heads": "softmax_qknorm",
    "softmax_rope_half": "softmax_rope",
    "softmax_rope_interleaved": "softmax_rope",
    "softmax_rope_partial": "softmax_partial_rope",
    "softmax_sink_rope": "softmax_sink",
    "taylor_features": "linear_elu_norm",
}
AS_RUN: dict[str, dict[str, dict[str, Any]]] = {  # where the reference differs from the published model
    "momentum_deltanet_scaled": {"erase": {"direction": "key_scaled"}},
    "path_fox": {"shear": {"scaled": False}},  # the file holds the increments after their factor n^-1/2
    "relu2_attn": {"normalization": {"kind": "none"}},
    "relu_attn": {"normalization": {"kind": "none"}},
    "sigmoid_attn": {"readout": {"offset": 0.0}},
    "softmax_alibi_falcon": {"shear": {"scaled": True}},
    "taylor_features": {"features": {"map": "taylor2"}},
}
NO_RECURRENCE = (
    "fox",
    "fox_pro",
    "diff",
    "gated_softmax",
    "log_linear_mamba2",
    "mla",
    "path",
    "path_fox",
    "relu2_attn",
    "relu_attn",
    "sigmoid_attn",
    "softmax_alibi",
    "softmax_alibi_falcon",
    "softmax_chunked",
    "softmax_nope",
    "softmax_qknorm",
    "softmax_qknorm_all_heads",
    "softmax_relbias",
    "softmax_rope_half",
    "softmax_rope_interleaved",
    "softmax_rope_partial",
    "softmax_sink",
    "softmax_sink_rope",
    "softmax_softcap",
    "softmax_unscaled",
    "softmax_window",
    "wall",
)
DEFINITION_TOLERANCE = 1e-6  # relative to max |y|; the references were computed in float32
FLOAT32_TOLERANCE = 5e-5
LOOSE = {"retnet": 1e-4, "mamba2": 1e-4, "mamba3_siso": 1e-4}

Arrays = dict[str, Tensor]


def read(name: str) -> tuple[Arrays, dict[str, Any]]:
    """Arrays with their axes in our order, (1, position, head, ...) where they have a position, and the meta record."""
    with np.load(GOLDEN / f"{name}.npz") as file:
        meta: dict[str, Any] = json.loads(file["meta"].tobytes())
        arrays = {key: torch.from_numpy(file[key].astype(np.float64)) for key in file.files if key != "meta"}
    if "key_logit" in arrays:
        arrays |= _rwkv4(arrays)
    return arrays, meta


def _rwkv4(arrays: Arrays) -> Arrays:
    """Channel-wise q = k = 1: the key logit is an exponential gate, the decay rate r a factor exp(-r)."""
    ones = torch.ones_like(arrays["v"])
    return {
        "q": ones,
        "k": ones,
        "gate": arrays["key_logit"].exp(),
        "a": (-arrays["decay_rate"]).exp()[:, None],
        "bonus": arrays["bonus_logit"].exp()[:, None],
    }


def spec_of(arrays: Arrays, meta: dict[str, Any]) -> MixerSpec:
    """The catalogue entry of the file with the sizes and constants of the file."""
    name = CATALOGUE_NAMES.get(meta["architecture"], meta["architecture"])
    fields = load_unit("designspace.catalogue", name, "entry", Entry).mixer.model_dump()
    state_dim, scalars = arrays.get("q_raw", arrays["q"]).shape[-1], meta["scalars"]
    fields["heads"] |= {"num_heads": meta["heads"], "state_dim": state_dim, "head_dim": arrays["v"].shape[-1]}
    fields["heads"] |= {"kv_groups": None, "latent_dim": None, "shared_key_dim": 0}  # a file holds no shared streams
    fields["normalization"] |= {"eps": float(arrays["eps"][0]) if "eps" in arrays else 0.0}
    fields["support"] |= {"window": int(arrays["window"][0]) if "window" in arrays else None}
    fields["support"] |= {"chunk": scalars.get("chunk")}
    if "ang" in arrays:
        pairing = "interleaved" if scalars.get("pair") == "inter" else "half"
        fields["rotation"] |= {"fraction": 2 * arrays["ang"].shape[-1] / state_dim, "pairing": pairing}
    else:  # the reference was run without the rotation of the published model
        fields["rotation"] |= {"source": "none"}
    if "softcap" in scalars:
        fields["readout"] |= {"softcap": scalars["softcap"]}
    if "base" in scalars:
        fields["scaling"] |= {"base": scalars["base"]}
    if "width" in scalars:
        fields["features"] |= {"width": scalars["width"]}
    if "norm_eps" in scalars:
        fields["features"] |= {"eps": scalars["norm_eps"]}
    if "taps" in arrays:
        fields["lift"] |= {"width": arrays["taps"].shape[-1]}
    if "table" in arrays:
        fields["shear"] |= {"width": arrays["table"].shape[-1]}
    if fields["support"]["diagonal"] == "D" and "D" not in arrays:  # the reference is the part without the skip
        fields["support"] |= {"diagonal": "none"}
    for part, values in AS_RUN.get(meta["architecture"], {}).items():
        fields[part] |= values
    return MixerSpec.model_validate(fields)


def signals_of(arrays: Arrays) -> Signals:
    """The signals of the file: (head, position, ...) becomes (1, position, head, ...)."""
    steps, seq_len = arrays["k"].shape[1], arrays["y"].shape[1]

    def by_step(name: str, *, width: bool = False) -> Tensor | None:
        array = arrays.get(name)
        if array is None:
            return None
        return (array[..., None] if width and array.dim() == 2 else array).transpose(0, 1)[None]

    angle = arrays.get("ang")
    if angle is not None and angle.dim() == 2:  # constant: one angle per head and pair
        arrays = arrays | {"ang": angle[:, None].expand(-1, seq_len, -1)}
    if "a" in arrays:
        shape = (arrays["a"].shape[0], seq_len, *arrays["a"].shape[2:])
        arrays = arrays | {"log_a": arrays["a"].log().expand(shape)}
    last = arrays["q"][:, steps // seq_len - 1 :: steps // seq_len]
    return Signals(
        q=last.transpose(0, 1)[None],
        k=arrays["k"].transpose(0, 1)[None],
        v=arrays["v"].transpose(0, 1)[None],
        log_decay=by_step("log_a", width=True),
        angle=by_step("ang"),
        gain=by_step("beta", width=True),
        direction=by_step("kap"),
        second=by_step("p"),
        shear=by_step("shear"),
        gate=by_step("gate"),
        table=arrays.get("table"),
        tap=by_step("tap"),
        taps=arrays.get("taps"),
        momentum=by_step("momentum"),
        rate=by_step("rate"),
        levels=by_step("levels"),
        bonus=arrays.get("bonus"),
        skip=arrays.get("D"),
        sink=arrays.get("sink"),
    )


def case(name: str) -> tuple[MixerSpec, Signals, Arrays]:
    """Spec, signals and arrays of a file."""
    arrays, meta = read(name)
    return spec_of(arrays, meta), signals_of(arrays), arrays


def error(y: Tensor, arrays: Arrays) -> float:
    """Largest difference between the output of the reference and y, (1, position, head, p), relative to the largest
    value of the reference; y passes the output gate and the combination of heads first where the file has them.
    """
    found = y.double()[0].transpose(0, 1)
    if "out_gate" in arrays:
        found = found * arrays["out_gate"]
    if "combine" in arrays:
        found = torch.einsum("oh,htp->otp", arrays["combine"], found)
    return largest_difference(found, arrays["y"])


def largest_difference(found: Tensor, reference: Tensor) -> float:
    """Relative to the largest reference value."""
    return float((found - reference).abs().max() / reference.abs().max())


def in_float32(signals: Signals) -> Signals:
    """The same signals in float32."""
    return Signals(**{name: value.float() for name, value in vars(signals).items() if value is not None})


def test_every_mixer_has_two_files() -> None:
    assert len(FILES) == 2 * len({read(name)[1]["architecture"] for name in FILES}) >= 158


@pytest.mark.parametrize("name", FILES)
def test_the_definition_reproduces_the_reference(name: str) -> None:
    spec, signals, arrays = case(name)
    assert error(outputs(spec, signals), arrays) <= DEFINITION_TOLERANCE


@pytest.mark.parametrize("name", [name for name in FILES if "q_raw" in read(name)[0]])
def test_the_feature_map_gives_the_scores_of_the_reference(name: str) -> None:
    """q . k of every pair: a reference may order its features differently."""
    spec, _, arrays = case(name)
    q, k = (
        feature_maps.normalised(spec.features, feature_maps.mapped(spec.features, arrays[raw]), None)
        for raw in ("q_raw", "k_raw")
    )
    assert largest_difference(q @ k.mT, arrays["q"] @ arrays["k"].mT) <= DEFINITION_TOLERANCE


@pytest.mark.parametrize("form", [quadratic.form, recurrent.form], ids=lambda form: form.name)
@pytest.mark.parametrize("name", FILES)
def test_a_form_in_float32_reproduces_the_reference(name: str, form: Form) -> None:
    spec, signals, arrays = case(name)
    architecture = read(name)[1]["architecture"]
    if form is recurrent.form and architecture in NO_RECURRENCE:
        assert form.invalid_reason(spec) is not None
        return
    tolerance = LOOSE.get(architecture, FLOAT32_TOLERANCE)
    assert error(form.apply(spec, in_float32(signals)), arrays) <= tolerance
