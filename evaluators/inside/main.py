"""Start the judge in its own container: artefacts in, a report out. No candidate Python is here.

main.py --library DIR --in DIR --out DIR
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path


def await_inputs() -> None:
    """Say that all is ready and wait for the candidate; where it is there already, go on."""
    with contextlib.suppress(OSError):
        os.write(0, b"\n")
    while os.read(0, 64):
        pass


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--in", dest="source", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    here = Path(__file__).resolve()
    # A script's own folder is on the path, where `profile.py` would shadow the standard library's.
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != here.parent]
    sys.path[:0] = [str(options.library.parent), str(here.parents[2])]

    from evaluators.inside.judgement import Judgement
    from evaluators.inside.protocol import JudgeRequest, Preparation
    from evaluators.inside.ready import get_ready

    preparation = options.source / "preparation.json"
    yardsticks = {}
    if preparation.exists():
        asked = Preparation.model_validate_json(preparation.read_bytes())
        yardsticks = get_ready(asked, options.source)
    await_inputs()
    request = JudgeRequest.model_validate_json((options.source / "request.json").read_bytes())
    report = Judgement(request, options.source, options.out, yardsticks).report()
    (options.out / "report.json").write_text(report.model_dump_json())
    return 0


if __name__ == "__main__":
    sys.exit(main())
