"""Softmax attention with a learned extra logit in the denominator, alternately windowed.

Source     OpenAI, 2025, arXiv 2508.10925
Tuple      phi = exp; A_t = R(-theta^(-2m/n)), window 128 in every second layer; b_j = n^-1/2; eta_i = row sum +
           exp(s_h)
State      min(T, 128) (n + p) per key/value head in the windowed layers, T (n + p) in the others
Reference  transformers gpt_oss eager_attention_forward; fla naive_parallel_attn(sink_bias)
Known for  a head may attend to nothing: no first token has to serve as an attention sink (arXiv 2309.17453)
Sizes      gpt-oss 20B (24 layers, width 2880); the channel mixer stands for one of its experts
Left out   YaRN scaling of the angles, biases of the projections
Also       sinks, attention_sinks, gpt_oss
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.rotation import Rotation
from designspace.support import Support
from designspace.target import Target

HEADS = Heads(num_heads=64, state_dim=64, head_dim=64, kv_groups=8)
ROTATION = Rotation(source="constant", theta=150000.0)
SINK = Normalization(kind="sum_with_sink")
mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    rotation=ROTATION,
    normalization=SINK,
    support=Support(window=128),
    heads=HEADS,
)
full = MixerSpec(readout=Exponential(kind="exponential"), rotation=ROTATION, normalization=SINK, heads=HEADS)
entry = Entry.described(
    __doc__,
    Candidate(
        name="softmax_sink",
        target=Target(seq_len=131072),
        model=ModelSpec(model_dim=2880, vocab_size=201088),
        blocks=(
            Block(mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=1.0)),
            Block(mixer=full, channel_mixer=ChannelMixer(kind="swiglu", ratio=1.0)),
        )
        * 12,
    ),
)
