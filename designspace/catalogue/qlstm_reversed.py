"""qLSTM with the reversed gate: its decay is that of Mamba.

Source     Sieber et al., 2024, arXiv 2405.15731
Tuple      phi = id with q = k = 1, n = 1; A_t = sigmoid(-f_t)^relu(alpha) = exp(-A softplus(f_t)); b_j = 1; eta_i =
           1; v = sigmoid(i) conv(x), output sigmoid(o)
State      1 per channel, and 3 inputs of the short convolution
Reference  the formula of the paper (the published scan is CUDA)
Known for  the swap of one gate for another that the paper uses to carry an idea from state space models to recurrent
           networks
Sizes      two layers of our own choice; the gate starts at sigmoid of the convolved input, of standard deviation 0.65;
           `initial` holds the 5 and 95 % quantiles
Left out   alpha is one number for the layer there, which the ReLU can set to 0 (no decay); A is e^a > 0 per channel
           here; a GELU gate around the layer
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
    decay=Decay(granularity="scalar", map="exp_softplus", initial=(0.26, 0.74)),
    scaling=Scaling(base=1.0),
    features=Features(map="ones"),
    heads=Heads(layout="channel", num_heads=512, state_dim=1, head_dim=1),
    io=InputOutput(short_conv=ShortConv(width=4, on=("v",)), value_gate="sigmoid", gate="sigmoid"),
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="qlstm_reversed",
        model=ModelSpec(model_dim=512),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
