"""Which results of a program depend on which of its arguments.

Loops are followed value by value to a fixed point and calls into their callee, so a carry that is
only passed along does not borrow the dependences of the others.
"""

from __future__ import annotations

from typing import Any

Sources = frozenset[int]
NOTHING: Sources = frozenset()


class Dependence:
    """Data flow of one module.

    Args:
        functions: name -> `func.func` operation; `main` among them.
    """

    def __init__(self, functions: dict[str, Any]) -> None:
        self._functions = functions
        self._callees: dict[str, list[Sources]] = {}
        self._active: set[str] = set()

    def of_main(self) -> list[Sources]:
        """For each result of `main`, the positions of its arguments that it depends on."""
        return self._function("main")

    def _function(self, name: str) -> list[Sources]:
        if name not in self._callees:
            if name in self._active:
                raise RecursionError(f"{name} calls itself")
            self._active.add(name)
            block = self._functions[name].regions[0].blocks[0]
            arguments = [frozenset({index}) for index in range(len(block.arguments))]
            self._callees[name] = self._block(block, arguments, {})
            self._active.discard(name)
        return self._callees[name]

    def _block(
        self, block: Any, arguments: list[Sources], outer: dict[Any, Sources]
    ) -> list[Sources]:
        known = dict(outer)
        known.update(zip(block.arguments, arguments, strict=True))
        for wrapped in block.operations:
            operation = wrapped.operation
            inputs = [known.get(value, NOTHING) for value in operation.operands]
            if operation.name in ("func.return", "stablehlo.return"):
                return inputs
            outputs = self._operation(operation, inputs, known)
            known.update(zip(operation.results, outputs, strict=True))
        return []

    def _operation(
        self, operation: Any, inputs: list[Sources], known: dict[Any, Sources]
    ) -> list[Sources]:
        name = operation.name
        if name == "func.call":
            callee = operation.attributes["callee"].value
            return [
                frozenset().union(*(inputs[i] for i in found)) for found in self._function(callee)
            ]
        if name == "stablehlo.while":
            return self._while(operation, inputs, known)
        if name in ("stablehlo.if", "stablehlo.case"):
            branches = [self._block(region.blocks[0], [], known) for region in operation.regions]
            return [inputs[0].union(*results) for results in zip(*branches, strict=True)]
        everything = frozenset().union(*inputs)
        for region in operation.regions:
            for block in region.blocks:
                arguments = [everything] * len(block.arguments)
                everything = everything.union(*self._block(block, arguments, known))
        return [everything] * len(operation.results)

    def _while(
        self, operation: Any, inputs: list[Sources], known: dict[Any, Sources]
    ) -> list[Sources]:
        condition, body = (region.blocks[0] for region in operation.regions)
        carried = list(inputs)
        while True:
            # How often the loop runs decides every carry that the body changes.
            trips = frozenset().union(*self._block(condition, carried, known))
            after = self._block(body, carried, known)
            merged = [
                was | now | (trips if now != was else NOTHING)
                for was, now in zip(carried, after, strict=True)
            ]
            if merged == carried:
                return carried
            carried = merged
