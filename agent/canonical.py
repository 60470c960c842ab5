"""One syntax tree for the spellings of a module that are surely the same program.

Comments, layout, docstrings, the order of imports, and the names that nothing outside can see do
not count. Every step keeps the program for certain: where that is in doubt, the name or the order
stays, and two spellings of one program are told apart later, by what they lower to.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef

_WATCHED_NAMES = frozenset({
    "__doc__", "__import__", "ast", "compile", "dir", "dis", "eval", "exec", "gc", "globals",
    "importlib", "inspect", "locals", "sys", "traceback", "vars",
})  # fmt: skip
_WATCHED_ATTRIBUTES = frozenset({
    "__annotations__", "__closure__", "__code__", "__defaults__", "__dict__", "__doc__",
    "__globals__", "__kwdefaults__", "__module__", "__name__", "__qualname__", "__wrapped__",
    "_getframe", "currentframe", "get_type_hints", "getfullargspec", "getsource",
    "getsourcelines", "signature",
})  # fmt: skip
_BUILTINS = frozenset(dir(builtins))
_LOCAL_MARK, _MODULE_MARK = "$", "%"  # no identifier has them, so no new name meets an old one


def canonical(tree: ast.Module) -> ast.Module:
    """The tree itself, changed in place."""
    if _looks_at_itself(tree):
        return tree
    _drop_bare_constants(tree)
    _sort_imports(tree)
    uses = _Uses.of(tree)
    _Renamer(uses.is_private, _MODULE_MARK).visit(tree)
    for function, own_arguments_stay in list(_outermost(tree)):
        inner = uses.renamed_within(function, own_arguments_stay=own_arguments_stay)
        _Renamer(inner.__contains__, _LOCAL_MARK).visit(function)
    return tree


def _looks_at_itself(tree: ast.Module) -> bool:
    """Whether the module may read its own names or text, so that they are part of the program."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in _WATCHED_NAMES:
            return True
        if isinstance(node, ast.Attribute) and node.attr in _WATCHED_ATTRIBUTES:
            return True
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for name in (module, *(alias.name for alias in node.names)):
                first, last = name.partition(".")[0], name.rpartition(".")[2]
                if "*" in name or first in _WATCHED_NAMES or last in _WATCHED_ATTRIBUTES:
                    return True
    return False


