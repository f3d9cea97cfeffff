"""The graph of a stack."""

import networkx as nx
from given import candidate

from designspace.architecture import graph


def test_graph_of_a_hybrid_stack() -> None:
    spec = {
        "blocks": [
            {"repeat": 2, "mixer": {"use": "gla"}, "skip": {"lambda": 0.5}},
            {
                "mixer": {"parallel": [{"use": "softmax_rope"}, {"use": "mamba2"}], "merge": "mean"},
                "norm": {"kind": "layer"},
            },
            {"mixer": {"use": "softmax_rope"}, "skip": {"lambda": 0.0}, "channel_mixer": {"kind": "none"}},
        ]
    }
    stack = graph(candidate(spec))
    assert isinstance(stack, nx.DiGraph)
    assert nx.is_directed_acyclic_graph(stack)
    kinds = [data["kind"] for _, data in stack.nodes(data=True)]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "embedding": 1,
        "mixer": 5,
        "channel": 3,
        "merge": 4 + 3,
        "head": 1,
    }
    skips = [data["weight"] for _, _, data in stack.edges(data=True) if data["role"] == "skip"]
    assert sorted(skips) == [0.5, 0.5] + [1.0] * 4  # two lambda, the parallel block, three channel mixers; no lambda 0
    assert nx.has_path(stack, "embedding", "head")
    order = list(nx.topological_sort(stack))
    assert order[0] == "embedding"
    assert order[-1] == "head"
    norms = {data.get("norm") for source, target, data in stack.edges(data=True) if "layer2.mixer" in target}
    assert norms == {"layer"}
