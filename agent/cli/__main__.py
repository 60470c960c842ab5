"""`python -m agent.cli`."""

from agent.cli.main import run

run()
