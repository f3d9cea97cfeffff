"""CD401 parity-excluded: every transition has a positive real spectrum, so no depth tracks parity."""

import math
from collections.abc import Iterable

from checkers.finding import Fix, quantity, setting
from checkers.remedies import rounded_down
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from checkers.spectrum import (
    Spectrum,
    commutes,
    control,
    key_length_squared,
    lowest_reached,
    operations,
    position_code,
    says_little,
    spectrum,
)

POSITION = "CD301"


def judge(context: Context) -> Iterable[Outcome]:
    """P4 on the whole model: one layer outside the theorem is enough for no statement."""
    sites = context.sites
    if not sites:
        return [Outcome("inapplicable", "blocks", "no mixer in the grammar")]
    outside = [site for site in sites if not site.mixer.is_finite_memory]
    if outside:
        reason = "the theorem is about linear recurrences; this stack has another mixer"
        return [Outcome("inapplicable", outside[0].path, reason)]
    code = position_code(context.candidate)
    if code is not None or not context.candidate.is_causal:
        path = code or "blocks"
        reason = f"`{path}`: the theorem is about causal layers that are the same at every position"
        return [Outcome("inapplicable", path, reason)]
    answers = {site.path: spectrum(site.mixer) for site in sites}
    for site in sites:
        if answers[site.path] is Spectrum.COMPLEX:
            return [_not_excluded(site, "rotation", "complex eigenvalues")]
        if answers[site.path] is Spectrum.REACHES_NEGATIVE:
            return [_not_excluded(site, "erase.gain", _reach(lowest_reached(site.mixer)))]
    for site in sites:
        if answers[site.path] is Spectrum.OPEN:
            reason = "the signs of the eigenvalues are not derived"
            return [Outcome("unknown", site.at("erase"), reason, evidence=control(site.mixer))]
    return [_excluded(sites, told_by=POSITION if says_little(context.candidate, context.target) else None)]


def _reach(lowest: float) -> str:
    return f"the eigenvalue {lowest:.3g}" if math.isfinite(lowest) else "any negative one, as nothing bounds the keys"


def _excluded(sites: tuple[Site, ...], told_by: str | None) -> Outcome:
    commuting = [site for site in sites if commutes(site.mixer)]
    order = ""
    if commuting:
        where = "" if len(commuting) == len(sites) else f" of {len(commuting)} of {len(sites)} mixers"
        order = (
            f" The transitions{where} commute as well ({operations(commuting[0].mixer)}): such a layer does not follow"
            " the order of tokens, so no order-sensitive group."
        )
    lowest = min(0.0 if site.mixer.erase.is_identity else lowest_reached(site.mixer) for site in sites)
    return Outcome(
        "fail",
        sites[0].at("decay" if sites[0].mixer.erase.is_identity else "erase.gain"),
        "the eigenvalues of every transition are real and not negative: at finite precision no depth of such layers"
        f" computes the parity of a sequence of any length.{order}",
        kind=None if told_by else Kind.PARITY_EXCLUDED,
        evidence={
            **control(sites[0].mixer),
            "lowest_eigenvalue": quantity(lowest, "eigenvalue of one step"),
            "commuting_mixers": quantity(len(commuting), f"of {len(sites)} mixers"),
        },
        assumptions=("finite precision, sequences of unbounded length", "declared ranges hold"),
        fix=_fix(sites),
        told_by=told_by,
    )


def _fix(sites: tuple[Site, ...]) -> Fix | None:
    """Reflections where an erase along keys (that are not 0) stops at a projection."""
    erasing = [(site, key_length_squared(site.mixer)) for site in sites if not site.mixer.erase.is_identity]
    values = {site.at("erase.gain[1]"): rounded_down(2.0 / square, 2) for site, square in erasing if square}
    return setting("display", values) if values else None


def _not_excluded(site: Site, field: str, reach: str) -> Outcome:
    return Outcome(
        "pass",
        site.at(field),
        f"one step reaches {reach} ({operations(site.mixer)}): not excluded by the spectrum (expressive does not mean"
        " learnable)",
        evidence=control(site.mixer),
    )


rule = Rule(
    code="CD401",
    name="parity-excluded",
    group="advice",
    precision="high",
    what="All transitions of all layers have real, nonnegative eigenvalues.",
    why="A linear recurrence whose transitions have a positive real spectrum cannot compute parity at finite precision,"
    " at any depth: powers of one such matrix settle and never alternate.",
    exceptions=(
        "The statement is about linear recurrences: a stack with attention or a window is not judged.",
        "Rotations are complex and not excluded: constant ones count positions modulo m, those of the input may count"
        " tokens.",
        "Position embeddings, an index gate, chunks and reading backwards are not in the theorem: not applicable.",
        "Products of three or more erase and diagonal factors can leave the positive axis.",
        "Where A_t = I in every layer it is a verdict without a finding, as CD301 says that, unless the target needs"
        " state tracking.",
        "A pass never means that the mixer learns parity.",
    ),
    fix="Let the erase gain reach 2 (`erase.gain: [0, 2]`), so that eigenvalues reach -1.",
    references=("arXiv 2411.12537, theorem 1", "arXiv 2502.10297"),
    passes=("catalogue:deltanet_neg", "catalogue:gated_deltaproduct"),
    fails=("catalogue:mamba2", "catalogue:gated_deltanet"),
    kinds=(Kind.PARITY_EXCLUDED,),
    fields_read=(
        "readout",
        "decay",
        "rotation",
        "erase",
        "lift",
        "shear",
        "features",
        "heads.state_dim",
        "scaling.gate",
        "support",
        "model.positions",
        "target.needs",
    ),
    check=judge,
    reads_stack=True,
)
