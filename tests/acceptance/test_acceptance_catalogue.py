"""The catalogue holds the mixers that the issue names."""

import json

from given import NAMES, ROOT, sextant

from checkers import check
from designspace.canonical import fingerprint
from designspace.specfile import load


def catalogue_names() -> list[str]:
    found = sextant("catalogue", "--format", "json")
    assert found.returncode == 0, found.stderr
    return sorted(one["name"] if isinstance(one, dict) else one for one in json.loads(found.stdout))


def test_the_catalogue_holds_what_the_issue_lists() -> None:
    golden_names = {path.stem.partition("_T")[0] for path in (ROOT / "tests" / "golden").glob("*.npz")}
    renamed = {
        "softmax_rope_half": "softmax_rope",
        "softmax_rope_interleaved": "softmax_rope",
        "softmax_rope_partial": "softmax_partial_rope",
        "retnet_rope": "retnet",
    }
    wanted = {renamed.get(one, one) for one in golden_names}
    wanted |= {"softmax_rope", "softmax_alibi", "s4d", "rg_lru", "mingru", "hgrn"}
    assert wanted <= set(NAMES), wanted - set(NAMES)
    assert any("lru" in name and name != "rg_lru" for name in NAMES)
    assert any("hyena" in name for name in NAMES)
    assert catalogue_names() == NAMES
    for name in NAMES:
        assert (ROOT / "designspace" / "catalogue" / f"{name}.py").read_text().count("arXiv") >= 1
        one = load(f"catalogue:{name}")
        assert check(one).candidate.fingerprint == fingerprint(one)
