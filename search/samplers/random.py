"""Independent uniform draws: the baseline that every other sampler has to beat (Bergstra and Bengio, JMLR 2012)."""

from optuna.samplers import RandomSampler

from search.sampler import Sampler

sampler = Sampler(title="uniform random draws", make=lambda seed: RandomSampler(seed=seed), rejected="pruned")
