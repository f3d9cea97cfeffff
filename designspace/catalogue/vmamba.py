"""VMamba: an image read in four orders by four selective state space mixers.

Source     Liu et al., 2024, arXiv 2401.10166
Tuple      four points phi = id, A_t = exp(-A dt_t) diagonal, b_j = dt_j, eta_i = 1, D skip, on the rows, the columns
           and both backwards; outputs added
State      n = 16 per channel and order
Reference  transformers mamba_selective_scan on permuted sequences
Known for  a global receptive field for images at linear cost; every token sees every other through one of the scans,
           so it is not causal
Sizes      the third stage of VMamba-T: 9 layers, 14 x 14 tokens of width 384
Left out   the two-dimensional convolution before the scans, which they share; layer norm and gate after the sum
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.composition import Order, Parallel
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.support import Support
from designspace.target import Target

ORDERS: tuple[Order, ...] = ("forward", "columns", "backward", "columns_backward")
mixer = MixerSpec(
    decay=Decay(granularity="diagonal", map="exp_softplus", initial=(0.2019, 0.999)),
    scaling=Scaling(base=1.0, gate="dt", initial=(0.001, 0.1)),
    support=Support(diagonal="D"),
    heads=Heads(layout="channel", num_heads=768, state_dim=16, head_dim=1, kv_groups=1, shared="qk"),
    io=InputOutput(value_activation="silu"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="vmamba",
        target=Target(seq_len=196),
        model=ModelSpec(model_dim=384, vocab_size=1000),
        blocks=(
            Block(
                repeat=9,
                mixer=Parallel(parallel=(mixer,) * 4, orders=ORDERS, row_length=14),
                norm=Norm(kind="layer"),
                channel_mixer=ChannelMixer(kind="mlp", ratio=4.0),
            ),
        ),
    ),
)
