"""Small breakages of the logic of a module, one at a time: every comparison, condition, operand, number and answer.

A mutant of a function is the code object of the broken function; one of a constant is its broken value. Nothing is
written to disk, and the module is not imported again: `applied` puts the code or the value into the live module.
"""

import ast
import copy
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from checkers.severity import TABLE, Kind

SHIFT = 1.1  # factor on a number with a fraction; an integer is raised by 1
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ANSWERS = {"pass": "fail", "fail": "pass", "unknown": "pass", "inapplicable": "pass"}
NEVER = ast.parse("False", mode="eval").body
PACKAGE = "checkers"

Change = Callable[[Any], None]  # breaks the copy of a node in place


@dataclass(frozen=True)
class Mutant:
    """One breakage.

    Attributes:
        module: dotted name.
        function: qualified name, or the name of a constant.
        change: what was written, and what stands there now.
        line: where, in the file.
        code: of the broken function.
        value: of the broken constant.
    """

    module: str
    function: str
    change: str
    line: int
    code: CodeType | None = None
    value: Any = None

    @property
    def name(self) -> str:
        """Place and change, without the line, so that it stays when lines move."""
        return f"{self.module} {self.function}: {self.change}"


def mutants(module: ModuleType) -> list[Mutant]:
    """Every mutant of the functions and numeric constants of the module."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    found: list[Mutant] = []
    for statement in ast.parse(source).body:
        match statement:
            case ast.FunctionDef() | ast.ClassDef():
                found += _of_functions(module, statement)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if name.isupper():
                found += _of_constant(module, name, statement)
    return found


def _of_functions(module: ModuleType, statement: ast.FunctionDef | ast.ClassDef) -> Iterator[Mutant]:
    """The mutants of a function, or of the methods of a class."""
    functions = (
        [statement]
        if isinstance(statement, ast.FunctionDef)
        else [one for one in statement.body if isinstance(one, ast.FunctionDef)]
    )
    prefix = "" if isinstance(statement, ast.FunctionDef) else f"{statement.name}."
    seen: dict[str, int] = {}
    for function in functions:
        name = prefix + function.name
        for line, change, broken in _broken(function):
            code = _compiled(module, statement, function, broken, name)
            count = seen[name + change] = seen.get(name + change, 0) + 1
            text = change if count == 1 else f"{change} ({count})"
            yield Mutant(module.__name__, name, text, line, code=code)


def _compiled(
    module: ModuleType, statement: ast.stmt, function: ast.FunctionDef, broken: ast.FunctionDef, name: str
) -> CodeType:
    top: ast.stmt = broken
    if isinstance(statement, ast.ClassDef):
        top = copy.copy(statement)
        top.body = [broken if one is function else one for one in statement.body]
    tree = ast.fix_missing_locations(ast.Module(body=[top], type_ignores=[]))
    found = _code_named(compile(tree, str(module.__file__), "exec"), name)
    if found is None:
        raise ValueError(f"no code of `{name}` in {module.__name__}.")
    return found


def _code_named(code: CodeType, name: str) -> CodeType | None:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_qualname == name:
                return one
            if (deeper := _code_named(one, name)) is not None:
                return deeper
    return None


def _broken(function: ast.FunctionDef) -> Iterator[tuple[int, str, ast.FunctionDef]]:
    """Line, change, and a broken copy of the function, for every change."""
    logic = _logic(function)
    conditions = {id(one) for node in logic for one in _conditions(node)}
    for index, node in enumerate(logic):
        for before, change in _changes(node, is_condition=id(node) in conditions):
            made = copy.deepcopy(function)
            target = _logic(made)[index]
            change(target)
            yield getattr(node, "lineno", function.lineno), f"{before} -> {_text(target)}", made


def _logic(function: ast.FunctionDef) -> list[ast.AST]:
    """Nodes of the body in a fixed order, without annotations, docstrings and texts."""
    found: list[ast.AST] = []

    def visit(node: ast.AST) -> None:
        found.append(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "format_spec"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child)

    for statement in function.body:
        visit(statement)
    return found


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a node that are only true or false; `x or default` elsewhere is a value."""
    tests: list[ast.expr] = []
    match node:
        case ast.If() | ast.IfExp() | ast.While():
            tests = [node.test]
        case ast.comprehension():
            tests = list(node.ifs)
        case ast.match_case(guard=ast.expr() as guard):
            tests = [guard]
        case ast.UnaryOp(op=ast.Not()):
            tests = [node.operand]
    while tests:
        test = tests.pop()
        yield test
        if isinstance(test, ast.BoolOp):
            tests += test.values


