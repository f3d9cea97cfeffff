"""mLSTM with a sigmoid input gate.

Source     Beck et al., 2025, arXiv 2503.14376
Tuple      phi = id; A_t = sigmoid(f_t); b_j = sigmoid(i_j) n^-1/2; eta_i = max(|row sum|, 1), then layer norm per
           head
State      n p + n per head
Reference  mlstm_kernels native_siging.mlstm_siging_parallel_fw
Known for  as good as the exponential gate without a running maximum: a faster kernel
Sizes      xLSTM 7B's sizes (32 layers, width 4096) and biases, without its cap on the logits of the gates: the kernels
           of mlstm_kernels take them as they are; whether the models of the paper capped them is not in that code
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.scaling import Scaling
from designspace.target import Target

mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="sigmoid", initial=(0.953, 0.9975)),
    scaling=Scaling(gate="sigmoid", initial=(4.5e-5, 4.5e-5)),
    normalization=Normalization(kind="max_abs_sum_1", eps=1e-6),
    heads=Heads(num_heads=8, state_dim=256, head_dim=512),
    io=InputOutput(output_norm="head_ln", norm_eps=1e-6, gate="sigmoid"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="mlstm_sig",
        target=Target(seq_len=8192),
        model=ModelSpec(model_dim=4096, vocab_size=50304),
        blocks=(Block(repeat=32, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.667)),),
    ),
)
