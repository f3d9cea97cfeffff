"""`sextant show` and `sextant cost`: tuple, stack and closed-form cost of a candidate."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.commands import screen
from search.commands.lint import retargeted
from search.commands.specs import Spec

if TYPE_CHECKING:
    from rich.table import Table
    from rich.tree import Tree

    from designspace.candidate import Candidate
    from designspace.cost import Cost, MixerCost
    from designspace.mixer import MixerSpec

SeqLen = Annotated[int | None, typer.Option(help="Sequence length, in place of the spec's target.")]
KIB = 1024
SHOWN = 64  # distinct mixers and blocks at most; the rest is counted
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
TUPLE = ("readout", "decay", "rotation", "erase", "shear", "lift", "scaling", "normalization")
ALWAYS = ("readout", "scaling", "normalization")
AROUND = ("features", "support", "heads", "io")


def show(spec: Spec, seq_len: SeqLen = None, output_format: screen.Format = screen.DataFormat.TEXT) -> None:
    """Show a candidate: the tuple of each mixer, the stack as a graph, and what it costs.

    \b
    Example: sextant show catalogue:gated_deltanet
    Example: sextant show catalogue:gated_deltanet --format json
    """
    from designspace.canonical import fingerprint
    from designspace.cost import cost as cost_of
    from designspace.specfile import load

    candidate = retargeted(load(spec), seq_len=seq_len)
    found = cost_of(candidate)
    if output_format == screen.DataFormat.JSON:
        screen.print_json(
            {
                "candidate": candidate.model_dump(mode="json", by_alias=True),
                "fingerprint": fingerprint(candidate),
                "cost": {"seq_len": candidate.target.seq_len, **found.model_dump(mode="json")},
                "graph": graph_data(candidate),
            }
        )
        return
    console = screen.console()
    console.print(f"{candidate.name}  fingerprint {fingerprint(candidate)}\n")
    mixers = tuples(candidate)
    for path, table in mixers[:SHOWN]:
        console.print(f"{path}: alpha_ij = phi(q_i . A_i ... A_(j+1) b_j k_j) / eta_i")
        console.print(table)
    if len(mixers) > SHOWN:
        console.print(f"and {len(mixers) - SHOWN} more distinct mixers\n")
    console.print(stack(candidate))
    console.print()
    console.print(totals(found, candidate.target.seq_len))


def cost(spec: Spec, seq_len: SeqLen = None, output_format: screen.Format = screen.DataFormat.TEXT) -> None:
    """Count parameters, multiply-accumulates and decode memory from closed formulas.

    \b
    Example: sextant cost catalogue:mamba2 --seq-len 32768
    """
    from designspace.cost import cost as cost_of
    from designspace.specfile import load

    candidate = retargeted(load(spec), seq_len=seq_len)
    found = cost_of(candidate)
    if output_format == screen.DataFormat.JSON:
        screen.print_json({"seq_len": candidate.target.seq_len, **found.model_dump(mode="json")})
        return
    console = screen.console()
    console.print(totals(found, candidate.target.seq_len))
    console.print(per_mixer(found))


def graph_data(candidate: "Candidate") -> dict[str, list[dict[str, Any]]]:
    """Nodes and edges of the stack, every layer written out; a mixer is named by its path in the candidate."""
    from designspace.architecture import graph

    stack = graph(candidate)
    nodes = [{"name": name, **data} for name, data in stack.nodes(data=True)]
    edges = [{"from": start, "to": end, **data} for start, end, data in stack.edges(data=True)]
    return {"nodes": [{key: node[key] for key in node if key != "mixer"} for node in nodes], "edges": edges}


def tuples(candidate: "Candidate") -> list[tuple[str, "Table"]]:
    """For each distinct mixer: its paths, and a table of the fields that are not at their default."""
    paths: dict[Any, list[str]] = {}
    for located in candidate.mixers():
        paths.setdefault(located.mixer, []).append(located.path)
    return [(_first_and_count(places), _tuple(mixer)) for mixer, places in paths.items()]


def _tuple(mixer: "MixerSpec") -> "Table":
    from designspace.mixer import MixerSpec
    from designspace.specfile import record

    rows = []
    for name in (*TUPLE, *AROUND):
        part = getattr(mixer, name)
        is_default = part == MixerSpec.model_fields[name].get_default(call_default_factory=True)
        if not is_default or name in ALWAYS:
            shown = record(part) if name != "scaling" else {"base": part.base, **record(part)}
            rows.append([name, inline(shown)])
    return screen.table(["field", "value"], rows)


def inline(value: Any) -> str:
    """Plain data in one line, outermost braces left out."""
    match value:
        case dict():
            return ", ".join(f"{key} {_braced(inner)}" for key, inner in value.items())
        case _:
            return _braced(value)


def _braced(value: Any) -> str:
    match value:
        case dict():
            return f"{{{inline(value)}}}"
        case list():
            return f"[{', '.join(map(_braced, value))}]"
        case None:
            return "null"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def stack(candidate: "Candidate") -> "Tree":
    """The graph of the stack, one branch per block; equal layers and repeated patterns of blocks are written once."""
    from rich.tree import Tree

    from designspace.architecture import graph

    nodes = graph(candidate)
    tree = Tree(f"embedding (positions {candidate.model.positions}, {candidate.model.model_dim} wide)")
    period = _period(candidate.blocks)
    times = len(candidate.blocks) // period
    parent = tree.add(f"{times} times") if times > 1 else tree
    parts: dict[int, list[tuple[str, Any]]] = {}
    for name, data in nodes.nodes(data=True):
        if data["kind"] in ("mixer", "outside", "channel"):
            parts.setdefault(data["layer"], []).append((name, data))
    layer = 0
    for index, block in enumerate(candidate.blocks[: min(period, SHOWN)]):
        branch = parent.add(f"blocks[{index}]" + (f", {block.repeat} equal layers" if block.repeat > 1 else ""))
        for name, data in parts.get(layer, []):
            branch.add(_node(nodes, name, data))
        layer += block.repeat
    if period > SHOWN:
        parent.add(f"and {period - SHOWN} more blocks")
    tree.add(f"head ({candidate.model.vocab_size} tokens)")
    return tree


def _period(blocks: Sequence[object]) -> int:
    """Length of the shortest pattern whose repetition is `blocks`."""
    count = len(blocks)
    return next(length for length in range(1, count + 1) if count % length == 0 and blocks[length:] == blocks[:-length])


def _node(nodes: Any, name: str, data: Any) -> str:
    """A mixer or channel mixer with the norm before it and the skip around it."""
    merge = next(iter(nodes.successors(name)))
    norms = [edge["norm"] for _, _, edge in nodes.in_edges(name, data=True)]
    skips = [edge["weight"] for _, _, edge in nodes.in_edges(merge, data=True) if edge["role"] == "skip"]
    match data["kind"]:
        case "channel":
            what = data["channel"]
        case "outside":
            what = f"{data['mixer'].outside.replace('_', ' ')}: {data['mixer'].reason}"
        case _:
            what = _gist(data["mixer"])
    after = nodes.edges[name, merge]
    weight = f", weight {after['weight']:g}" if after.get("weight", 1.0) != 1.0 else ""
    order = f", reads {after['order']}" if after.get("order", "forward") != "forward" else ""
    skip = f"skip {skips[0]:g}" if skips else "no skip"
    return f"{data['kind']}: {what} (norm {norms[0]}, {skip}{weight}{order})"


def _gist(mixer: "MixerSpec") -> str:
    """A mixer in a few words: readout, what moves the keys, normalization, heads."""
    moving = [name for name in ("decay", "rotation", "erase", "shear") if not getattr(mixer, name).is_identity]
    moving += ["lift"] * (mixer.lift.kind != "none")
    heads = mixer.heads
    sizes = f"{heads.num_heads} heads of {heads.state_dim} x {heads.head_dim}"
    return f"{mixer.readout.kind}, {' and '.join(moving) or 'A = I'}, eta {mixer.normalization.kind}, {sizes}"


def totals(found: "Cost", seq_len: int) -> "Table":
    """The cost of the whole candidate."""
    parts = ", ".join(f"{name} {count:,}" for name, count in found.parameters.model_dump().items() if name != "total")
    rows = [
        ["parameters", f"{found.parameters.total:,}", parts],
        ["training", f"{found.training_macs:,.0f} MACs", "per token, forward, every mixer in its cheapest form"],
        ["", f"{found.quadratic_macs:,.0f} MACs", "the same in the quadratic form"],
        ["decoding", f"{found.decode_macs:,.0f} MACs", f"for token {seq_len:,}"],
        ["state", size(found.state_bytes), "decode memory that does not grow"],
        ["cache", size(found.cache_bytes), f"at {seq_len:,} tokens; {size(found.cache_bytes_per_token)} per token"],
    ]
    if found.unknown_layers:
        rows.append(["not counted", f"{found.unknown_layers} layers", "their mixers lie outside the grammar"])
    return screen.table([f"cost at {seq_len:,} tokens", "", ""], rows)


def per_mixer(found: "Cost") -> "Table":
    """The cost of one layer of each mixer."""
    rows: dict[MixerCost, list[object]] = {}
    paths: dict[MixerCost, list[str]] = {}
    for layer in found.layers:
        forms = layer.mixer.training.model_dump()
        best = min((macs, name) for name, macs in forms.items() if macs is not None)
        paths.setdefault(layer.mixer, []).append(layer.path)
        rows[layer.mixer] = [
            layer.mixer.parameters,
            f"{best[0]:,.0f} ({best[1]})",
            f"{forms['quadratic']:,.0f}",
            f"{layer.mixer.decode_macs:,.0f}",
            size(layer.mixer.state_bytes),
            size(layer.mixer.cache_bytes),
            layer.mixer.break_even_length,
        ]
    columns = [
        "one layer of",
        "parameters",
        "MACs cheapest",
        "quadratic",
        "decode",
        "state",
        "cache",
        "break-even length",
    ]
    return screen.table(columns, [[_first_and_count(paths[mixer]), *cells] for mixer, cells in rows.items()])


def _first_and_count(paths: list[str]) -> str:
    return paths[0] + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")


def size(count: float) -> str:
    """Bytes with a binary unit."""
    unit = 0
    while count >= KIB and unit < len(UNITS) - 1:
        count, unit = count / KIB, unit + 1
    return f"{count:.4g} {UNITS[unit]}"
