"""minLSTM: an LSTM whose gates do not read the state.

Source     Feng et al., 2024, arXiv 2410.01201
Tuple      phi = id with q = k = 1, n = 1; A_t = f_t / (f_t + i_t); b_j = i_j / (f_j + i_j); eta_i = 1
State      1 per channel
Reference  minGRU_pytorch.minLSTM
Known for  as minGRU, with two gates; starts with a half-life of one or two steps
Sizes      the character language model of the paper (3 layers, width 384); `initial` holds the 5 and 95 % quantiles
Left out   the positive map g of the candidate state in the log-space version
"""

from designspace.candidate import Block, Candidate, ModelSpec, Norm
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling
from designspace.target import Target

mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="ratio", initial=(0.34, 0.66)),
    scaling=Scaling(base=1.0, gate="complement"),
    features=Features(map="ones"),
    heads=Heads(layout="channel", num_heads=384, state_dim=1, head_dim=1),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="minlstm",
        target=Target(seq_len=256),
        model=ModelSpec(model_dim=384, vocab_size=65),
        blocks=(Block(repeat=3, mixer=mixer, norm=Norm(kind="layer")),),
    ),
)
