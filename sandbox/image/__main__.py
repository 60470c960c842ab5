"""``python -m sandbox.image``: make the sandbox's toolchain image, or say that it is there."""

import argparse
import json
import logging
import sys
import time
import typing

from sandbox.daemon import Daemon
from sandbox.errors import InfrastructureError
from sandbox.image import Mode, ensure_image


def main() -> int:
    """Returns the exit code: 0 done, 3 infrastructure."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.image", description=__doc__)
    parser.add_argument("--mode", choices=typing.get_args(Mode), default="auto")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    started = time.monotonic()
    try:
        with Daemon().client() as client:
            image = ensure_image(client, arguments.mode)
    except InfrastructureError as error:
        print(error, file=sys.stderr)
        return 3
    duration_s = round(time.monotonic() - started, 3)
    facts = {
        "tag": image.tag,
        "mode": image.mode,
        "digest": image.digest,
        "duration_s": duration_s,
    }
    print(json.dumps(facts) if arguments.json else f"{image.tag} ({image.mode} mode) is ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