def _text(node: ast.AST) -> str:
    match node:
        case ast.match_case():
            return f"case {ast.unparse(node.pattern)}" + (f" if {ast.unparse(node.guard)}" if node.guard else "")
        case ast.If() | ast.While():
            return f"if {ast.unparse(node.test)}"
        case ast.comprehension():
            return " ".join(f"if {ast.unparse(one)}" for one in node.ifs) or "no condition"
        case ast.keyword():
            return f"{node.arg}={ast.unparse(node.value)}"
        case ast.BoolOp(values=[first, second]) if first is second:
            return ast.unparse(first)
        case _:
            return ast.unparse(node)


def _changes(node: ast.AST, *, is_condition: bool) -> Iterator[tuple[str, Change]]:
    """What was written at the node, and each change of it."""
    for change in _of_node(node, is_condition=is_condition):
        yield _text(node), change


def _of_node(node: ast.AST, *, is_condition: bool) -> Iterator[Change]:
    match node:
        case ast.Compare():
            yield from _of_compare(node)
        case ast.BoolOp():
            yield from (_without(index) for index in range(len(node.values)))
            for index, one in enumerate(node.values):
                if is_condition and not _is_covered(one):
                    yield _negated_value(index)
        case ast.If() | ast.IfExp() | ast.While() if not _is_covered(node.test):
            yield _negate_test
        case ast.comprehension():
            for index, one in enumerate(node.ifs):
                yield _unfiltered(index)
                if not _is_covered(one):
                    yield _negated_filter(index)
        case ast.match_case():
            yield from _of_case(node)
        case ast.Constant():
            yield from _of_constant_node(node)
        case ast.keyword(arg="lowered"):
            yield _negate_keyword
        case ast.Attribute(value=ast.Name(id="Kind")):
            yield _other_kind


def _is_covered(test: ast.expr) -> bool:
    """The negation is a mutant of the expression itself."""
    return isinstance(test, ast.Compare | ast.BoolOp) or (
        isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Compare)
    )


def _of_compare(node: ast.Compare) -> Iterator[Change]:
    for index, operator in enumerate(node.ops):
        for other in COMPARISONS[type(operator)]:
            yield _compared(index, other)
        if isinstance(operator, ast.In | ast.NotIn):
            items = node.comparators[index]
            if isinstance(items, ast.Tuple | ast.Set | ast.List) and len(items.elts) > 1:
                yield from (_without_item(index, item) for item in range(len(items.elts)))


def _compared(index: int, other: type[ast.cmpop]) -> Change:
    def change(node: ast.Compare) -> None:
        node.ops[index] = other()

    return change


def _without_item(index: int, item: int) -> Change:
    def change(node: ast.Compare) -> None:
        del node.comparators[index].elts[item]  # type: ignore[attr-defined]

    return change


def _without(index: int) -> Change:
    """One operand left out; a lone one is doubled, since syntax asks for two."""

    def change(node: ast.BoolOp) -> None:
        del node.values[index]
        if len(node.values) == 1:
            node.values *= 2

    return change


def _negated(expression: ast.expr) -> ast.expr:
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.Not):
        return expression.operand
    return ast.UnaryOp(op=ast.Not(), operand=expression)


def _negated_value(index: int) -> Change:
    def change(node: ast.BoolOp) -> None:
        node.values[index] = _negated(node.values[index])

    return change


def _negate_test(node: ast.If) -> None:
    node.test = _negated(node.test)


def _negate_keyword(node: ast.keyword) -> None:
    node.value = _negated(node.value)


def _unfiltered(index: int) -> Change:
    def change(node: ast.comprehension) -> None:
        del node.ifs[index]

    return change


def _negated_filter(index: int) -> Change:
    def change(node: ast.comprehension) -> None:
        node.ifs[index] = _negated(node.ifs[index])

    return change


def _of_case(node: ast.match_case) -> Iterator[Change]:
    """A case that is never taken, with one of its alternatives less, or without its guard."""
    is_wildcard = isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None
    if not is_wildcard or node.guard is not None:
        yield _never_taken
    if node.guard is not None:
        yield _unguarded
        if not _is_covered(node.guard):
            yield _negate_guard
    if isinstance(node.pattern, ast.MatchOr):
        yield from (_without_alternative(index) for index in range(len(node.pattern.patterns)))


