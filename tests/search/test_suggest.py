"""The adviser: proposals repeat, refusals teach, and a rebuilt adviser goes on where the old one was."""

from collections import Counter

import pytest
from fabricate import space

from designspace import units
from search.sampler import Sampler
from search.space import SAMPLERS
from search.suggest import HISTORY, STREAK, Adviser, Past, Point

NAMES = units.names(SAMPLERS)
BASE = "blocks[0].mixer.scaling.base"


def adviser(name: str, **settings: object) -> Adviser:
    return Adviser(space(sampler={"name": name, "seed": 3}, **settings))


def is_unscaled(point: Point) -> bool:
    return bool(point.parameters[BASE] == "1")


def run(one: Adviser, asks: int) -> list[Point]:
    """Refuse every unscaled point and reward wide keys."""
    points = []
    for number in range(asks):
        point = one.ask(number)
        points.append(point)
        if is_unscaled(point):
            one.tell(point.trial, "rejected")
        else:
            values = [float(point.parameters["blocks[0].mixer.io.short_conv.width"])]
            one.tell(point.trial, "measured", values * len(one.space.settings.objectives))
    return points


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_proposals(name: str) -> None:
    first, again = run(adviser(name), 30), run(adviser(name), 30)
    assert [point.parameters for point in first] == [point.parameters for point in again]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "random"])
def test_refusals_teach_the_sampler_to_avoid_them(name: str) -> None:
    asks = 120
    learned = sum(map(is_unscaled, run(adviser(name), asks)[asks // 2 :]))
    blind = sum(map(is_unscaled, run(adviser("random"), asks)[asks // 2 :]))
    assert learned < blind / 2


@pytest.mark.parametrize("name", NAMES)
def test_a_rebuilt_adviser_proposes_what_the_old_one_would(name: str) -> None:
    old, new = adviser(name), adviser(name)
    points = run(old, 45)
    history = [
        Past(number, point.parameters, point.distributions, "rejected")
        if is_unscaled(point)
        else Past(
            number,
            point.parameters,
            point.distributions,
            "measured",
            (float(point.parameters["blocks[0].mixer.io.short_conv.width"]),),
        )
        for number, point in enumerate(points)
    ]
    assert new.rebuild(history) == {}
    assert len(new.study.trials) == 45
    if name != "nsga2":  # its generations are rebuilt by order, which need not be how they came about
        assert new.ask(45).parameters == old.ask(45).parameters


def test_a_rebuilt_nsga2_still_breeds_from_its_best() -> None:
    one = adviser("nsga2")
    points = run(one, 60)
    history = [Past(n, p.parameters, p.distributions, "measured", (float(n),)) for n, p in enumerate(points)]
    one.rebuild(history)
    parents = one.sampler.make(0).get_parent_population(one.study, 3)  # type: ignore[attr-defined]
    assert {parent.values[0] for parent in parents} == {float(n) for n in range(40, 60)}


def test_a_point_still_in_training_can_be_told_after_a_rebuild() -> None:
    one = adviser("tpe")
    point = one.ask(0)
    trials = one.rebuild([Past(0, point.parameters, point.distributions, None)])
    one.tell(trials[0], "measured", [0.7])
    assert one.study.best_value == 0.7
    assert one.study.trials[0].constraints == {"rejected": 0.0}


def test_the_history_is_capped_with_the_best_and_all_in_training_kept() -> None:
    one = adviser("tpe")
    point = one.ask(0)
    outcomes = [None if number % 100 == 0 else "measured" for number in range(2 * HISTORY)]
    history = [
        Past(n, point.parameters, point.distributions, outcome, (float(-n),) if outcome else None)
        for n, outcome in enumerate(outcomes)
    ]
    assert len(one.rebuild(history)) == outcomes.count(None)
    assert len(one.study.trials) == HISTORY
    assert one.study.best_value == -1.0


def test_several_objectives_are_told_in_their_directions() -> None:
    one = adviser("nsga2", objectives=["accuracy", "state_bytes"])
    assert [direction.name for direction in one.study.directions] == ["MAXIMIZE", "MINIMIZE"]
    run(one, 5)


def test_after_a_streak_of_known_points_draws_are_random() -> None:
    one = adviser("tpe")
    run(one, 40)
    for _ in range(STREAK):
        one.note(is_new=False)
    seen = Counter(str(one.ask(100 + number).parameters["blocks[0].mixer.readout"]) for number in range(60))
    assert min(seen.values()) > 10


def test_a_label_names_what_was_chosen() -> None:
    point = adviser("random").ask(0)
    assert point.label.startswith("readout=")
    assert f"base={point.parameters[BASE]}" in point.label


@pytest.mark.parametrize("name", NAMES)
def test_every_sampler_is_a_unit(name: str) -> None:
    unit = units.load_unit(SAMPLERS, name, "sampler", Sampler)
    assert unit.title
    assert unit.make(0) is not unit.make(0)
