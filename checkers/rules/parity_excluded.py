"""CD401 parity-excluded: every transition has a positive real spectrum, so no depth tracks parity."""

from collections.abc import Iterable

from checkers.finding import quantity
from checkers.rule import Context, Outcome, Rule, Site
from checkers.severity import Kind
from checkers.spectrum import Spectrum, lowest_eigenvalue, spectrum


def judge(context: Context) -> Iterable[Outcome]:
    """P4 on the whole model: one layer outside the theorem is enough for no statement."""
    sites = context.sites
    outside = [site for site in sites if not site.mixer.is_finite_memory]
    if not sites or outside:
        path = outside[0].path if outside else "blocks"
        return [Outcome("unknown", path, "the theorem is about linear recurrences; this stack has another mixer")]
    answers = {site.path: spectrum(site.mixer) for site in sites}
    negative = [site for site in sites if answers[site.path] is Spectrum.REACHES_NEGATIVE]
    if negative:
        return [_not_excluded(negative[0])]
    other = [site for site in sites if answers[site.path] is not Spectrum.POSITIVE]
    if other:
        return [
            Outcome(
                "unknown",
                other[0].at("rotation"),
                f"eigenvalues {answers[other[0].path]}: the theorem excludes positive real spectra only",
            )
        ]
    return [
        Outcome(
            "fail",
            sites[0].at("decay"),
            "the eigenvalues of every transition are real and not negative: at finite precision no depth of such layers"
            " computes the parity of a sequence of any length.",
            kind=Kind.PARITY_EXCLUDED,
            evidence={
                "lowest_eigenvalue": quantity(
                    min(0.0 if site.mixer.erase.is_identity else lowest_eigenvalue(site.mixer) for site in sites)
                )
            },
            assumptions=("finite precision, sequences of unbounded length",),
        )
    ]


def _not_excluded(site: Site) -> Outcome:
    return Outcome(
        "pass",
        site.at("erase.gain"),
        f"one step reaches the eigenvalue {lowest_eigenvalue(site.mixer):.3g}: not excluded by the spectrum (expressive"
        " does not mean learnable)",
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
        "The statement is about linear recurrences: a stack with attention or a window gets no verdict.",
        "Rotations are complex: constant ones count positions modulo m, input-dependent ones may count tokens.",
        "Products of three or more erase and diagonal factors can leave the positive axis.",
        "A pass never means that the mixer learns parity.",
    ),
    fix="Let the erase gain reach 2 (`erase.gain: [0, 2]`), so that eigenvalues reach -1.",
    references=("arXiv 2411.12537, theorem 1", "arXiv 2502.10297"),
    passes=("catalogue:deltanet_neg",),
    fails=("catalogue:mamba2", "catalogue:gated_deltanet"),
    kinds=(Kind.PARITY_EXCLUDED,),
    fields_read=("readout", "decay", "rotation", "erase", "lift", "features.norm", "target.needs"),
    check=judge,
    reads_stack=True,
)
