#!/usr/bin/env bash
# The demo: optimise gated_delta_rule on this CPU with the offline proposers, in Docker if it is to be had.
set -euo pipefail
cd "$(dirname "$0")/.."
kernelwright=.venv/bin/kernelwright

backend=docker
if ! { scripts/docker.sh && .venv/bin/python -m sandbox.image; }; then
    backend=subprocess
    cat >&2 <<'TEXT'
demo: no Docker here (why is above). The run goes on with `--backend subprocess`: the offline proposers
demo: write every candidate themselves, so nothing foreign runs, but this is no security boundary.
TEXT
fi

# The verb itself ends by saying what it found and where to look next.
exec "$kernelwright" optimize gated_delta_rule --target cpu --backend "$backend" \
    --proposer rewrite --proposer tune --seed 0 --budget-wall-s 285 "$@"
