"""`python -m agent.cli`, and the console entry."""

import os
import signal
import sys
from types import FrameType


def run() -> None:
    """Console entry."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from agent.cli.main import app

    app()


def _leave(number: int, frame: FrameType | None) -> None:
    """Ctrl-C while nothing is at stake, as during start-up, ends the process there and then.

    An exception would not do: libraries swallow it while they load, or abort. Whoever has something
    to put in order first takes this handler's place (`agent.cli.interrupt`).
    """
    if "--json" in sys.argv:
        error = '{"kind": "interrupted", "message": "interrupted", "exit_code": 130}'
        sys.stdout.write(f'{{"error": {error}}}\n')
        sys.stdout.flush()
    else:
        sys.stderr.write("kernelwright: interrupted\n")
        sys.stderr.flush()
    os._exit(130)


if __name__ == "__main__":
    run()
