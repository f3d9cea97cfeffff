"""Labelled cases from practice: defects that the checker must report, and traps where it must stay silent."""
