"""CD802 coarse-rotary-phase: rotary phases in half precision make distinct positions equal."""

from functools import lru_cache

from checkers.finding import quantity, setting
from checkers.overflow import HALF, SIGNIFICANT_BITS, spacing
from checkers.rule import Outcome, Rule, Site, per_mixer
from checkers.severity import Kind

FINE = 256  # positions whose phases half precision holds to a fraction of a radian
SMALL = 0.0625  # radians: what float16 is off at the end of 256 positions


def judge(site: Site) -> Outcome:
    """Positions and phases that the format of the phases can hold over the target length."""
    rotation, seq_len = site.mixer.rotation, site.target.seq_len
    dtype = rotation.phase_dtype
    if rotation.is_identity:
        return Outcome("inapplicable", site.at("rotation"), "nothing rotates")
    if "phase_dtype" not in rotation.model_fields_set:
        return Outcome("unknown", site.at("rotation"), "`rotation.phase_dtype` is not declared")
    exact = 2 ** SIGNIFICANT_BITS[dtype]
    if seq_len <= (FINE if dtype in HALF else exact):
        return Outcome("pass", site.at("rotation.phase_dtype"), f"{dtype} holds the phases of {seq_len:,} positions")
    distinct = distinct_positions(seq_len, exact)
    largest = _largest_rounded(site) if distinct == seq_len else 1.0
    error = 0.5 * spacing(largest * (seq_len - 1.0), dtype) if largest else 0.0
    if error <= SMALL:
        reason = f"{dtype} holds the phases of {seq_len:,} positions up to {error:.2g} radians"
        evidence = {"phase_error": quantity(error, "radians")}
        return Outcome("pass", site.at("rotation.phase_dtype"), reason, evidence=evidence)
    return Outcome(
        "fail",
        site.at("rotation.phase_dtype"),
        f"phases in {dtype} keep {distinct:,} of {seq_len:,} positions apart, and are off by up to {error:.3g} radians"
        " at the end.",
        kind=Kind.NUMERICS,
        evidence={
            "distinct_positions": quantity(distinct, "positions"),
            "seq_len": quantity(seq_len, "tokens"),
            "exact_up_to": quantity(exact, "positions"),
            "phase_error": quantity(error, "radians"),
        },
        assumptions=("positions and angles are formed in this format; learned angles of about 1 radian per step",),
        fix=setting("safe", {site.at("rotation.phase_dtype"): "float32"}),
    )


def _largest_rounded(site: Site) -> float:
    """The largest angle per step whose phases are no integers: these are exact. A learned one counts as 1."""
    rotation = site.mixer.rotation
    if rotation.source != "constant":
        return 1.0
    return max((angle for angle in rotation.angles(site.mixer.key_dim) if not angle.is_integer()), default=0.0)


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
    what="The rotary phases are kept in half precision beyond 256 positions.",
    why="bfloat16 has 8 significant bits: 385 distinct positions of 512, 769 of 4,096, 1,153 of 32,768. Tokens at equal"
    " phases have no order between them.",
    exceptions=(
        "The loss at 1k tokens hardly moves: a warning, never an error.",
        "float16 keeps 2,048 positions apart, but its phases are off by 0.125 radians at position 511.",
        "Without `rotation.phase_dtype` the answer is unknown.",
    ),
    fix="Compute angles and positions in float32 and cast after cosine and sine (`rotation.phase_dtype: float32`).",
    references=("arXiv 2411.13476",),
    passes=({"mixer": {"rotation": {"source": "constant", "phase_dtype": "float32"}}},),
    fails=({"mixer": {"rotation": {"source": "constant", "phase_dtype": "bfloat16"}}},),
    kinds=(Kind.NUMERICS,),
    fields_read=("rotation", "target.seq_len"),
    check=per_mixer(judge),
)
