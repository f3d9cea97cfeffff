"""Filter expressions such as `parameters < 50000 and protocol == "tiny"`: parsed, checked, never evaluated as code.

Known are comparisons (also chained, and `in`) of columns, numbers and strings, joined by and, or, not and parentheses.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from designspace.errors import SpecError
from designspace.events import nearest, quoted

MAX_CHARACTERS = 1000
EXAMPLE = "`accuracy > 0.9 and parameters < 50000`"

Row = Mapping[str, Any]
Test = Callable[[Row], Any]
Comparison = Callable[[Any, Any], bool]

COMPARISONS: dict[type[ast.cmpop], Comparison] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}


def predicate(text: str, columns: Sequence[str]) -> Callable[[Row], bool]:
    """A test of rows. A comparison with an empty cell, or of a number with a text, is false.

    Args:
        text: the expression.
        columns: the names it may use.

    Raises:
        SpecError: it is no expression, uses an unknown column, or anything beyond comparisons.
    """
    if len(text) > MAX_CHARACTERS:
        raise SpecError(f"The filter has {len(text)} characters; at most {MAX_CHARACTERS} are read.")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        hint = "; equality is `==`" if "=" in text and "==" not in text else ""
        raise SpecError(f"The filter {quoted(text)} cannot be read{hint}; write it like {EXAMPLE}.") from error
    try:
        test = _compiled(tree.body, frozenset(columns))
    except RecursionError as error:
        raise SpecError(f"The filter {quoted(text)} is nested too deeply; write it like {EXAMPLE}.") from error
    return lambda row: bool(test(row))


def _compiled(node: ast.expr, columns: frozenset[str]) -> Test:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            tests = [_compiled(value, columns) for value in values]
            return lambda row: all(test(row) for test in tests)
        case ast.BoolOp(op=ast.Or(), values=values):
            tests = [_compiled(value, columns) for value in values]
            return lambda row: any(test(row) for test in tests)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _compiled(operand, columns)
            return lambda row: not inner(row)
        case ast.Compare():
            return _comparison(node, columns)
        case _:
            raise _refused(node)


def _comparison(node: ast.Compare, columns: frozenset[str]) -> Test:
    operands = [_operand(operand, columns) for operand in (node.left, *node.comparators)]
    operators = [COMPARISONS.get(type(one)) for one in node.ops]
    known = [one for one in operators if one is not None]
    if len(known) != len(operators):
        raise _refused(node)

    def test(row: Row) -> bool:
        values = [operand(row) for operand in operands]
        pairs = zip(known, values[:-1], values[1:], strict=True)
        try:
            return None not in values and all(compare(left, right) for compare, left, right in pairs)
        except TypeError:
            return False

    return test


def _operand(node: ast.expr, columns: frozenset[str]) -> Test:
    match node:
        case ast.Name(id=name) if name in columns:
            return lambda row: row[name]
        case ast.Name(id=name):
            close = nearest(name, columns)
            remedy = f"did you mean `{close}`?" if close else f"columns are {', '.join(sorted(columns))}."
            raise SpecError(f"The filter names the unknown column {quoted(name)}; {remedy}")
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return lambda _: value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return lambda _: -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            values = [_operand(item, columns) for item in items]
            return lambda row: [value(row) for value in values]
        case _:
            raise _refused(node)


def _refused(node: ast.expr) -> SpecError:
    return SpecError(f"The filter cannot hold {quoted(ast.unparse(node))}; compare columns, as in {EXAMPLE}.")