def _never_taken(node: ast.match_case) -> None:
    node.guard = copy.deepcopy(NEVER)


def _unguarded(node: ast.match_case) -> None:
    node.guard = None


def _negate_guard(node: ast.match_case) -> None:
    if node.guard is not None:
        node.guard = _negated(node.guard)


def _without_alternative(index: int) -> Change:
    def change(node: ast.match_case) -> None:
        pattern = node.pattern
        if isinstance(pattern, ast.MatchOr):
            del pattern.patterns[index]
            node.pattern = pattern if len(pattern.patterns) > 1 else pattern.patterns[0]

    return change


def _of_constant_node(node: ast.Constant) -> Iterator[Change]:
    match node.value:
        case bool():
            yield _flip
        case int() | float():
            yield _shift
        case str() as text if text in ANSWERS:
            yield _other_answer


def _flip(node: ast.Constant) -> None:
    node.value = not node.value


def _shift(node: ast.Constant) -> None:
    node.value = shifted(node.value)


def shifted(value: Any) -> Any:
    """Another number close by."""
    if isinstance(value, int):
        return value + 1
    return value * SHIFT if value else SHIFT - 1.0


def _other_answer(node: ast.Constant) -> None:
    node.value = ANSWERS[str(node.value)]


def _other_kind(node: ast.Attribute) -> None:
    """A note, or where the table says the same of both, what is broken."""
    like_a_note = TABLE[Kind[node.attr]] == TABLE[Kind.NOTE]
    node.attr = Kind.BROKEN.name if like_a_note else Kind.NOTE.name


def _of_constant(module: ModuleType, name: str, statement: ast.Assign | ast.AnnAssign) -> Iterator[Mutant]:
    """Each number of a constant shifted, each item of a collection of texts left out."""
    value = statement.value
    if value is None or name not in vars(module) or any(isinstance(one, ast.Dict) for one in ast.walk(value)):
        return  # dictionaries are examples, which the rule holds already
    nodes = list(ast.walk(value))
    for index, node in enumerate(nodes):
        for change in _of_constant_part(node):
            made = copy.deepcopy(value)
            target = list(ast.walk(made))[index]
            before = _text(target)
            change(target)
            expression = ast.fix_missing_locations(ast.Expression(made))
            broken = eval(compile(expression, str(module.__file__), "eval"), vars(module))
            yield Mutant(module.__name__, name, f"{before} -> {_text(target)}", statement.lineno, value=broken)


def _of_constant_part(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool()):
            return
        case ast.Constant(value=int() | float()):
            yield _shift
        case ast.Tuple() | ast.Set() if len(node.elts) > 1 and all(_is_text(one) for one in node.elts):
            yield from (_without_element(index) for index in range(len(node.elts)))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _without_element(index: int) -> Change:
    def change(node: ast.Tuple) -> None:
        del node.elts[index]

    return change


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The live module is broken inside."""
    module = sys.modules[mutant.module]
    if mutant.code is None:
        with constant(mutant.module, mutant.function, mutant.value):
            yield
        return
    function = live_function(module, mutant.function)
    sound = function.__code__
    function.__code__ = mutant.code
    try:
        yield
    finally:
        function.__code__ = sound


def live_function(module: ModuleType, name: str) -> FunctionType:
    """The function object behind caches and properties."""
    found: Any = module
    for part in name.split("."):
        found = vars(found)[part]
    for wrapped in ("fget", "func", "__wrapped__", "__func__"):
        found = getattr(found, wrapped, found)
    if not isinstance(found, FunctionType):
        raise TypeError(f"`{name}` of {module.__name__} is no function.")
    return found


@contextmanager
def constant(home: str, name: str, value: Any) -> Iterator[None]:
    """The constant in its module, and in the modules that import it by name."""
    module = sys.modules[home]
    sound = vars(module)[name]
    holders = [module, *(one for one in _loaded() if one is not module and vars(one).get(name) is sound)]
    for one in holders:
        setattr(one, name, value)
    try:
        yield
    finally:
        for one in holders:
            setattr(one, name, sound)


def _loaded() -> Iterable[ModuleType]:
    return [module for name, module in list(sys.modules.items()) if name.startswith(f"{PACKAGE}.")]
