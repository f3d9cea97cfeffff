"""Filters: what they say, and that nothing else can be said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from designspace.errors import SpecError
from search.expression import predicate

COLUMNS = ("name", "accuracy", "parameters", "low")
ROW = {"name": "fox", "accuracy": 0.9, "parameters": 1000, "low": None}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("accuracy > 0.8", True),
        ("0.8 < accuracy <= 0.9 and parameters == 1000", True),
        ("accuracy < 0.5 or name == 'fox'", True),
        ('not (name in ["fox", "linear"])', False),
        ("name not in ('linear',)", True),
        ("accuracy > -1", True),
        ("low > 0", False),
        ("low < 0", False),
        ("name > 3", False),
    ],
)
def test_filters(text: str, holds: bool) -> None:
    assert predicate(text, COLUMNS)(ROW) is holds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("acuracy > 1", "did you mean `accuracy`"),
        ("accuracy = 1", "equality is `==`"),
        ("accuracy", "compare columns"),
        ("", "cannot be read"),
        ("accuracy >", "cannot be read"),
        ("__import__('os').system('true') == 0", "cannot hold"),
        ("accuracy.real > 0", "cannot hold"),
        ("accuracy > 10 ** 10 ** 10", "cannot hold"),
        ("[x for x in ()] == 1", "cannot hold"),
        ("(lambda: 1)() == 1", "cannot hold"),
        ("accuracy is None", "cannot hold"),
        ("(accuracy := 2) > 1", "cannot hold"),
        ("name == b'x'", "cannot hold"),
        ("accuracy > 1" + " or accuracy > 1" * 500, "at most"),
        ("(" * 400 + "accuracy" + ")" * 400 + " > 1", "cannot be read"),
        ("-" * 900 + "1 < accuracy", "nested too deeply"),
    ],
)
def test_anything_else_is_refused_with_a_remedy(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words.replace("`", ".").replace("(", r"\(")):
        predicate(text, COLUMNS)(ROW)


@given(st.text(max_size=60))
def test_no_text_raises_anything_but_a_spec_error(text: str) -> None:
    try:
        predicate(text, COLUMNS)(ROW)
    except SpecError:
        return
