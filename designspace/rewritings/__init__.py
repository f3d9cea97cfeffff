"""Rewritings of a mixer into the normal form of its function, one small function each (theory.md section 1).

Every rewriting takes a valid mixer and returns a valid one: the same object where it does not apply, else one with the
same coefficients for the same tokens and parameters, up to the factor that its docstring names (none: equal). What
stands outside the function (execution, lint, number formats, placement of eps) is left as it is.
"""
