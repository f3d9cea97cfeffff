"""NSGA-II: evolves a population by non-dominated sorting; for several objectives (Deb et al., 2002)."""

from optuna.samplers import NSGAIISampler

from search.sampler import Sampler

POPULATION = 20

sampler = Sampler(
    title="evolution by non-dominated sorting",
    make=lambda seed: NSGAIISampler(population_size=POPULATION, seed=seed),
    rejected="complete",
    replayed=lambda index: {NSGAIISampler._get_generation_key(): index // POPULATION},
)
