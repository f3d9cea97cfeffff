"""Measured behaviour: the definition, its forms, models, tasks and training."""
