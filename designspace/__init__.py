"""The candidate: typed specs, the stack, canonical form, cost and the catalogue."""
