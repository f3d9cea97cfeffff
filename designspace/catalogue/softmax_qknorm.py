"""Softmax attention with RMS-normalised queries and keys, rotary positions.

Source     Henry et al., 2020, arXiv 2010.04245
Tuple      phi = exp; A_t = R(-theta^(-2m/n)); b_j = n^-1/2 with rms q, k; eta_i = row sum
State      T (n + p) per key/value head
Reference  transformers Qwen3Attention
Known for  scores stay bounded while training (ViT-22B, arXiv 2302.05442, and Qwen3): no entropy collapse at high
           learning rates
Sizes      Qwen3 0.6B (arXiv 2505.09388), whose norm is a weighted RMS per head before the rotation
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.readout import Exponential
from designspace.rotation import Rotation
from designspace.target import Target

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    rotation=Rotation(source="constant", theta=1e6),
    normalization=Normalization(kind="sum"),
    features=Features(norm="rms_weighted", eps_kind="mean"),
    heads=Heads(num_heads=16, state_dim=128, head_dim=128, kv_groups=8),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="softmax_qknorm",
        target=Target(seq_len=40960),
        model=ModelSpec(model_dim=1024, vocab_size=151936),
        blocks=(Block(repeat=28, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=3.0)),),
    ),
)
