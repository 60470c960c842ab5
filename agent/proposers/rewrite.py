"""Structural rewrites of the parent, offline: every site of every rewrite, in a seeded order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from agent.errors import ExhaustedError
from agent.programs import program_digest, source_digest
from agent.proposers.protocol import Answer, Context
from agent.proposers.rewrites import REWRITES, Rewrite


@dataclass(frozen=True)
class Option:
    """One rewritten module."""

    rewrite: Rewrite
    site: str
    source: str


class RewriteProposer:
    """Proposes one rewrite of the parent at a time."""

    name = "rewrite"

    def __init__(self, rewrites: Sequence[Rewrite] = REWRITES) -> None:
        self._rewrites = tuple(rewrites)

    def propose(self, context: Context, *, number: int) -> Answer:
        """The option at this rank among those whose program is new to the run."""
        unseen = []
        for option in self.options(context.parent_source, context.seed):
            files = {context.module_file: option.source}
            candidate = context.incumbent.model_copy(update={"files": files})
            if program_digest(candidate) not in context.programs:
                unseen.append(option)
        if context.rank >= len(unseen):
            raise ExhaustedError("every rewrite of this parent was tried")
        option = unseen[context.rank]
        return Answer(
            files={context.module_file: option.source},
            rationale=f"{option.rewrite.name}: {option.site}. {option.rewrite.summary}.",
        )

    def options(self, source: str, seed: int) -> tuple[Option, ...]:
        """Every distinct program that one rewrite makes, rewrites taking turns."""
        return _options(self._rewrites, source, seed)


@lru_cache(maxsize=16)
def _options(rewrites: tuple[Rewrite, ...], source: str, seed: int) -> tuple[Option, ...]:
    # Cached: it takes seconds on a long module, and a parent is asked about many times.
    try:
        module = cst.parse_module(source)
    except cst.ParserSyntaxError:
        return ()
    chance = random.Random(seed)
    known = {source_digest(source)}
    piles: list[list[Option]] = []
    for rewrite in rewrites:
        pile = list(_distinct(rewrite, module, known))
        chance.shuffle(pile)
        piles.append(pile)
    chance.shuffle(piles)
    # One of each kind first: a module with twenty casts must not hide its only scan.
    longest = max((len(pile) for pile in piles), default=0)
    return tuple(pile[i] for i in range(longest) for pile in piles if i < len(pile))


def _distinct(rewrite: Rewrite, module: cst.Module, known: set[str]) -> Iterator[Option]:
    for rewritten in rewrite.apply(module):
        digest = source_digest(rewritten.source)
        if digest not in known:
            known.add(digest)
            yield Option(rewrite, rewritten.site, rewritten.source)
