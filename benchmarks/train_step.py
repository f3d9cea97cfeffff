"""Milliseconds of one training step, forward and backward, in the sizes of the `tiny` protocol.

Run `python benchmarks/train_step.py [--mixers gla retnet] [--repeats 5]`. Two layers of mixer and SwiGLU, batch 64,
64 tokens, one thread, float32, processor time. The mixers take turns, so that a busy machine slows all of them alike;
`ratio` is to the same model around torch's own attention, without positions.
"""

import argparse
import statistics
import time
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from designspace import catalogue
from designspace.candidate import ChannelMixer
from workers.layers import ShortConvolution, linear
from workers.model import Layer, Model, build
from workers.protocol import TINY

MIXERS = ("softmax_rope", "gated_deltanet", "gla", "mamba2", "linear_elu_norm", "retnet")
REFERENCE = "torch attention"
BATCH, SEQ_LEN, VOCAB_SIZE = 64, 64, 64
MILLISECONDS = 1000.0


class Attention(nn.Module):
    """Causal softmax attention as one would write it with torch: projection, short convolution, kernel, projection."""

    def __init__(self) -> None:
        super().__init__()
        sizes = TINY.sizes
        inner = sizes.num_heads * sizes.head_dim
        self.num_heads = sizes.num_heads
        self.projection = linear(sizes.model_dim, 3 * inner, seed=0, name="projection")
        self.convolution = ShortConvolution(3 * inner, sizes.short_conv_width, seed=0, name="convolution")
        self.output = linear(inner, sizes.model_dim, seed=0, name="output")

    def forward(self, x: Tensor) -> Tensor:
        """[batch, seq_len, model_dim], as the input."""
        streams = self.convolution(self.projection(x)).unflatten(-1, (3, self.num_heads, -1))
        q, k, v = streams.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(y.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


def model_of(name: str) -> Model:
    """Two layers of the catalogue's mixer and SwiGLU."""
    found = catalogue.get("softmax_nope" if name == REFERENCE else name).candidate
    block = found.blocks[0].model_copy(update={"channel_mixer": ChannelMixer(kind="swiglu"), "repeat": 1})
    one = found.model_copy(update={"blocks": (block,)})
    model = build(TINY.adapt(one, vocab_size=VOCAB_SIZE, seq_len=SEQ_LEN), seed=0)
    if name == REFERENCE:
        for layer in model.layers:
            if isinstance(layer, Layer):
                layer.mixer = Attention()  # type: ignore[assignment]
    return model


def milliseconds(model: Model, tokens: Tensor) -> float:
    """Processor time of one forward and backward pass."""
    model.zero_grad()
    start = time.process_time()
    torch.autograd.backward(model(tokens).logsumexp(-1).mean())
    return MILLISECONDS * (time.process_time() - start)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per mixer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mixers", nargs="+", default=MIXERS)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    names = (REFERENCE, *options.mixers)
    models = {name: model_of(name) for name in names}
    tokens = torch.arange(BATCH * SEQ_LEN).reshape(BATCH, SEQ_LEN) % VOCAB_SIZE
    for model in models.values():
        milliseconds(model, tokens)
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(options.repeats):
        for name, model in models.items():
            times[name].append(milliseconds(model, tokens))
    plain = statistics.median(times[REFERENCE])
    print(f"{'mixer':18s}{'median ms':>10s}{'min ms':>9s}{'ratio':>7s}")
    for name, found in times.items():
        median = statistics.median(found)
        print(f"{name:18s}{median:10.1f}{min(found):9.1f}{median / plain:7.2f}")


if __name__ == "__main__":
    main()
