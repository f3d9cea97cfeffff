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
from workers.coefficients import outputs
from workers.form import Form
from workers.forms import quadratic, recurrent
from workers.signals import Signals

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted(path.stem for path in GOLDEN.glob("*.npz"))
CATALOGUE_NAMES = {
    "retnet_rope": "retnet",
    "softmax_rope_half": "softmax_rope",
    "softmax_rope_interleaved": "softmax_rope",
    "softmax_rope_partial": "softmax_partial_rope",
}
AS_RUN: dict[str, dict[str, dict[str, Any]]] = {  # where the reference differs from the published model
    "path_fox": {"shear": {"scaled": False}},  # the file holds the increments after their factor n^-1/2
    "relu2_attn": {"normalization": {"kind": "none"}},
    "sigmoid_attn": {"readout": {"offset": 0.0}},
}
NO_RECURRENCE = (
    "fox",
    "path_fox",
    "relu2_attn",
    "sigmoid_attn",
    "softmax_alibi",
    "softmax_nope",
    "softmax_rope_half",
    "softmax_rope_interleaved",
    "softmax_rope_partial",
    "softmax_sink",
    "softmax_softcap",
    "softmax_unscaled",
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
    mixer = load_unit("designspace.catalogue", name, "entry", Entry).candidate.blocks[0].mixer
    if not isinstance(mixer, MixerSpec):
        raise TypeError(f"the first block of the catalogue entry `{name}` must hold one mixer, got {mixer!r}.")
    fields = mixer.model_dump()
    state_dim, scalars = arrays["q"].shape[-1], meta["scalars"]
    fields["heads"] |= {"num_heads": meta["heads"], "state_dim": state_dim, "head_dim": arrays["v"].shape[-1]}
    fields["heads"] |= {"kv_groups": None}
    fields["normalization"] |= {"eps": float(arrays["eps"][0]) if "eps" in arrays else 0.0}
    fields["support"] |= {"window": int(arrays["window"][0]) if "window" in arrays else None}
    if "ang" in arrays:
        pairing = "interleaved" if scalars.get("pair") == "inter" else "half"
        fields["rotation"] |= {"fraction": 2 * arrays["ang"].shape[-1] / state_dim, "pairing": pairing}
    else:  # the reference was run without the rotation of the published model
        fields["rotation"] |= {"source": "none"}
    if "softcap" in scalars:
        fields["readout"] |= {"softcap": scalars["softcap"]}
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
        tap=by_step("tap"),
        bonus=arrays.get("bonus"),
        skip=arrays.get("D"),
        sink=arrays.get("sink"),
    )


def case(name: str) -> tuple[MixerSpec, Signals, Tensor]:
    """Spec, signals and reference output of a file."""
    arrays, meta = read(name)
    return spec_of(arrays, meta), signals_of(arrays), arrays["y"].transpose(0, 1)[None]


def error(y: Tensor, reference: Tensor) -> float:
    """Largest difference relative to the largest reference value."""
    return float((y.double() - reference).abs().max() / reference.abs().max())


def in_float32(signals: Signals) -> Signals:
    """The same signals in float32."""
    return Signals(**{name: value.float() for name, value in vars(signals).items() if value is not None})


def test_every_mixer_has_two_files() -> None:
    assert len(FILES) == 2 * len({read(name)[1]["architecture"] for name in FILES}) == 72


@pytest.mark.parametrize("name", FILES)
def test_the_definition_reproduces_the_reference(name: str) -> None:
    spec, signals, reference = case(name)
    assert error(outputs(spec, signals), reference) <= DEFINITION_TOLERANCE


@pytest.mark.parametrize("form", [quadratic.form, recurrent.form], ids=lambda form: form.name)
@pytest.mark.parametrize("name", FILES)
def test_a_form_in_float32_reproduces_the_reference(name: str, form: Form) -> None:
    spec, signals, reference = case(name)
    architecture = read(name)[1]["architecture"]
    if form is recurrent.form and architecture in NO_RECURRENCE:
        assert form.invalid_reason(spec) is not None
        return
    tolerance = LOOSE.get(architecture, FLOAT32_TOLERANCE)
    assert error(form.apply(spec, in_float32(signals)), reference) <= tolerance
