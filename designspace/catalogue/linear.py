"""Plain linear attention: no feature map, no normalization, no decay.

Source     Schlag, Irie, Schmidhuber, 2021, arXiv 2102.11174
Tuple      phi = id; A_t = I; b_j = 1; eta_i = 1
State      n p per head
Reference  fla.ops.linear_attn.naive.naive_recurrent_linear_attn
Known for  the fast weight programmer (Schmidhuber 1992) that every linear recurrence extends; its output grows with
           the length and it is blind to order
Sizes      two layers of our own choice
Also       linear_attention
"""

from designspace.candidate import Block, Candidate, ModelSpec
from designspace.entry import Entry
from designspace.mixer import MixerSpec
from designspace.scaling import Scaling

mixer = MixerSpec(scaling=Scaling(base=1.0))
entry = Entry.described(
    __doc__,
    Candidate(
        name="linear",
        model=ModelSpec(model_dim=256),
        blocks=(Block(repeat=2, mixer=mixer),),
    ),
)
