"""From an offline run to a promotion in the library and back, in a scratch clone."""

import json

import pytest

from tests.end_to_end.conftest import Workbench

pytestmark = pytest.mark.docker


def test_found_promoted_refused_and_rolled_back(scratch: Workbench) -> None:
    ran = scratch.run(
        *("optimize", "gated_delta_rule", "--target", "cpu", "--proposer", "tune"),
        *("--rounds", "2", "--width", "2", "--seed", "0", "--patience", "9"),
    )
    assert ran.code == 0, ran.stdout + ran.stderr
    found = ran.json()
    winner = found["promotable"][0]
    best = next(c for c in found["candidates"] if c["candidate"] == winner)
    assert best["status"] == "faster"
    assert best["tier"] == "promote"
    assert best["low"] > 1.03

    reviewed = scratch.run("review", found["run"]).json()
    assert reviewed["candidates"][0]["candidate"] == winner

    base = scratch.git("rev-parse", "HEAD").strip()
    promoted = scratch.run("promote", winner, "--reason", "measured")
    assert promoted.code == 0, promoted.stdout + promoted.stderr
    promotion = promoted.json()["promotion"]
    assert promotion["decision"] == "accepted"
    assert promotion["commit"] == scratch.git("rev-parse", "HEAD").strip() != base
    changed = scratch.git("diff", "--name-only", base).split()
    assert any(name.startswith("reference_kernels/tuned/cpu") for name in changed)
    assert any("/evidence/" in name for name in changed)
    assert scratch.git("status", "--porcelain") == ""
    tuned = json.loads((scratch.checkout / "reference_kernels/tuned/cpu.json").read_text())
    assert any("gated_delta_rule|xla|forward|" in key for key in tuned["entries"])
    evidence = next(name for name in changed if "/evidence/" in name)
    assert str(scratch.checkout) not in (scratch.checkout / evidence).read_text()

    again = scratch.run("promote", winner)
    assert again.code == 1
    assert "error" in again.json()

    undone = scratch.run("rollback", promotion["id"], "--reason", "a test")
    assert undone.code == 0, undone.stdout + undone.stderr
    assert (
        scratch.git(
            "diff",
            base,
            "--",
            "reference_kernels/tuned",
            "reference_kernels/gated_delta_rule/xla.py",
        )
        == ""
    )
    assert scratch.git("status", "--porcelain") == ""
