"""What a user sets: which rules run, and how serious their findings are."""

from typing import Self

from pydantic import Field, model_validator

from checkers.finding import Severity
from checkers.rule import Rule, all_rules
from designspace.errors import SpecError
from designspace.events import nearest, quoted
from designspace.spec import Spec

ALL = "ALL"
OFF_BY_DEFAULT = "nursery"


class Settings(Spec):
    """Selectors are a code (`CD501`), a prefix of one (`CD5`), a rule name (`score-scale`), or `ALL`.

    `select` also switches on nursery rules that it names by code or name. `severity` maps selectors to levels; the
    longest selector that fits wins.
    """

    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    severity: dict[str, Severity] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, selectors in (("select", self.select), ("ignore", self.ignore), ("severity", tuple(self.severity))):
            for selector in selectors:
                _check_selector(key, selector)
        return self

    def runs(self, rule: Rule) -> bool:
        """The rule is selected and not ignored."""
        chosen = any(fits(selector, rule) for selector in self.select)
        if rule.group == OFF_BY_DEFAULT:
            chosen = rule.code in self.select or rule.name in self.select
        return chosen and not any(fits(selector, rule) for selector in self.ignore)

    def mapped(self, rule: Rule, level: Severity) -> Severity:
        """`level`, or what the user maps the rule to."""
        fitting = [selector for selector in self.severity if fits(selector, rule)]
        return self.severity[max(fitting, key=_closeness)] if fitting else level


def fits(selector: str, rule: Rule) -> bool:
    """The selector names the rule."""
    return selector in (ALL, rule.name) or rule.code.startswith(selector)


def _closeness(selector: str) -> int:
    """How exactly a selector names a rule: a name or a full code beats a prefix beats `ALL`."""
    return 0 if selector == ALL else len(selector)


def _check_selector(key: str, selector: str) -> None:
    if any(fits(selector, rule) for rule in all_rules()) and selector:
        return
    close = nearest(selector, [name for rule in all_rules() for name in (rule.code, rule.name)])
    remedy = f"did you mean `{close}`?" if close else "`sextant rules` lists them."
    raise SpecError(f"{quoted(selector)} names no rule; {remedy}", path=key)
