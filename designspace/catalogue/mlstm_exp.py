"""mLSTM: matrix memory with an exponential input gate.

Source     Beck et al., 2024, arXiv 2405.04517
Tuple      phi = id; A_t = sigmoid(f_t); b_j = exp(i_j) n^-1/2; eta_i = max(|row sum|, 1), then layer norm per head
State      n p + n + 1 per head
Reference  mlstm_kernels native_stablef.mlstm_parallel_fw; transformers xlstm
Known for  revises what it stored through the exponential gate; needs the running maximum and eta
Sizes      xLSTM 7B (arXiv 2503.13427): 32 layers, width 4096; forget bias 3 to 6, input bias -10, which the cap of 15
           turns into 2.96 to 5.70 and -8.74
Left out   the same cap on the forget logit
Also       mlstm
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.execution import Execution
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.scaling import Scaling
from designspace.target import Target

mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="sigmoid", initial=(0.951, 0.9967)),
    scaling=Scaling(gate="exp", cap=15.0, initial=(1.6e-4, 1.6e-4)),
    normalization=Normalization(kind="max_abs_sum_1", eps=1e-6, eps_inside=True),
    heads=Heads(num_heads=8, state_dim=256, head_dim=512),
    io=InputOutput(output_norm="head_ln", norm_eps=1e-6, gate="sigmoid"),
    execution=Execution(stabiliser="running_max"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="mlstm_exp",
        target=Target(seq_len=8192),
        model=ModelSpec(model_dim=4096, vocab_size=50304),
        blocks=(Block(repeat=32, mixer=mixer, channel_mixer=ChannelMixer(kind="swiglu", ratio=2.667)),),
    ),
)
