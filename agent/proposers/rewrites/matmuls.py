"""Matrix products that share an operand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from agent.proposers.rewrites.base import Rewritten, dotted, find, jnp, short


@dataclass(frozen=True)
class _Product:
    """`target = left @ right`, all of them names."""

    target: str
    left: str
    right: str


class JoinMatmuls:
    """`a = x @ u; b = x @ v` -> one product with `u` and `v` side by side, split again."""

    name = "join_matmuls"
    summary = "one wide product reads the shared operand once and fills the matrix unit better"

    def apply(self, module: cst.Module) -> Iterator[Rewritten]:
        package = jnp(module)
        if package is None:
            return
        for block in find(module, cst.IndentedBlock):
            for index, (first, second) in enumerate(zip(block.body, block.body[1:], strict=False)):
                joined = _joined(package, _product(first), _product(second))
                if joined is None:
                    continue
                line = cst.parse_statement(joined, config=module.config_for_parsing)
                line = line.with_changes(leading_lines=first.leading_lines)  # type: ignore[union-attr]
                body: Sequence[cst.BaseStatement] = [
                    *block.body[:index], line, *block.body[index + 2 :]
                ]  # fmt: skip
                changed = module.deep_replace(block, block.with_changes(body=body))
                site = f"{short(module, first)}; {short(module, second)} -> {joined}"
                yield Rewritten(site, changed.code)  # type: ignore[union-attr]


def _product(statement: cst.BaseStatement) -> _Product | None:
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    assign = statement.body[0]
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return None
    target, value = dotted(assign.targets[0].target), assign.value
    if not isinstance(value, cst.BinaryOperation):
        return None
    if not isinstance(value.operator, cst.MatrixMultiply):
        return None
    left, right = dotted(value.left), dotted(value.right)
    if not (target.isidentifier() and left and right):
        return None
    return _Product(target, left, right)


def _joined(package: str, first: _Product | None, second: _Product | None) -> str | None:
    if first is None or second is None or first.target in (second.left, second.right):
        return None
    pair = f"{first.target}, {second.target}"
    if first.left == second.left and first.right != second.right:
        both = f"{package}.concatenate(({first.right}, {second.right}), axis=-1)"
        product, at, axis = f"{first.left} @ {both}", f"{first.right}.shape[-1]", "-1"
    elif first.right == second.right and first.left != second.left:
        both = f"{package}.concatenate(({first.left}, {second.left}), axis=-2)"
        product, at, axis = f"{both} @ {first.right}", f"{first.left}.shape[-2]", "-2"
    else:
        return None
    return f"{pair} = {package}.split({product}, ({at},), axis={axis})"
