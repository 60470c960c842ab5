"""Promotions into a small library in git: what gets in, and that a refusal leaves no trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from reference_kernels import tuning
from runs import landing, promotion
from runs.errors import (
    AlreadyPromotedError,
    ChangedIncumbentError,
    CheckoutError,
    ContractFailedError,
    DifferentProgramError,
    DirtyCheckoutError,
    DiskFullError,
    NotPromotableError,
    StaleToolchainError,
    UsageError,
)
from runs.git import only_one
from runs.promotion import promote
from runs.queries import stale_promotions
from tests.runs.conftest import BROKEN_TEXT, KEY, MODULE, NEW_TEXT, OLD_TEXT, TUNED

ENTRY = f"toy|xla|{KEY}"


@pytest.fixture
def judged(store, make, checkout):
    """Store a candidate's verdict against the checkout's incumbent and return its digest."""

    def judge(candidate=None, **changes):
        candidate = candidate or make.candidate(NEW_TEXT)
        store.record_candidate(candidate)
        verdict = make.verdict(candidate, **changes)
        return store.record_outcome(
            make.outcome(candidate, verdict), incumbent=checkout.incumbent()
        )

    return judge


@pytest.fixture
def go(store, checkout, relowering, now):
    def promote_it(verdict, **changes):
        arguments = {
            "checkout": checkout.folder,
            "evaluator": relowering,
            "reviewer": "ann",
            "commit": True,
            "now": now,
            **changes,
        }
        return promote(store, verdict, **arguments)

    return promote_it


@pytest.fixture
def untouched(store, checkout):
    """Whatever the test provokes, the checkout and the decisions stay as they were."""
    states = []

    def remember():
        states.append(checkout.state())

    yield remember
    assert states, "the test did not say when to look"
    assert checkout.state() == states[-1]
    assert store.promotions() == ()
    assert not (checkout.folder / ".git" / landing.JOURNAL).exists()


def test_source_is_promoted_and_committed(store, checkout, judged, go, relowering, make):
    before = checkout.state()
    store.start_run(make.run())
    verdict = judged()
    store.record_proposal(make.proposal(0, make.candidate(NEW_TEXT).digest))
    done = go(verdict, reason="nice")
    head, status, files = checkout.state()
    assert (done.decision, done.kind, done.commit) == ("accepted", "source", head.strip())
    assert done.run == make.run().id
    assert status == ""
    assert files[MODULE] == NEW_TEXT
    evidence = f"reference_kernels/toy/evidence/{done.id}.json"
    assert set(files) - set(before[2]) == {evidence}
    assert store.promotion(done.id) == done
    assert "-    return x * VALUE\n+    return x\n" in done.patch
    ((lowered, text, disguise),) = relowering.calls
    assert (lowered, text, disguise) == (make.candidate(NEW_TEXT), NEW_TEXT, True)
    message = checkout.git("log", "-1", "--format=%B")
    assert "1.300x (1.200 to 1.400)" in message
    assert verdict in message
    assert stale_promotions(store) == ()
    assert stale_promotions(store, {"jax": "0", "jaxlib": "0"})[0][0] == done


@pytest.mark.usefixtures("contract_passes")
def test_evidence_tells_everything_and_nothing_of_the_machine(checkout, judged, go):
    done = go(judged())
    text = checkout.read(f"reference_kernels/toy/evidence/{done.id}.json")
    evidence = json.loads(text)
    assert text == json.dumps(evidence, indent=2, sort_keys=True) + "\n"
    assert evidence["effect"]["low"] == 1.2
    assert evidence["validity"] == [KEY]
    assert evidence["digests"]["programs"]
    assert evidence["environment"]["packages"]["jax"]
    assert evidence["environment"]["xla_flags"] == "--xla_force=1"
    for leak in ("/home", "/somewhere", "bench-1", str(checkout.folder)):
        assert leak not in text


@pytest.mark.usefixtures("contract_passes")
def test_without_commit_the_files_are_written_only(checkout, judged, go):
    head = checkout.git("rev-parse", "HEAD")
    done = go(judged(), commit=False)
    assert done.commit is None
    assert checkout.git("rev-parse", "HEAD") == head
    assert checkout.read(MODULE) == NEW_TEXT


@pytest.mark.usefixtures("contract_passes")
def test_other_work_in_the_checkout_is_left_alone(checkout, judged, go):
    verdict = judged()
    checkout.write("notes.txt", "mine")
    checkout.write("staged.txt", "mine too")
    checkout.git("add", "staged.txt")
    go(verdict)
    assert checkout.git("status", "--porcelain") == "A  staged.txt\n?? notes.txt\n"


@pytest.mark.usefixtures("contract_passes")
def test_tuned_entry_is_promoted(store, checkout, judged, go, make):
    other = {"config": {"block": 4}, "evidence": "e" * 64}
    checkout.write(TUNED, json.dumps({"device_kind": "Toy CPU", "entries": {"zeta|xla|k": other}}))
    checkout.commit("tuning of another op")
    verdict = judged(make.candidate(OLD_TEXT, {KEY: {"block": 16}}))
    done = go(verdict)
    assert done.kind == "tuned"
    data = json.loads(checkout.read(TUNED))
    assert data == {
        "device_kind": "Toy CPU",
        "entries": {
            ENTRY: {"config": {"block": 16}, "evidence": verdict},
            "zeta|xla|k": other,
        },
    }
    assert checkout.read(TUNED) == json.dumps(data, indent=2, sort_keys=True) + "\n"
    loaded = tuning.load("Toy CPU", checkout.folder / "reference_kernels/tuned")
    assert loaded[ENTRY] == {"block": 16}
    assert checkout.read(MODULE) == OLD_TEXT
    assert checkout.git("status", "--porcelain") == ""


@pytest.mark.usefixtures("contract_passes")
def test_new_source_keeps_the_configs_it_was_judged_with(checkout, judged, go, make):
    go(judged(make.candidate(OLD_TEXT, {KEY: {"block": 16}})))
    tuned = checkout.read(TUNED)
    done = go(judged())
    assert checkout.read(TUNED) == tuned
    evidence = json.loads(checkout.read(f"reference_kernels/toy/evidence/{done.id}.json"))
    assert evidence["tuning"] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"tier": "screen"},
        {"status": "no_gain"},
        {"status": "slower"},
        {"facts": {}},
        {"environment": None},
        {"op": "other"},
    ],
)
def test_verdict_that_allows_no_promotion(checkout, judged, go, untouched, changes):
    verdict = judged(**changes)
    untouched()
    with pytest.raises(NotPromotableError):
        go(verdict)


def test_process_trust_is_never_promoted(checkout, judged, go, make, untouched):
    verdict = judged(status="no_gain", trust="process")
    untouched()
    with pytest.raises(NotPromotableError, match="trust: process"):
        go(verdict)


def test_reviewer_is_named(judged, go, untouched):
    verdict = judged()
    untouched()
    with pytest.raises(UsageError, match="reviewer"):
        go(verdict, reviewer=" ")


def test_changed_incumbent(checkout, judged, go, relowering, untouched):
    verdict = judged()
    checkout.write(MODULE, OLD_TEXT + "# better\n")
    checkout.commit("someone else was here")
    untouched()
    with pytest.raises(ChangedIncumbentError, match="derived from"):
        go(verdict)
    assert relowering.calls == []


@pytest.mark.parametrize("tuned", [True, False])
def test_changed_tuning_entry(checkout, judged, go, make, untouched, tuned):
    candidate = make.candidate(OLD_TEXT, {KEY: {"block": 16}}) if tuned else make.candidate()
    verdict = judged(candidate)
    entry = {"config": {"block": 32}, "evidence": "e" * 64}
    checkout.write(TUNED, json.dumps({"device_kind": "Toy CPU", "entries": {ENTRY: entry}}))
    checkout.commit("someone else was here")
    untouched()
    with pytest.raises(ChangedIncumbentError, match="judged against"):
        go(verdict)


@pytest.mark.usefixtures("contract_passes")
def test_incumbent_that_changes_meanwhile(checkout, judged, go, make, untouched):
    verdict = judged()

    class Slow:
        def program_digests(self, candidate, *, library, disguise):
            checkout.write(MODULE, OLD_TEXT + "# better\n")
            checkout.commit("meanwhile")
            untouched()
            return dict(make.verdict(candidate).facts["programs"])

    with pytest.raises(ChangedIncumbentError):
        go(verdict, evaluator=Slow())


@pytest.mark.parametrize("stage", [False, True])
def test_dirty_checkout(checkout, judged, go, make, untouched, stage):
    verdict = judged(make.candidate(OLD_TEXT, {KEY: {"block": 16}}))
    entry = {"config": {}, "evidence": "e" * 64}
    entries = {"another|xla|k": entry}
    checkout.write(TUNED, json.dumps({"device_kind": "Toy CPU", "entries": entries}))
    if stage:
        checkout.git("add", "--all")
    untouched()
    with pytest.raises(DirtyCheckoutError, match="commit or stash"):
        go(verdict)


def test_module_that_is_not_committed(checkout, judged, go, untouched):
    checkout.git("rm", "--quiet", "--cached", MODULE)
    checkout.git("commit", "--quiet", "-m", "forgotten")
    verdict = judged()
    untouched()
    with pytest.raises(DirtyCheckoutError, match=r"xla\.py has uncommitted changes"):
        go(verdict)


def test_stale_toolchain(judged, go, make, untouched):
    packages = {**make.environment().packages, "jaxlib": "0.0.1"}
    verdict = judged(environment=make.environment(packages=packages))
    untouched()
    with pytest.raises(StaleToolchainError, match=r"jaxlib was 0\.0\.1"):
        go(verdict)


def test_source_that_looks_at_where_it_runs(judged, go, untouched):
    class Sniffed:
        def program_digests(self, candidate, *, library, disguise):
            return {"forward|tiny": "d" * 64}

    verdict = judged()
    untouched()
    with pytest.raises(DifferentProgramError, match="1 of 1 programs"):
        go(verdict, evaluator=Sniffed())


def test_program_that_is_missing_or_new(judged, go, make, untouched):
    verdict = judged(facts={"programs": {"forward|tiny": "d" * 64, "decode|tiny": "e" * 64}})

    class Fewer:
        def program_digests(self, candidate, *, library, disguise):
            return {"forward|tiny": "d" * 64}

    untouched()
    with pytest.raises(DifferentProgramError, match=r"decode\|tiny"):
        go(verdict, evaluator=Fewer())


def test_judge_that_fails(judged, go, untouched):
    class Dead:
        def program_digests(self, candidate, *, library, disguise):
            raise ConnectionError("the daemon is gone")

    verdict = judged()
    untouched()
    with pytest.raises(ConnectionError):
        go(verdict, evaluator=Dead())


def test_failing_contract(checkout, judged, go, make, untouched):
    verdict = judged(make.candidate(BROKEN_TEXT))
    untouched()
    with pytest.raises(ContractFailedError, match="toy is wrong") as caught:
        go(verdict)
    assert "nothing was written" in str(caught.value)


def test_hanging_contract(checkout, judged, go, make, untouched):
    verdict = judged(make.candidate("import time\ntime.sleep(600)\n"))
    untouched()
    with pytest.raises(ContractFailedError, match="did not end within 3 s"):
        go(verdict, contract_wall_s=3.0)


def test_missing_contract(checkout, judged, go, untouched):
    checkout.git("rm", "--quiet", "-r", "tests")
    checkout.commit("no tests")
    verdict = judged()
    untouched()
    with pytest.raises(ContractFailedError, match="no contract suite"):
        go(verdict)


def test_contract_sees_no_credentials(checkout, judged, go, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "secret")
    suite = "import os\n\n\ndef test_it():\n    assert 'SOME_API_KEY' not in os.environ\n"
    checkout.write("tests/reference_kernels/test_toy.py", suite)
    checkout.commit("suite")
    assert go(judged()).decision == "accepted"


def test_config_for_a_call_that_was_not_judged(judged, go, make, untouched):
    verdict = judged(make.candidate(OLD_TEXT, {"forward|x:float32[9]": {"block": 16}}))
    untouched()
    with pytest.raises(NotPromotableError, match="not judged on"):
        go(verdict)


@pytest.mark.parametrize(
    "files",
    [
        {"xla.py": NEW_TEXT, "config.json": json.dumps({KEY: {"block": 1}})},
        {"xla.py": OLD_TEXT, "config.json": "[]"},
        {"xla.py": OLD_TEXT, "config.json": "{"},
        {"xla.py": NEW_TEXT, "extra.py": ""},
        {"config.json": json.dumps({KEY: {}})},
        {"xla.py": OLD_TEXT},
    ],
)
def test_candidate_that_is_no_promotion(judged, go, make, untouched, files):
    verdict = judged(make.candidate().model_copy(update={"files": files}))
    untouched()
    with pytest.raises(NotPromotableError):
        go(verdict)


@pytest.mark.usefixtures("contract_passes")
def test_promoting_twice(checkout, judged, go):
    verdict = judged()
    go(verdict)
    state = checkout.state()
    with pytest.raises(AlreadyPromotedError):
        go(verdict)
    assert checkout.state() == state


@pytest.mark.usefixtures("contract_passes")
def test_failing_commit_hook(checkout, judged, go, untouched):
    hook = checkout.folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho house rules >&2\nexit 1\n")
    hook.chmod(0o755)
    verdict = judged()
    untouched()
    with pytest.raises(CheckoutError, match="house rules"):
        go(verdict)


@pytest.mark.usefixtures("contract_passes")
def test_full_disk_at_the_very_end(store, checkout, judged, go, untouched, monkeypatch):
    def full(*_args, **_kwargs):
        raise DiskFullError("no space left")

    verdict = judged()
    untouched()
    with monkeypatch.context() as patched:
        patched.setattr(type(store), "record_promotion", full)
        with pytest.raises(DiskFullError):
            go(verdict)


def test_no_git_checkout(tmp_path, judged, go, checkout, untouched):
    verdict = judged()
    untouched()
    with pytest.raises(CheckoutError, match="git"):
        go(verdict, checkout=tmp_path)
    with pytest.raises(CheckoutError, match="top folder"):
        go(verdict, checkout=checkout.folder / "tests")


def test_one_at_a_time(checkout, judged, go, untouched):
    verdict = judged()
    untouched()
    with only_one(checkout.folder), pytest.raises(CheckoutError, match="another promotion"):
        go(verdict)


KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from runs import landing, promotion
from runs.promotion import promote
from runs.store import RunStore
from tests.runs.conftest import Relowering

home, checkout, verdict, moment = sys.argv[1:]

promotion.run_contract = lambda *args, **kwargs: None
apply = landing.apply_edits

def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "files":
    landing.apply_edits = lambda folder, edits: (apply(folder, edits[:1]), die())
elif moment == "commit":
    RunStore.record_promotion = die
promote(RunStore(Path(home)), verdict, checkout=Path(checkout), evaluator=Relowering(),
        reviewer="ann", commit=True, now=datetime(2026, 12, 1, tzinfo=UTC))
"""


@pytest.mark.usefixtures("contract_passes")
@pytest.mark.parametrize("moment", ["files", "commit"])
def test_kill_9_while_writing_is_undone_by_the_next(store, checkout, judged, go, moment):
    verdict = judged()
    before = checkout.state()
    command = [sys.executable, "-c", KILLED, str(store.home), str(checkout.folder), verdict, moment]
    killed = subprocess.run(command, env=dict(os.environ), check=False)
    assert killed.returncode == -9
    assert checkout.state() != before
    with landing.checkout_for_writing(store, checkout.folder):
        assert checkout.state() == before
    assert go(verdict).decision == "accepted"


def test_interrupted_promotion_under_later_work_is_not_guessed_at(
    store, checkout, judged, go, monkeypatch
):
    verdict = judged()
    command = [sys.executable, "-c", KILLED, str(store.home), str(checkout.folder), verdict]
    subprocess.run([*command, "commit"], env=dict(os.environ), check=False)
    checkout.write("later.txt", "")
    checkout.commit("later")
    state = checkout.state()
    with pytest.raises(CheckoutError, match="by hand"):
        go(verdict)
    assert checkout.state() == state


def test_accept_is_promote():
    from runs import review

    assert review.accept is promotion.promote
