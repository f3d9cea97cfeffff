"""GRU: gates that read the previous state.

Source     Cho et al., 2014, arXiv 1406.1078
Tuple      h_t = (1 - z_t) h_(t-1) + z_t tanh(W x_t + U (r_t h_(t-1))) with z, r = sigmoid of x_t and h_(t-1)
State      1 per channel
Reference  torch.nn.GRU
Known for  the recurrent network of machine translation before attention; tracks state that no linear recurrence can
Sizes      two layers of our own choice
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.catalogue.mingru import mixer as nearest
from designspace.entry import Entry
from designspace.outside import Outside

mixer = Outside(
    outside="nonlinear_memory",
    reason="gates and candidate read h_(t-1), so the state is a nonlinear function of past values and no product of"
    " matrices A_t that come from tokens.",
    nearest=nearest,
)
entry = Entry.described(
    __doc__,
    Candidate(
        name="gru",
        model=ModelSpec(model_dim=512, vocab_size=512),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
