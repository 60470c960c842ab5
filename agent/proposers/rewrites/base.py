"""What a rewrite is, and the few questions about syntax that all of them ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import libcst as cst
from libcst import matchers as m

NUMPY = ("jnp", "jax.numpy")
LAX = ("lax", "jax.lax")
SITE_CHARACTERS = 60


@dataclass(frozen=True)
class Rewritten:
    """One application of a rewrite at one site.

    Attributes:
        site: what was changed into what, for a person.
        source: the module's full text.
    """

    site: str
    source: str


class Rewrite(Protocol):
    """One kind of change.

    Attributes:
        name: stable, in snake case.
        summary: why it may be faster, one line.
    """

    name: str
    summary: str

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        """Every site and variant at which it applies, in source order."""
        ...


def find[Node: cst.CSTNode](tree: cst.CSTNode, kind: type[Node]) -> list[Node]:
    """All nodes of a kind, in source order."""
    found = m.findall(tree, m.MatchIfTrue(lambda node: isinstance(node, kind)))
    return [node for node in found if isinstance(node, kind)]


def dotted(node: cst.BaseExpression) -> str:
    """`a.b.c` for a name or an attribute chain, empty for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr.value}" if head else ""
    return ""


def called(call: cst.Call, packages: Sequence[str], *names: str) -> bool:
    """Whether a call is to one of `names` of one of `packages`."""
    head, _, name = dotted(call.func).rpartition(".")
    return name in names and head in packages


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    """The argument given under a name."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return arg
    return None


def positional(call: cst.Call) -> list[cst.BaseExpression] | None:
    """Values of the arguments without a name; None where a star hides some."""
    if any(arg.star for arg in call.args):
        return None
    return [arg.value for arg in call.args if arg.keyword is None]


def with_keyword(call: cst.Call, name: str, value: str) -> cst.Call:
    """The call with `name=value` set."""
    arg = cst.Arg(
        value=cst.parse_expression(value),
        keyword=cst.Name(name),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    if keyword(call, name) is None:
        return call.with_changes(args=[*(_spaced(a) for a in call.args), arg])
    args = [
        a.with_changes(value=arg.value) if a.keyword and a.keyword.value == name else a
        for a in call.args
    ]
    return call.with_changes(args=args)


def without_keyword(call: cst.Call, name: str) -> cst.Call:
    """The call without the argument of that name."""
    args = [a for a in call.args if a.keyword is None or a.keyword.value != name]
    if args:
        args[-1] = args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=args)


def _spaced(arg: cst.Arg) -> cst.Arg:
    if isinstance(arg.comma, cst.Comma):
        return arg
    return arg.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))


def literal_text(node: cst.BaseExpression) -> str | None:
    """The value of a plain string literal."""
    if isinstance(node, cst.SimpleString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def is_simple(node: cst.BaseExpression) -> bool:
    """Whether writing the expression twice computes nothing twice."""
    return bool(dotted(node)) or isinstance(node, cst.Integer | cst.Float)


def names_in(node: cst.CSTNode) -> set[str]:
    """Every plain name that occurs, attribute and keyword names included."""
    return {name.value for name in find(node, cst.Name)}


def expression(module: cst.Module, node: cst.CSTNode) -> str:
    """A node's text."""
    return module.code_for_node(node)


def replaced(
    module: cst.Module, old: cst.CSTNode, new: cst.CSTNode, site: str | None = None
) -> Rewritten:
    """The module with one node replaced; `site` describes it better than the two texts would."""
    changed = module.deep_replace(old, new)
    if not isinstance(changed, cst.Module):
        raise TypeError("the module itself cannot be replaced")
    return Rewritten(site or f"{short(module, old)} -> {short(module, new)}", changed.code)


def replaced_by_text(module: cst.Module, old: cst.CSTNode, text: str) -> Rewritten:
    """The module with an expression replaced by a text, in parentheses of its own."""
    new = cst.parse_expression(text, config=module.config_for_parsing)
    if not isinstance(new, cst.Name | cst.Attribute | cst.Call | cst.Subscript):
        new = new.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return replaced(module, old, new)


def short(module: cst.Module, node: cst.CSTNode) -> str:
    """A node's text on one line, cut to size."""
    text = " ".join(module.code_for_node(node).split())
    return text if len(text) <= SITE_CHARACTERS else text[: SITE_CHARACTERS - 1] + "…"


def binds(module: cst.Module, name: str) -> bool:
    """Whether the module imports something under that name (`jax`, `jnp`, `lax`)."""
    for node in [*find(module, cst.ImportAlias)]:
        bound = dotted(node.asname.name) if node.asname else dotted(node.name).split(".")[0]  # type: ignore[arg-type]
        if bound == name:
            return True
    return False


def prefix(module: cst.Module, *choices: tuple[str, str]) -> str | None:
    """How to write a package here: the text of the first (bound name, text) that is imported."""
    for name, text in choices:
        if binds(module, name):
            return text
    return None


def jnp(module: cst.Module) -> str | None:
    return prefix(module, ("jnp", "jnp"), ("jax", "jax.numpy"))


def lax(module: cst.Module) -> str | None:
    return prefix(module, ("lax", "lax"), ("jax", "jax.lax"))
