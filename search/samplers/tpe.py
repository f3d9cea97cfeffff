"""Tree-structured Parzen estimator: models good and bad points apart and proposes where good ones are likelier.

Watanabe, arXiv 2304.11127. Multivariate, with a constant liar for points still in training (Optuna's defaults).
"""

from optuna.samplers import TPESampler

from search.sampler import Sampler

STARTUP_TRIALS = 10

sampler = Sampler(
    title="tree-structured Parzen estimator",
    make=lambda seed: TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS),
    rejected="pruned",
)
