"""Protocols: what they set on a candidate, and what they leave alone."""

import pytest

from designspace import catalogue
from designspace.candidate import Block, Candidate, Norm, Parallel, single
from designspace.decay import Decay
from designspace.errors import SpecError
from designspace.execution import Execution
from designspace.heads import Heads
from designspace.io import InputOutput, ShortConv
from designspace.mixer import MixerSpec
from designspace.readout import Exponential
from designspace.shear import Shear
from designspace.units import discover
from workers.protocol import MAD, PROTOCOLS, TINY, named
from workers.task import Task

GATED = MixerSpec(decay=Decay(granularity="scalar", initial=(0.9, 0.99)), heads=Heads(num_heads=8, state_dim=128))
SOFTMAX = MixerSpec(readout=Exponential(kind="exponential"))


def adapt(candidate: Candidate) -> Candidate:
    return TINY.adapt(candidate, vocab_size=16, seq_len=64)


def test_sizes_are_set_and_the_tuple_is_kept():
    adapted = adapt(single(GATED, depth=5))
    mixer = adapted.blocks[0].mixers[0]
    assert (adapted.model.model_dim, adapted.model.vocab_size, adapted.target.seq_len) == (64, 16, 64)
    assert adapted.num_layers == 2
    assert mixer.heads == Heads(num_heads=4, state_dim=16, head_dim=16)
    kept = {"heads", "io"}
    assert mixer.model_dump(exclude=kept) == GATED.model_dump(exclude=kept)


def test_norms_skips_and_channel_mixers_are_kept():
    block = Block(mixer=GATED, norm=Norm(kind="layer", placement="post"), repeat=7)
    adapted = adapt(Candidate(blocks=(block,)))
    assert adapted.blocks[0].model_dump(exclude={"mixer", "repeat"}) == block.model_dump(exclude={"mixer", "repeat"})


def test_short_convolution_is_given_where_there_is_none():
    assert adapt(single(GATED)).blocks[0].mixers[0].io.short_conv == ShortConv(width=4, on=("q", "k", "v"))
    own = GATED.model_copy(update={"io": InputOutput(short_conv=ShortConv(width=3, on=("v",)))})
    assert adapt(single(own)).blocks[0].mixers[0].io.short_conv == ShortConv(width=3, on=("v",))
    published = MAD.adapt(single(GATED), vocab_size=16, seq_len=128)
    assert published.blocks[0].mixers[0].io.short_conv == ShortConv()


def test_hybrid_keeps_each_distinct_block_once_in_order():
    attention, gated = Block(mixer=SOFTMAX), Block(mixer=GATED)
    adapted = adapt(Candidate(blocks=(gated.model_copy(update={"repeat": 3}), attention, gated, attention)))
    assert [block.repeat for block in adapted.blocks] == [1, 1]
    assert [block.mixers[0].readout.kind for block in adapted.blocks] == ["identity", "exponential"]


def test_parallel_branches_are_all_resized():
    block = Block(mixer=Parallel(parallel=(SOFTMAX, GATED), merge="mean"))
    adapted = adapt(Candidate(blocks=(block,))).blocks[0]
    assert isinstance(adapted.mixer, Parallel)
    assert adapted.mixer.merge == "mean"
    assert {mixer.heads.state_dim for mixer in adapted.mixers} == {16}


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        (Heads(num_heads=8, kv_groups=2), Heads(num_heads=4, state_dim=16, head_dim=16, kv_groups=1)),
        (Heads(num_heads=8, kv_groups=4), Heads(num_heads=4, state_dim=16, head_dim=16, kv_groups=2)),
        (Heads(num_heads=6, kv_groups=2), Heads(num_heads=4, state_dim=16, head_dim=16, kv_groups=1)),
        (Heads(num_heads=8, kv_groups=8), Heads(num_heads=4, state_dim=16, head_dim=16)),
        (
            Heads(layout="channel", num_heads=256, state_dim=64, head_dim=1, kv_groups=1, shared="qk"),
            Heads(layout="channel", num_heads=64, state_dim=4, head_dim=1, kv_groups=1, shared="qk"),
        ),
        (
            Heads(layout="channel", num_heads=256, state_dim=1, head_dim=1),
            Heads(layout="channel", num_heads=64, state_dim=1, head_dim=1),
        ),
    ],
)
def test_heads_keep_their_layout_and_sharing(heads, expected):
    assert adapt(single(MixerSpec(heads=heads))).blocks[0].mixers[0].heads == expected


def test_both_layouts_hold_the_same_state_in_mad():
    channel = MixerSpec(heads=Heads(layout="channel", num_heads=256, state_dim=64, head_dim=1))
    sizes = []
    for mixer in (MixerSpec(), channel):
        heads = MAD.adapt(single(mixer), vocab_size=16, seq_len=128).blocks[0].mixers[0].heads
        sizes.append(2 * heads.num_heads * heads.state_dim * heads.head_dim)
    assert sizes == [4096, 4096]


def test_channel_layouts_run_as_a_recurrence_unless_told_otherwise():
    heads = Heads(layout="channel", num_heads=256, state_dim=64, head_dim=1)
    asked = MixerSpec(heads=heads, execution=Execution(form="quadratic"))
    forms = [
        adapt(single(mixer)).blocks[0].mixers[0].execution.form for mixer in (MixerSpec(heads=heads), asked, GATED)
    ]
    assert forms == ["recurrent", "quadratic", "auto"]


def test_slopes_are_thinned_to_the_new_heads():
    slopes = tuple(2.0**-h for h in range(1, 9))
    mixer = MixerSpec(
        readout=Exponential(kind="exponential"), shear=Shear(source="constant", slopes=slopes), heads=Heads(num_heads=8)
    )
    assert adapt(single(mixer)).blocks[0].mixers[0].shear.slopes == slopes[::2]


def test_adapting_twice_changes_nothing():
    once = adapt(single(GATED, depth=3))
    assert adapt(once) == once


def test_mad_has_its_published_number_of_steps():
    tasks = discover("workers.tasks", "task", Task)
    assert MAD.num_steps(tasks["in_context_recall"]) == 20_000
    assert MAD.num_steps(tasks["memorization"]) == 400
    assert MAD.train_size(tasks["memorization"], 400) == 256


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_protocol_says_how_long_in_one_way(name):
    protocol = named(name)
    assert (protocol.steps is None) != (protocol.epochs is None)


def test_unknown_protocol_names_the_choices():
    with pytest.raises(SpecError, match="tiny, mad"):
        named("huge")


@pytest.mark.parametrize("name", ["transnormer", "lightning_minimax", "diff"])
def test_of_layers_that_differ_in_numbers_alone_the_first_and_the_last_train(name: str) -> None:
    before = catalogue.get(name).candidate
    after = TINY.adapt(before, vocab_size=16, seq_len=32)
    softmax = [block for block in after.blocks if block.mixers[0].heads.groups < TINY.sizes.num_heads]
    assert len(after.blocks) == 2 + len(softmax)
    assert len(softmax) == (name == "lightning_minimax")
    ends = [one.mixers[0].decay.constant_range for one in (before.blocks[0], after.blocks[0])]
    assert ends[0] == ends[1]


def test_latent_attention_trains_behind_a_convolution_like_every_other_mixer() -> None:
    mixer = TINY.adapt(catalogue.get("mla").candidate, vocab_size=16, seq_len=32).blocks[0].mixers[0]
    assert mixer.heads.latent_dim is not None
    assert mixer.io.short_conv.on == ("q", "k", "v")
