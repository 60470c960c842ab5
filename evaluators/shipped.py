"""Artefacts of what the library ships, lowered the same way as a candidate and kept by content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from evaluators.builder import Builder, shipped_candidate
from evaluators.cells import Cell
from evaluators.errors import JudgeFaultError
from evaluators.targets import Target
from reference_kernels import tuning
from reference_kernels.problem import Problem


class Shipped:
    """Builds and keeps the shipped implementations' programs.

    Args:
        library: the checkout.
        toolchain: digest of what builds them.
        cache: folder for programs already built, or None to keep them in memory alone.
    """

    def __init__(
        self, builder: Builder, library: Path, toolchain: str, cache: Path | None = None
    ) -> None:
        self._builder = builder
        self._library = library
        self._toolchain = toolchain
        self._cache = cache
        self._kept: dict[str, bytes] = {}

    def programs(
        self, problem: Problem, target: Target, cells: Sequence[Cell], platform: str
    ) -> dict[str, dict[str, bytes]]:
        """Programs of every shipped implementation that runs on `platform`.

        Untimed cells get the plain version alone: it is the yardstick of numerics.

        Returns:
            cell id -> implementation -> serialised program.

        Raises:
            JudgeFaultError: a shipped implementation does not build.
        """
        found: dict[str, dict[str, bytes]] = {cell.id: {} for cell in cells}
        for implementation in problem.implementations:
            if platform not in implementation.platforms or implementation.trust != "artefact":
                continue
            wanted = [
                cell
                for cell in cells
                if (cell.timed or implementation.name == "plain")
                and cell.entry in implementation.entries
            ]
            programs = self._build(problem, implementation.name, target, wanted, platform)
            for cell_id, program in programs.items():
                found[cell_id][implementation.name] = program
        return found

    def _build(
        self,
        problem: Problem,
        implementation: str,
        target: Target,
        cells: Sequence[Cell],
        platform: str,
    ) -> dict[str, bytes]:
        source = self._source_digest(problem.name, target)
        keys = {
            cell.id: hashlib.sha256(
                json.dumps([source, implementation, cell.entry, cell.case, platform]).encode()
            ).hexdigest()
            for cell in cells
        }
        found = {cell_id: self._get(key) for cell_id, key in keys.items()}
        missing = [cell for cell in cells if found[cell.id] is None]
        if missing:
            candidate = shipped_candidate(self._library, problem.name, implementation, target.name)
            built = self._builder.build(problem, candidate, target, missing, platform=platform)
            if built.record.status != "built":
                raise JudgeFaultError(
                    f"the shipped {problem.name}/{implementation}.py does not build: "
                    f"{built.record.facts.get('reason')}"
                )
            for cell_id, program in built.programs.items():
                found[cell_id] = program
                self._put(keys[cell_id], program)
        return {cell_id: program for cell_id, program in found.items() if program is not None}

    def _source_digest(self, op: str, target: Target) -> str:
        folder = self._library / "reference_kernels"
        digest = hashlib.sha256(self._toolchain.encode())
        files = [*sorted(folder.glob("*.py")), *sorted((folder / op).glob("*.py"))]
        tuned = tuning.path_for(target.device_kind, folder / "tuned")
        for path in [*files, *([tuned] if tuned.exists() else [])]:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
        return digest.hexdigest()

    def _get(self, key: str) -> bytes | None:
        if key not in self._kept and self._cache is not None:
            path = self._cache / key
            if path.exists():
                data = path.read_bytes()
                # The name is of the request, not of the content, so the content carries its own.
                head, body = data[:64], data[64:]
                if hashlib.sha256(body).hexdigest().encode() == head:
                    self._kept[key] = body
        return self._kept.get(key)

    def _put(self, key: str, program: bytes) -> None:
        self._kept[key] = program
        if self._cache is not None:
            self._cache.mkdir(parents=True, exist_ok=True)
            partial = self._cache / f"{key}.partial"
            partial.write_bytes(hashlib.sha256(program).hexdigest().encode() + program)
            partial.replace(self._cache / key)
