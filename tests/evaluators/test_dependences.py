"""A result must depend on what the oracle depends on, and on no more than that."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import export

from evaluators.inside.cell import Cell, missing_dependences
from evaluators.inside.program import walk
from evaluators.inside.protocol import CellRequest
from evaluators.inside.yardstick import Yardstick
from reference_kernels import catalog
from reference_kernels.problem import Tree

OP, ENTRY, CASE = "gated_delta_rule", "forward_with_grad", "tiny-one-token"


def program(module: str, change: object = None) -> bytes:
    problem = catalog.problem(OP)
    case, entry = problem.case(CASE), problem.entry(ENTRY)
    kernels = catalog.module(OP, module)

    def traced(arguments: dict[str, Tree]) -> Tree:
        results, gradients = kernels.forward_with_grad(
            **arguments, **case.statics, config=kernels.Config()
        )
        return results, ({**gradients, "k": jnp.ones_like(gradients["k"])} if change else gradients)

    exported = export.export(jax.jit(traced), platforms=["cpu"])(entry.arguments(case))
    return bytes(exported.serialize())


@pytest.mark.parametrize(("change", "missing"), [(None, ""), ("a constant", "does not depend")])
def test_the_oracle_decides_what_must_be_read(
    tmp_path: Path, change: str | None, missing: str
) -> None:
    (tmp_path / "plain.bin").write_bytes(program("plain"))
    walked = walk(program("xla", change), "cpu", artefact_bytes=1 << 24, constant_bytes=1 << 20)
    request = CellRequest(
        id="cell", entry=ENTRY, case=CASE, candidate="", shipped={"plain": "plain.bin"}
    )
    cell = Cell(Yardstick(catalog.problem(OP), request, tmp_path, "xla", "cpu"), walked)
    # With one token, the gradient of beta needs no beta, though the plain version's program has it.
    assert any(n - h for n, h in zip(cell.yardstick.plain_depends, walked.depends, strict=True))
    found = missing_dependences(cell, walked, (1, 2))
    assert missing in found
    assert bool(missing) == bool(found)
