"""B57: causal linear attention by prefix sums, with a state for every token: L n d_v numbers."""

from torch import Tensor

from designspace.mixer import MixerSpec
from tests.cases.faulty import Faulty
from workers import rows, terms
from workers.signals import Signals


def outputs(spec: MixerSpec, signals: Signals) -> Tensor:
    """The sum of k v^T up to every token, read by the queries: the right function."""
    written = terms.written_key(spec, signals)[..., :, None] * rows.summed_columns(spec, signals)[..., None, :]
    read = terms.scaled_query(spec, signals)[..., None, :] @ written.cumsum(1)
    return rows.outputs_of_sums(spec, signals, read.squeeze(-2))


faulty = Faulty(
    record="B57",
    title="prefix sums keep a state for every token",
    spec="catalogue:linear_elu_norm",
    outputs=outputs,
    quantity="states_kept_per_token",
    probes=("intermediates", "forms"),
)
