"""The stack as a directed graph: whole-model rules are queries on it, drawings and shows come from it."""

import networkx as nx

from designspace.candidate import Block, Candidate
from designspace.composition import Parallel
from designspace.mixer import MixerSpec
from designspace.outside import Outside


def graph(candidate: Candidate) -> "nx.DiGraph[str]":
    """The stack of a candidate, every layer written out.

    Nodes: embedding, mixer, outside, channel, merge, head. Edges: `main` path with its norm (after a mixer also the
    weight of its branch and the order in which it reads), `skip` with its weight lambda.

    Node attributes: `kind`, `layer` (from 0), and for a mixer, in the grammar or outside, `path` (in the spec file) and
    `mixer` (the record).
    """
    stack: nx.DiGraph[str] = nx.DiGraph(name=candidate.name)
    stack.add_node("embedding", kind="embedding", layer=-1, positions=candidate.model.positions)
    stream, layer = "embedding", 0
    paths: list[list[str]] = [[] for _ in candidate.blocks]
    for located in candidate.mixers():
        paths[located.block].append(located.path)
    for index, block in enumerate(candidate.blocks):
        outside = [f"blocks[{index}].mixer"]
        for _ in range(block.repeat):
            if block.mixer is not None:
                stream = _add_mixers(stack, block, paths[index] or outside, layer=layer, stream=stream)
            if block.channel_mixer.kind != "none":
                stream = _add_channel(stack, block, layer=layer, stream=stream)
            layer += 1
    stack.add_node("head", kind="head", layer=layer)
    stack.add_edge(stream, "head", role="main", norm="rms")
    return stack


def _add_mixers(stack: "nx.DiGraph[str]", block: Block, paths: list[str], *, layer: int, stream: str) -> str:
    merge = f"layer{layer}.merge"
    stack.add_node(merge, kind="merge", layer=layer)
    mixers = (block.mixer,) if isinstance(block.mixer, Outside) else block.mixers
    branches: list[tuple[str, MixerSpec | Outside]] = list(zip(paths, mixers, strict=True))
    parallel = block.mixer if isinstance(block.mixer, Parallel) else None
    weights = (1.0,) if parallel is None else parallel.branch_weights
    orders = ("forward",) * len(branches) if parallel is None else parallel.orders or ("forward",) * len(branches)
    for branch, ((path, mixer), weight, order) in enumerate(zip(branches, weights, orders, strict=True)):
        node = f"layer{layer}.mixer" + (f"{branch}" if len(branches) > 1 else "")
        kind = "outside" if isinstance(mixer, Outside) else "mixer"
        stack.add_node(node, kind=kind, layer=layer, path=path, mixer=mixer)
        stack.add_edge(stream, node, role="main", norm=block.norm.kind)
        stack.add_edge(node, merge, role="main", norm="none", weight=weight, order=order)
    if block.skip.weight > 0:
        stack.add_edge(stream, merge, role="skip", weight=block.skip.weight)
    return merge


def _add_channel(stack: "nx.DiGraph[str]", block: Block, *, layer: int, stream: str) -> str:
    node, merge = f"layer{layer}.channel", f"layer{layer}.out"
    stack.add_node(node, kind="channel", layer=layer, channel=block.channel_mixer.kind)
    stack.add_node(merge, kind="merge", layer=layer)
    stack.add_edge(stream, node, role="main", norm=block.norm.kind)
    stack.add_edge(node, merge, role="main", norm="none")
    stack.add_edge(stream, merge, role="skip", weight=1.0)
    return merge
