"""Softmax attention over the last 4096 keys.

Source     Jiang et al., 2023, arXiv 2310.06825
Tuple      phi = exp; A_t = R(-theta^(-2m/n)), window 4096; b_j = n^-1/2; eta_i = row sum
State      min(T, 4096) (n + p) per key/value head
Reference  fla naive_parallel_attn(window_size); transformers MistralAttention
Known for  cost linear in the length; depth carries information W - 1 keys further per layer (Longformer, arXiv
           2004.05150)
Sizes      Mistral 7B (32 layers, width 4096)
Also       sliding_window
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

mixer = MixerSpec(
    readout=Exponential(kind="exponential"),
    rotation=Rotation(source="constant"),
    normalization=Normalization(kind="sum"),
    support=Support(window=4096),
    heads=Heads(num_heads=32, state_dim=128, head_dim=128, kv_groups=8),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="softmax_window",
        target=Target(seq_len=32768),
        model=ModelSpec(model_dim=4096, vocab_size=32000),
        blocks=(Block(repeat=32, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=3.5)),),
    ),
)
