"""One run's view of the run store: what its nodes read, and the only places where they write.

Proposals are named `<run>/<n>`, so that work which was stored before a crash is found again.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.budget import Meter
from agent.proposers.protocol import Answer
from agent.search import History
from evaluators.api import INCUMBENT, Outcome, program_key
from evaluators.verdict import Status, Tier, Verdict
from runs.identity import utc_now
from runs.queries import verdicts_of_run
from runs.records import Proposal, Run
from runs.search_rows import SearchRows
from runs.store import RunStore
from sandbox.records import Candidate

LIBRARY = "incumbent"
"""Where a run's settings hold the digest of the library's text that it began with."""
NOBODY = "nobody"
"""The proposer of a proposal that no proposer could make; its failure is the stop reason."""


class Archive:
    """Reads and writes the records of one run.

    Args:
        library: what the checkout held at the start: the module and its shipped configs.

    Attributes:
        incumbent: the library's module alone: what the search starts from.
        rows: same programs and repairs.
    """

    def __init__(self, store: RunStore, run: Run, library: Candidate) -> None:
        self.store = store
        self.run = run
        self.library = library
        self.rows = SearchRows(store.database, run.id)
        module = f"{run.implementation}.py"
        self.incumbent = self.make({module: library.files[module]})

    def proposal_id(self, number: int) -> str:
        return f"{self.run.id}/{number}"

    def proposals(self, below: int | None = None) -> dict[int, Proposal]:
        """Stored proposals by number, those before number `below`."""
        found = {int(p.id.rpartition("/")[2]): p for p in self.store.proposals(self.run.id)}
        return {n: found[n] for n in sorted(found) if below is None or n < below}

    def proposal(self, number: int) -> Proposal | None:
        return self.proposals().get(number)

    def candidate(self, digest: str) -> Candidate:
        return self.store.candidate(digest)

    def keep(
        self, number: int, answer: Answer, *, proposer: str, parent: Candidate, duration_ns: int
    ) -> Proposal:
        """Store an answer with its candidate, if it has one."""
        candidate = None
        if answer.files:
            candidate = self.store.record_candidate(self.make(answer.files))
        proposal = Proposal(
            id=self.proposal_id(number),
            run=self.run.id,
            proposer=proposer,
            kind=answer.kind,
            parent=parent.digest,
            candidate=candidate,
            rationale=answer.rationale,
            failure=answer.failure,
            prompt_digest=answer.usage.prompt_digest,
            reply_digest=answer.usage.reply_digest,
            tokens_in=answer.usage.tokens_in,
            tokens_out=answer.usage.tokens_out,
            dollars=answer.usage.dollars,
            duration_ns=duration_ns,
            proposed_at=utc_now(),
        )
        self.store.record_proposal(proposal)
        return proposal

    def make(self, files: dict[str, str]) -> Candidate:
        """A candidate of this run's op, module and target."""
        return Candidate(
            op=self.run.op,
            implementation=self.run.implementation,
            target=self.run.target,
            files=files,
        )

    def verdicts(self, tier: Tier) -> Iterator[Verdict]:
        """Verdicts on candidates that this run asked for, oldest first."""
        for verdict in verdicts_of_run(self.store, self.run.id, tier=tier):
            if verdict.candidate != self.incumbent.digest:
                yield verdict

    def verdict(self, candidate: str, tier: Tier) -> Verdict | None:
        """The run's last verdict on a candidate, or on the incumbent."""
        found = None
        for verdict in verdicts_of_run(self.store, self.run.id, tier=tier):
            if verdict.candidate == candidate:
                found = verdict
        return found

    def history(self, below: int) -> History:
        """What the search may know before proposal `below`."""
        return History(
            incumbent=self.incumbent.digest,
            proposals=self.proposals(below),
            verdicts={v.candidate: v for v in self.verdicts("screen")},
            repairs=self.rows.repairs(),
        )

    def known_programs(self) -> dict[str, str]:
        """Key of each lowered program that needs no judgement -> the candidate that has it."""
        known = {INCUMBENT: self.incumbent.digest}
        for verdict in self.verdicts("screen"):
            key = program_key(verdict)
            if key is not None:
                known.setdefault(key, verdict.candidate)
        return known

    def keep_outcome(self, outcome: Outcome, meter: Meter) -> None:
        """Store a verdict with everything it names, then book it."""
        cases = (self.run.case,) if outcome.verdict.tier == "screen" else ()
        self.store.record_outcome(
            outcome,
            incumbent=self.library,
            cases=cases,
            commit=self.run.base_commit,
            run=self.run.id,
        )
        self.charge(outcome.verdict, meter)

    def charge(self, verdict: Verdict, meter: Meter) -> None:
        """Book a judgement; a look at the incumbent is no candidate."""
        meter.charge_judgement(verdict, counted=verdict.candidate != self.incumbent.digest)

    def measured(self) -> int:
        """How many candidates of this run were timed at the screen tier."""
        return len({v.candidate for v in self.verdicts("screen") if v.timings})

    def promotable(self) -> tuple[str, ...]:
        """Candidates with a promotable verdict of this run, best first."""
        found = {
            v.candidate: v.effect.low if v.effect else 0.0
            for v in self.verdicts("promote")
            if v.status is Status.FASTER and v.promotable
        }
        return tuple(sorted(found, key=lambda digest: -found[digest]))
