"""RetNet: constant decay per head with a rotation.

Source     Sun et al., 2023, arXiv 2307.08621
Tuple      phi = id; A_t = (1 - 2^(-5-h)) R(-theta^(-2m/n)), h = 0..H-1; b_j = n^-1/2; eta_i = 1, then RMS per head
State      n p per head
Reference  fla.ops.retention.naive.naive_retention
Known for  the parallel, recurrent and chunkwise forms of one mixer; a decay that cannot react to the input is weak at
           recall
Sizes      the 1.3B model of the paper (24 layers, width 2048, keys of 256 and values of 512 per head)
Left out   the paper also divides by sqrt(sum of decays) and max(|row sum|, 1): void under the head norm up to its eps;
           the angles are those of fla, the published code spaces them to end at 1/theta exactly
"""

from designspace.candidate import Block, Candidate, ChannelMixer, ModelSpec, Norm
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.rotation import Rotation

HEADS = 8
mixer = MixerSpec(
    decay=Decay(
        granularity="scalar",
        source="constant",
        map="fixed",
        range=(0.96875, 1.0),
        initial=(0.96875, 1.0 - 2.0 ** (-4 - HEADS)),
    ),
    rotation=Rotation(source="constant"),
    heads=Heads(num_heads=HEADS, state_dim=256, head_dim=512),
    io=InputOutput(output_norm="head_rms", gate="silu"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="retnet",
        model=ModelSpec(model_dim=2048, vocab_size=32000),
        blocks=(
            Block(repeat=24, mixer=mixer, norm=Norm(kind="layer"), channel_mixer=ChannelMixer(kind="mlp", ratio=2.0)),
        ),
    ),
)
