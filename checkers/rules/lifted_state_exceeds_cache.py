"""CD102 lifted-state-exceeds-cache: the state of the lift is larger than the cache that it replaces."""

from checkers.finding import quantity
from checkers.memory import BYTES, cached_numbers_per_token, is_lifted, state_numbers
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind


def judge(site: Site) -> Outcome:
    """P1 in numbers: state bytes against cache bytes, and the length at which they are equal."""
    mixer, seq_len = site.mixer, site.target.seq_len
    numbers = state_numbers(mixer)
    if numbers is None:
        return Outcome("inapplicable", site.at("readout"), "no recurrence with a finite state to compare")
    if not is_lifted(mixer):
        return Outcome("pass", site.at("readout"), "the state is n x p: neither phi nor the feature map enlarges it")
    state = numbers * BYTES[mixer.execution.dtype.state]
    per_token = cached_numbers_per_token(mixer) * BYTES[site.target.dtype]
    break_even = state / per_token
    summary = f"break-even at length {break_even:,.0f} (lifted state {state:,} bytes, cache {per_token:,} per token)"
    if break_even <= seq_len:
        return Outcome("pass", site.at("readout"), summary)
    return Outcome(
        "fail",
        site.at("features.map" if mixer.key_dim > mixer.heads.state_dim else "readout"),
        f"the lifted state of {mixer.lifted_dim:,} rows per head takes {state:,} bytes per layer, more than the"
        f" {per_token * seq_len:,} bytes of the cache at length {seq_len:,}; {summary}.",
        kind=Kind.LIFTED_STATE,
        evidence={
            "state": quantity(state, "byte per layer and sequence"),
            "cache": quantity(per_token * seq_len, "byte per layer and sequence"),
            "break_even_length": quantity(break_even, "token"),
            "lifted_rows": quantity(mixer.lifted_dim or 0, "row per head"),
        },
        assumptions=(
            f"the state is kept in {mixer.execution.dtype.state}, the cache in {site.target.dtype}",
            "the cache holds the mapped keys of the same heads",
        ),
    )


rule = Rule(
    code="CD102",
    name="lifted-state-exceeds-cache",
    group="suspect",
    precision="very-high",
    what="A polynomial readout or a feature map makes the recurrent state larger than the cache at the target length.",
    why="The lift of a polynomial of degree d has C(n + d - 1, d) rows per head and a feature map its own width: below"
    " the break-even length the recurrence keeps and moves more bytes than plain attention would.",
    exceptions=("A state of n x p that nothing enlarges is not judged, however short the target length is.",),
    fix="Lower `heads.state_dim`, the degree or the feature width, or aim at longer sequences than the break-even length.",
    references=("arXiv 2402.18668, section 4", "arXiv 2510.09389, principle 1"),
    passes=(
        {"mixer": {"readout": {"kind": "polynomial", "coefficients": [1.0, 1.0, 0.5]}, "heads": {"state_dim": 16}}},
        "catalogue:based",
    ),
    fails=(
        {"mixer": {"readout": {"kind": "polynomial", "coefficients": [0.0, 0.0, 0.0, 1.0]}, "heads": {"state_dim": 64}}},
    ),
    fields_read=(
        "readout",
        "features.map",
        "features.width",
        "heads",
        "lift",
        "normalization.kind",
        "execution.dtype.state",
        "target.seq_len",
        "target.dtype",
    ),
    check=per_mixer(judge),
)
