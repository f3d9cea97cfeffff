"""sLSTM without recurrent gates: the linear part of xLSTM's scalar cell.

Source     Beck et al., 2024, arXiv 2405.04517
Tuple      phi = id with q = k = 1, n = 1; A_t = sigmoid(f_t); b_j = exp(i_j); eta_i = row sum; v = tanh(z), output
           sigmoid(o)
State      2 per channel and a running maximum
Reference  the recurrence of the paper, equations 8 to 17, with R = 0
Known for  the exponential gate may overwrite everything stored so far; with R = 0 it is a gated mean of the past and
           runs as a scan
Sizes      two layers of our own choice; forget biases from 5 down to -7 as xlstm initialises them
Left out   the recurrent matrices R (catalogue entry slstm)
"""

from designspace.candidate import Block, Candidate, ModelSpec, Norm
from designspace.decay import Decay
from designspace.entry import Entry
from designspace.execution import Execution
from designspace.features import Features
from designspace.heads import Heads
from designspace.io import InputOutput
from designspace.mixer import MixerSpec
from designspace.normalization import Normalization
from designspace.scaling import Scaling

mixer = MixerSpec(
    decay=Decay(granularity="scalar", map="sigmoid", initial=(0.0009, 0.9933)),
    scaling=Scaling(base=1.0, gate="exp"),
    normalization=Normalization(kind="sum"),
    features=Features(map="ones"),
    heads=Heads(layout="channel", num_heads=512, state_dim=1, head_dim=1),
    io=InputOutput(value_activation="tanh", gate="sigmoid"),
    execution=Execution(stabiliser="running_max"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="slstm_R0",
        model=ModelSpec(model_dim=512),
        blocks=(Block(repeat=2, mixer=mixer, norm=Norm(kind="layer")),),
    ),
)
