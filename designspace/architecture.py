"""The stack as a directed graph: whole-model rules are queries on it, drawings and shows come from it."""

import networkx as nx

from designspace.candidate import Candidate


def graph(candidate: Candidate) -> "nx.DiGraph[str]":
    """Nodes: embedding, mixer, channel, merge, head. Edges: `main` path with its norm, `skip` with its weight lambda.

    Node attributes: `kind`, `layer` (from 0), and for a mixer `path` (in the spec file) and `mixer` (the record).
    """
    stack: nx.DiGraph[str] = nx.DiGraph(name=candidate.name)
    stack.add_node("embedding", kind="embedding", layer=-1, positions=candidate.model.positions)
    stream, layer = "embedding", 0
    for index, block in enumerate(candidate.blocks):
        for _ in range(block.repeat):
            if block.mixers:
                stream = _add_mixers(stack, candidate, index=index, layer=layer, stream=stream)
            if block.channel_mixer.kind != "none":
                stream = _add_channel(stack, candidate, index=index, layer=layer, stream=stream)
            layer += 1
    stack.add_node("head", kind="head", layer=layer)
    stack.add_edge(stream, "head", role="main", norm="rms")
    return stack


def _add_mixers(stack: "nx.DiGraph[str]", candidate: Candidate, *, index: int, layer: int, stream: str) -> str:
    block = candidate.blocks[index]
    merge = f"layer{layer}.merge"
    stack.add_node(merge, kind="merge", layer=layer)
    paths = [located.path for located in candidate.mixers() if located.block == index]
    for branch, (path, mixer) in enumerate(zip(paths, block.mixers, strict=True)):
        node = f"layer{layer}.mixer" + (f"{branch}" if len(block.mixers) > 1 else "")
        stack.add_node(node, kind="mixer", layer=layer, path=path, mixer=mixer)
        stack.add_edge(stream, node, role="main", norm=block.norm.kind)
        stack.add_edge(node, merge, role="main", norm="none")
    if block.skip.weight > 0:
        stack.add_edge(stream, merge, role="skip", weight=block.skip.weight)
    return merge


def _add_channel(stack: "nx.DiGraph[str]", candidate: Candidate, *, index: int, layer: int, stream: str) -> str:
    block = candidate.blocks[index]
    node, merge = f"layer{layer}.channel", f"layer{layer}.out"
    stack.add_node(node, kind="channel", layer=layer, channel=block.channel_mixer.kind)
    stack.add_node(merge, kind="merge", layer=layer)
    stack.add_edge(stream, node, role="main", norm=block.norm.kind)
    stack.add_edge(node, merge, role="main", norm="none")
    stack.add_edge(stream, merge, role="skip", weight=1.0)
    return merge
