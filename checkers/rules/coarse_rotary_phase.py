"""CD802 coarse-rotary-phase: rotary phases in half precision make distinct positions equal."""

from functools import lru_cache

from checkers.finding import quantity, setting
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind
from designspace.spec import Dtype

EXACT_INTEGERS: dict[Dtype, int] = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24, "float64": 2**53}


def judge(site: Site) -> Outcome:
    """Distinct positions that the phase format can tell apart over the target length."""
    rotation, seq_len = site.mixer.rotation, site.target.seq_len
    if rotation.is_identity:
        return Outcome("inapplicable", site.at("rotation"), "nothing rotates")
    exact = EXACT_INTEGERS[rotation.phase_dtype]
    if seq_len <= exact:
        return Outcome("pass", site.at("rotation.phase_dtype"), f"positions are exact up to {exact:,}")
    distinct = distinct_positions(seq_len, exact)
    return Outcome(
        "fail",
        site.at("rotation.phase_dtype"),
        f"phases in {rotation.phase_dtype} keep {distinct:,} of {seq_len:,} positions apart.",
        kind=Kind.NUMERICS,
        evidence={
            "distinct_positions": quantity(distinct, "positions"),
            "seq_len": quantity(seq_len, "tokens"),
            "exact_up_to": quantity(exact, "positions"),
        },
        fix=setting("safe", {site.at("rotation.phase_dtype"): "float32"}),
    )


@lru_cache(256)
def distinct_positions(seq_len: int, exact: int) -> int:
    """Values that the positions 0..seq_len - 1 take in a format that holds integers exactly up to `exact`.

    Between exact * 2^m and exact * 2^(m + 1) the representable integers are 2^(m + 1) apart; ties go to even.
    """
    last = seq_len - 1
    if last <= exact:
        return seq_len
    count, start, spacing = exact + 1, exact, 2
    while start < last:
        end = min(last, 2 * start)
        steps, rest = divmod(end - start, spacing)
        rounds_up = 2 * rest > spacing or (2 * rest == spacing and steps % 2 == 1)
        count += steps + rounds_up
        start, spacing = 2 * start, 2 * spacing
    return count


rule = Rule(
    code="CD802",
    name="coarse-rotary-phase",
    group="numerics",
    precision="very-high",
    what="The format of the rotary phases cannot hold all positions of the target length.",
    why="bfloat16 has 8 significant bits: 385 distinct positions of 512, 769 of 4,096, 1,153 of 32,768. Tokens at equal"
    " phases have no order between them.",
    exceptions=("The loss at 1k tokens hardly moves: a warning, never an error.",),
    fix="Compute angles and positions in float32 and cast after cosine and sine (`rotation.phase_dtype: float32`).",
    references=("arXiv 2411.13476",),
    passes=("catalogue:softmax_rope",),
    fails=({"mixer": {"rotation": {"source": "constant", "phase_dtype": "bfloat16"}}},),
    kinds=(Kind.NUMERICS,),
    fields_read=("rotation", "target.seq_len"),
    check=per_mixer(judge),
)
