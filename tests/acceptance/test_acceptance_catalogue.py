"""The catalogue holds the mixers that the issue names."""

import json

from given import NAMES, ROOT, sextant

from checkers import check
from designspace.canonical import fingerprint
from designspace.catalogue import outside_names
from designspace.specfile import load

WANTED = [
    "based",
    "comba",
    "deltanet",
    "fox",
    "gated_deltanet",
    "gated_deltaproduct",
    "gdn2",
    "gla",
    "hgrn",
    "hgrn2",
    "kda",
    "linear",
    "linear_elu_norm",
    "mamba",
    "mamba2",
    "mamba3_siso",
    "mingru",
    "mlstm_exp",
    "mlstm_sig",
    "path_fox",
    "rebased",
    "relu2_attn",
    "retnet",
    "rg_lru",
    "rwkv4",
    "rwkv6",
    "rwkv7",
    "s4d",
    "sigmoid_attn",
    "simple_gla",
    "softmax_alibi",
    "softmax_nope",
    "softmax_partial_rope",
    "softmax_rope",
    "softmax_sink",
    "softmax_softcap",
    "softmax_unscaled",
]


def catalogue_names() -> list[str]:
    found = sextant("catalogue", "--format", "json")
    assert found.returncode == 0, found.stderr
    return sorted(one["name"] if isinstance(one, dict) else one for one in json.loads(found.stdout))


def test_the_catalogue_holds_what_the_issue_lists() -> None:
    assert set(WANTED) <= set(NAMES), set(WANTED) - set(NAMES)
    assert any("lru" in name and name != "rg_lru" for name in NAMES)
    assert any("hyena" in name for name in NAMES)
    assert catalogue_names() == sorted((*NAMES, *outside_names()))
    for name in NAMES:
        assert (ROOT / "designspace" / "catalogue" / f"{name}.py").read_text().count("Source  ") == 1
        one = load(f"catalogue:{name}")
        assert check(one).candidate.fingerprint == fingerprint(one)
