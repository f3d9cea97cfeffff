"""LSTM: gates that read the previous output.

Source     Hochreiter, Schmidhuber, 1997, https://doi.org/10.1162/neco.1997.9.8.1735
Tuple      c_t = f_t c_(t-1) + i_t tanh(W x_t + U h_(t-1)), h_t = o_t tanh(c_t), all gates read h_(t-1)
State      2 per channel
Reference  torch.nn.LSTM
Known for  carried sequence learning for two decades; its forget gate (Gers et al., 2000) is the ancestor of every
           decay that reads the token
Sizes      two layers of our own choice
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.qlstm import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="nonlinear_memory",
    reason="gates and input read h_(t-1), so the state is a nonlinear function of past values; with gates of the token"
    " alone it is qLSTM.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="lstm",
        model=ModelSpec(model_dim=512, vocab_size=512),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
