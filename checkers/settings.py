"""What a user sets: which rules run, how serious their findings are, and the limits they compare with.

Selectors of the command line, of settings files and of the `reject` of a space have one grammar, the one here.
"""

from collections.abc import Iterable
from typing import Self

from pydantic import ConfigDict, Field, model_validator

from checkers.finding import Severity
from checkers.rule import Rule, all_rules
from checkers.thresholds import DEFAULTS, Thresholds, check_order
from designspace.errors import SpecError
from designspace.events import nearest, quoted
from designspace.spec import Spec

ALL = "ALL"
OFF_BY_DEFAULT = "nursery"


def kebab(name: str) -> str:
    """The name of a field as settings are written: with dashes."""
    return name.replace("_", "-")


class Settings(Spec):
    """Selectors are a code (`CD501`), a prefix of one (`CD5`), a rule name (`score-scale`), or `ALL`.

    `extend_select` adds to `select`; both also switch on nursery rules that they name by code or name. `severity` maps
    selectors to levels; the longest selector that fits wins.
    """

    model_config = ConfigDict(alias_generator=kebab)

    select: tuple[str, ...] = (ALL,)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: dict[str, Severity] = Field(default_factory=dict)
    thresholds: Thresholds = DEFAULTS

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, selectors in (
            ("select", self.select),
            ("extend-select", self.extend_select),
            ("ignore", self.ignore),
            ("severity", self.severity),
        ):
            check_selectors(key, selectors)
        check_order(self.thresholds)
        return self

    def runs(self, rule: Rule) -> bool:
        """The rule is selected and not ignored."""
        selected = (*self.select, *self.extend_select)
        chosen = any(fits(selector, rule) for selector in selected)
        if rule.group == OFF_BY_DEFAULT:
            chosen = rule.code in selected or rule.name in selected
        return chosen and not any(fits(selector, rule) for selector in self.ignore)

    def mapped(self, rule: Rule, level: Severity) -> Severity:
        """`level`, or what the user maps the rule to."""
        fitting = [selector for selector in self.severity if fits(selector, rule)]
        return self.severity[max(fitting, key=_closeness)] if fitting else level


def fits(selector: str, rule: Rule) -> bool:
    """The selector names the rule."""
    return selector in (ALL, rule.name) or (bool(selector) and rule.code.startswith(selector))


def _closeness(selector: str) -> int:
    """How exactly a selector names a rule: a name or a full code beats a prefix beats `ALL`."""
    return 0 if selector == ALL else len(selector)


def check_selectors(key: str, selectors: Iterable[str]) -> None:
    """Refuse a selector of `key` that names no rule.

    Raises:
        SpecError: there is one; the message names the nearest rule.
    """
    for selector in selectors:
        if message := unknown(selector):
            raise SpecError(message, path=key)


def unknown(selector: str) -> str | None:
    """Why the selector names no rule, or None where it names one."""
    if any(fits(selector, rule) for rule in all_rules()):
        return None
    close = nearest(selector, [name for rule in all_rules() for name in (rule.code, rule.name)])
    remedy = f"did you mean `{close}`?" if close else "`sextant rules` lists them."
    return f"{quoted(selector)} names no rule; {remedy}"
