"""Verdict tables: for each rule, specs around each of its branches and limits, and what it must answer."""
