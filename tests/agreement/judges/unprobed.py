"""Rules that no probe can hold against, each with the reason."""

from types import MappingProxyType

UNPROBED: MappingProxyType[str, str] = MappingProxyType(
    {
        "recall-capacity": "what a state keeps apart is decided by trained keys: the limit is a convention beside"
        " random ones, and the recall tasks measure trained ones",
        "weight-decay-on-rates": "advice about a training recipe: the compiled mixer has no weight decay to measure",
        "half-precision-recurrence": "every rounding shows in a measurement; which part of a factor near 1 is too much"
        " to lose is the convention of the rule",
        "half-precision-residual": "about trained streams of 24 layers or more, which no probe of a start reaches",
        "unused-suppression": "about the file: which suppression silenced a finding",
        "unread-config-key": "about the file: which keys the importer knows",
        "outside-grammar": "what lies outside of the grammar cannot be compiled",
    }
)
