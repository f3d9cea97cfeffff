"""sLSTM with recurrent gates.

Source     Beck et al., 2024, arXiv 2405.04517
Tuple      c_t = f_t c_(t-1) + i_t tanh(z_t), n_t = f_t n_(t-1) + i_t, y = o c / n, with i = exp(...) and all
           pre-activations + R h_(t-1)
State      3 per channel
Reference  xlstm sLSTMCell (vanilla backend)
Known for  the block of xLSTM that solves parity and other state tracking which its matrix memory cannot
Sizes      two layers of our own choice
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.slstm_R0 import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="nonlinear_memory",
    reason="the recurrent matrices R feed h_(t-1) into the gates; with R = 0 it is the point slstm_R0.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="slstm",
        model=ModelSpec(model_dim=512, vocab_size=512),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
