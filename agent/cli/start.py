"""`kernelwright` alone: what to do first."""

from __future__ import annotations

from agent.cli import output

FIRST = (
    ("kernelwright doctor", "what this machine has; for each lack, what mends it"),
    ("kernelwright ops", "what there is to optimise"),
    ("kernelwright optimize rms_norm --budget-wall-s 600", "ten minutes, offline, no key needed"),
    ("kernelwright runs list", "what was tried, found and spent"),
    ("kernelwright review RUN", "diff, numbers and evidence; accept, reject or put off"),
)


def show(*, as_json: bool) -> None:
    """Print the first steps."""
    if as_json:
        steps = [{"command": command, "purpose": purpose} for command, purpose in FIRST]
        output.dump_json({"first": steps})
        return
    width = max(len(command) for command, _ in FIRST)
    print("Kernelwright makes accelerator kernels faster, and proves it.\n")
    for command, purpose in FIRST:
        print(f"  {command:{width}}  {purpose}")
    print("\nEvery verb: kernelwright --help; one verb: kernelwright VERB --help.")