def _drop_bare_constants(tree: ast.Module) -> None:
    """Statements that are a constant and nothing else: docstrings, `...`."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            kept = [s for s in block if not _is_constant(s)]
            if not kept and block and name == "body" and not isinstance(node, ast.Module):
                kept = [ast.Pass()]
            setattr(node, name, kept)


def _is_constant(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _sort_imports(tree: ast.Module) -> None:
    """One name an import, in one order, where no two of a run bind the same name."""
    body: list[ast.stmt] = []
    run: list[ast.stmt] = []
    for statement in [*tree.body, None]:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            run.append(statement)
            continue
        body += _sorted_run(run)
        run = []
        if statement is not None:
            body.append(statement)
    tree.body = body


def _sorted_run(run: list[ast.stmt]) -> list[ast.stmt]:
    single: list[ast.stmt] = []
    # A plain `import a.b` and `import a.c` both bind `a`, to the same module.
    bound: dict[str, str] = {}
    for statement in run:
        assert isinstance(statement, ast.Import | ast.ImportFrom)
        for alias in statement.names:
            if isinstance(statement, ast.Import):
                single.append(ast.Import(names=[alias]))
                root = alias.name.partition(".")[0]
                name = alias.asname or root
                what = f"import {alias.name if alias.asname else root}"
            else:
                one = ast.ImportFrom(statement.module, [alias], statement.level)
                single.append(one)
                name = alias.asname or alias.name
                what = f"from {statement.level} {statement.module} import {alias.name}"
            if bound.setdefault(name, what) != what:
                return run
    is_future = "__future__"
    return sorted(
        single,
        key=lambda s: (getattr(s, "module", "") != is_future, ast.dump(s)),
    )


def _outermost(tree: ast.Module) -> Iterator[tuple[Function, bool]]:
    """Functions that lie in no other, and whether their arguments' names can be seen outside."""

    def walk(node: ast.AST, in_class: bool) -> Iterator[tuple[Function, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function):
                private = child.name.startswith((_MODULE_MARK, "_")) and not in_class
                yield child, not private
            elif not isinstance(child, ast.Lambda):
                yield from walk(child, in_class or isinstance(child, ast.ClassDef))

    return walk(tree, False)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below that belong to no function's or lambda's body."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.Lambda | Function):
            yield from _outside_functions(child)


def _stored(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that assignments and definitions among the nodes bind."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, Function | ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found


@dataclass
class _Uses:
    """Where the identifiers of a module occur other than as plain variables.

    Attributes:
        module: bound at the module's level.
        arguments: of any function or lambda.
        fixed: seen where a new name would be noticed, or bound in a way that is not followed.
    """

    module: set[str] = field(default_factory=set)
    arguments: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    keywords: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)
    has_splat: bool = False

    @classmethod
    def of(cls, tree: ast.Module) -> _Uses:
        uses = cls(module=_stored(_outside_functions(tree)))
        for node in ast.walk(tree):
            uses._add(node)
        return uses

    def _add(self, node: ast.AST) -> None:
        match node:
            case ast.Constant(value=str() as text):
                # An argument's name in `static_argnames`, a name in `__all__`, an annotation.
                self.fixed.update(re.findall(r"\w+", text))
            case ast.Attribute():
                self.attributes.add(node.attr)
            case ast.keyword():
                self.keywords.add(node.arg or "")
                self.has_splat |= node.arg is None
            case ast.arg():
                self.arguments.add(node.arg)
            case ast.ClassDef():
                self.fixed.add(node.name)
                self.fixed |= _stored(_outside_functions(node))
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    self.fixed.add(alias.asname or alias.name.partition(".")[0])
            case ast.NamedExpr():
                # In a default or a decorator it binds outside of the function.
                self.fixed.add(node.target.id)
            case ast.Global():
                self.module.update(node.names)
            case ast.MatchAs() | ast.MatchStar() | ast.TypeVar() | ast.ParamSpec():
                self.fixed.add(node.name or "")
            case ast.MatchMapping():
                self.fixed.add(node.rest or "")
            case ast.TypeVarTuple():
                self.fixed.add(node.name)
            case ast.MatchClass():
                self.keywords.update(node.kwd_attrs)
            case _:
                pass

    def is_private(self, name: str) -> bool:
        """Whether a name of the module's level can only be seen inside of it."""
        return (
            name in self.module
            and name.startswith("_")
            and not name.startswith("__")
            and name not in self.arguments | self.attributes | self.keywords | self.fixed
        )

    def renamed_within(self, function: Function, *, own_arguments_stay: bool) -> set[str]:
        """Names that only this function and what it contains can see."""
        own = set(_argument_names(function)) if own_arguments_stay else set()
        inside = [node for node in ast.walk(function) if node is not function]
        arguments = {node.arg for node in inside if isinstance(node, ast.arg)}
        found = _stored(inside) | arguments
        found -= own | self.fixed | self.module | _BUILTINS
        # A call by keyword names an argument; `**` might name any.
        found -= self.arguments if self.has_splat else self.arguments & self.keywords
        return {name for name in found if not name.startswith(("__", _MODULE_MARK))}


def _argument_names(function: Function) -> Iterator[str]:
    given = function.args
    for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        yield argument.arg
    for argument in (given.vararg, given.kwarg):
        if argument is not None:
            yield argument.arg


class _Renamer(ast.NodeVisitor):
    """Replaces every occurrence of the chosen names by numbers, in the order of appearance."""

    def __init__(self, chosen: Callable[[str], bool], mark: str) -> None:
        self._chosen = chosen
        self._mark = mark
        self._names: dict[str, str] = {}

    def _new(self, name: str) -> str:
        if name not in self._names and not self._chosen(name):
            return name
        return self._names.setdefault(name, f"{self._mark}{len(self._names)}")

    def visit(self, node: ast.AST) -> None:
        match node:
            case ast.Name():
                node.id = self._new(node.id)
            case ast.arg():
                node.arg = self._new(node.arg)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.name = self._new(node.name)
            case ast.ExceptHandler():
                node.name = self._new(node.name) if node.name else None
            case ast.Global() | ast.Nonlocal():
                node.names = [self._new(name) for name in node.names]
            case _:
                pass
        self.generic_visit(node)
