"""The identity of a finding: what must be equal for two runs to speak of the same one. No line number is in it."""

import hashlib
import json
import re
from collections.abc import Iterable
from enum import Enum
from functools import cache
from typing import Any

from pydantic import BaseModel

from checkers.finding import Finding
from checkers.rule import Rule, all_rules
from designspace.candidate import Candidate
from designspace.events import split_path
from designspace.mixer import MixerSpec

DIGITS = 16  # hexadecimal, 64 bits: no collision among the findings of any repository
MIXER = re.compile(r"blocks\[\d+\]\.mixer(\.parallel\[\d+\])?")
OF_THE_SPEC = frozenset({"model", "target", "blocks"})  # every other field that a rule names belongs to the mixer
SUPPRESSIONS = "lint"  # of a rule about suppressions: it reads the entry that it reports

Known = dict[str, str]  # JSON of the value at each path that was asked for


def fingerprinted(findings: Iterable[Finding], candidate: Candidate) -> list[Finding]:
    """The findings on `candidate`, each with its fingerprint.

    It is the hash of the rule, the path in the spec, and the values there of the fields that the rule reads. Values at
    their default are left out, so that a key that joins the grammar changes no identity; so are suppressions, so that
    silencing a finding does not make it a new one.
    """
    rules = {rule.code: rule for rule in all_rules()}
    known: Known = {}
    return [
        finding.model_copy(update={"fingerprint": _fingerprint(candidate, rules[finding.code], finding.path, known)})
        for finding in findings
    ]


def _fingerprint(candidate: Candidate, rule: Rule, path: str, known: Known) -> str:
    mixers = _mixers(candidate, path)
    parts = [rule.code, path]
    for name in rule.fields_read:
        root = name.partition(".")[0]
        if root == SUPPRESSIONS:
            parts.append(_json(candidate, "", path, known))
        elif root in OF_THE_SPEC:
            parts.append(_json(candidate, "", name, known))
        else:
            parts += [_json(mixer, place, name, known) for place, mixer in mixers]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:DIGITS]


def _mixers(candidate: Candidate, path: str) -> list[tuple[str, MixerSpec]]:
    """The mixer that `path` lies in; its branches where it names several side by side; every mixer where none."""
    found = MIXER.match(path)
    mixer = _at(candidate, found[0]) if found else None
    if found and isinstance(mixer, MixerSpec):
        return [(found[0], mixer)]
    inside = f"{found[0]}." if found else ""
    return [(located.path, located.mixer) for located in candidate.mixers() if located.path.startswith(inside)]


def _json(owner: BaseModel, place: str, name: str, known: Known) -> str:
    """The value of the field `name` of `owner`, which stands at `place`."""
    key = f"{place}.{name}"
    if key not in known:
        value = json.dumps(_plain(_at(owner, name)), sort_keys=True, separators=(",", ":"))
        known[key] = f"{key}={value}"
    return known[key]


def _at(owner: BaseModel, path: str) -> Any:
    """The value at `path`; None where the record has no such field."""
    value: Any = owner
    for part in split_path(path):
        if isinstance(part, str):
            value = getattr(value, part, None)
        else:
            value = value[part] if isinstance(value, tuple) and part < len(value) else None
    return value


def _plain(value: Any) -> Any:
    """Plain data without suppressions and what stands at its default; a `kind` always stays."""
    match value:
        case BaseModel():
            fields = ((name, getattr(value, name), default) for name, default in _defaults(type(value)))
            return {name: _plain(item) for name, item, default in fields if name == "kind" or item != default}
        case tuple():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case Enum():
            return value.value
        case _:
            return value


@cache
def _defaults(kind: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
    """Name and default of every field of a record, suppressions left out."""
    fields = kind.model_fields.items()
    return tuple((name, field.get_default(call_default_factory=True)) for name, field in fields if name != SUPPRESSIONS)
