"""Draws key-value sequences for the recall tasks: one generator with and without noise, as in MAD."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workers.task import IGNORED, Drawn, Tokens, TrainOn

SLOT = 2  # tokens of a slot: a key and its value, or two noise tokens


@dataclass(frozen=True)
class Recall:
    """Sizes of a key-value sequence.

    Tokens: keys 0..num_keys-1, values num_keys..symbols-1, noise symbols..symbols+noise_vocab_size-1, and, with a
    single query, the copy prefix vocab_size-1.
    """

    vocab_size: int
    seq_len: int
    multi_query: bool
    train_on: TrainOn = "next_token"
    noise_vocab_size: int = 0
    noise_fraction: float = 0.0

    def __post_init__(self) -> None:
        if self.seq_len % SLOT or self.seq_len < 2 * SLOT:
            raise ValueError(f"`seq_len` must be even and at least {2 * SLOT}, got {self.seq_len}.")
        if self.num_keys < 1:
            raise ValueError(
                f"`vocab_size` {self.vocab_size} leaves {self.symbols} tokens for keys and values after "
                f"`noise_vocab_size` {self.noise_vocab_size}; it needs at least 2."
            )
        if self.noise_fraction > 0 and self.noise_vocab_size < 1:
            raise ValueError(f"`noise_vocab_size` must be positive with `noise_fraction` {self.noise_fraction}.")

    @property
    def symbols(self) -> int:
        """Tokens that are keys or values."""
        return self.vocab_size - self.noise_vocab_size - (0 if self.multi_query else 1)

    @property
    def num_keys(self) -> int:
        """Keys; the other symbols are values."""
        return self.symbols // 2

    @property
    def num_values(self) -> int:
        """Values, one more than keys if the symbols are odd in number."""
        return self.symbols - self.num_keys


def draw(recall: Recall, size: int, rng: np.random.Generator) -> Drawn:
    """`size` sequences; positions = seq_len - 1 with many queries, seq_len with one."""
    num_slots = recall.seq_len // SLOT
    noisy = _noise_slots(recall, (size, num_slots), rng)
    keys = rng.integers(recall.num_keys, size=(size, num_slots))
    keys[:, -1] = _probe(_presented(keys, noisy, recall.num_keys), rng)
    # Drawing the whole map at once equals drawing a value at each first use: entries are independent.
    value_of = rng.integers(recall.num_keys, recall.symbols, size=(size, recall.num_keys))
    values = np.take_along_axis(value_of, keys, axis=1)
    noise = rng.integers(recall.symbols, recall.symbols + max(recall.noise_vocab_size, 1), size=(size, num_slots, SLOT))

    pairs = np.where(noisy[..., None], noise, np.stack([keys, values], axis=2))
    asked = _seen_before(np.where(noisy, recall.num_keys, keys), recall.num_keys)
    if not recall.multi_query:
        asked[:, :-1] = False
    due = np.full((size, num_slots, SLOT), IGNORED)
    due[..., 0] = np.where(asked, values, IGNORED)

    sequence, targets = pairs.reshape(size, -1), due.reshape(size, -1)
    if not recall.multi_query:
        prefix = np.array([[recall.vocab_size - 1]])
        sequence, targets = (
            np.insert(array, [-SLOT], fill, axis=1) for array, fill in ((sequence, prefix), (targets, IGNORED))
        )
    inputs, answers, next_token = sequence[:, :-1], targets[:, :-1], sequence[:, 1:]
    return Drawn(inputs, answers, training=next_token if recall.train_on == "next_token" else answers)


def oracle(inputs: Tokens, recall: Recall) -> Tokens:
    """After each key its value from the sequence's own past, or -100 where the past does not tell.

    Reads left to right and remembers the token that followed each key, as a perfect model would.
    """
    size, positions = inputs.shape
    rows = np.arange(size)
    memory = np.full((size, recall.vocab_size), IGNORED)
    predicted = np.full_like(inputs, IGNORED)
    for position in range(positions):
        if position > 0:
            # Overwriting is harmless: a key has one value. Entries for values and noise are never asked for.
            memory[rows, inputs[:, position - 1]] = inputs[:, position]
        predicted[:, position] = memory[rows, inputs[:, position]]
    return np.where(inputs < recall.num_keys, predicted, IGNORED)


def _noise_slots(recall: Recall, shape: tuple[int, int], rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Which slots are noise [size, slots]: each with the noise fraction, save one protected slot and the last."""
    size, num_slots = shape
    noisy = rng.random(shape) < recall.noise_fraction
    noisy[np.arange(size), rng.integers(num_slots, size=size)] = False
    noisy[:, -1] = False
    noisy[:, 0] &= ~noisy[:, :-1].all(axis=1)
    return noisy


def _presented(keys: Tokens, noisy: npt.NDArray[np.bool_], num_keys: int) -> npt.NDArray[np.bool_]:
    """Which keys stand in the slots before the last, [size, num_keys]."""
    presented = np.zeros((len(keys), num_keys + 1), dtype=np.bool_)
    np.put_along_axis(presented, np.where(noisy, num_keys, keys)[:, :-1], True, axis=1)
    return presented[:, :num_keys]


def _probe(presented: npt.NDArray[np.bool_], rng: np.random.Generator) -> Tokens:
    """One key of those presented [size], uniform over distinct keys."""
    probe: Tokens = np.where(presented, rng.random(presented.shape), -1.0).argmax(axis=1)
    return probe


def _seen_before(keys: Tokens, num_keys: int) -> npt.NDArray[np.bool_]:
    """Where a key stands that stood earlier in its sequence, [size, slots]; `num_keys` marks a slot of noise."""
    size, num_slots = keys.shape
    first = np.full((size, num_keys + 1), num_slots)
    np.minimum.at(first, (np.arange(size)[:, None], keys), np.arange(num_slots)[None, :])
    return (np.arange(num_slots) > np.take_along_axis(first, keys, axis=1)) & (keys < num_keys)
