"""qLSTM: an LSTM without hidden-state gates, as a gated linear recurrence.

Source     Sieber et al., 2024, arXiv 2405.15731
Tuple      phi = id with q = k = 1, n = 1; A_t = sigmoid(f_t); b_j = 1; eta_i = 1; v = sigmoid(i) conv(x), output
           sigmoid(o)
State      1 per channel, and 3 inputs of the short convolution
Reference  the formula of the paper (the published scan is CUDA)
Known for  reads classical recurrent networks as one more dynamical system, and improves them with the gates of Mamba
Sizes      two layers of our own choice; the gate starts at sigmoid of the convolved input, of standard deviation
           0.65; `initial` holds the 5 and 95 % quantiles
Left out   a GELU gate around the layer
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling

mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="sigmoid", initial=(0.26, 0.74)),
    scaling=Scaling(base=1.0),
    features=Features(map="ones"),
    heads=Heads(layout="channel", num_heads=512, state_dim=1, head_dim=1),
    io=InputOutput(short_conv=ShortConv(width=4, on=("v",)), value_gate="sigmoid", gate="sigmoid"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="qlstm",
        model=ModelSpec(model_dim=512),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
