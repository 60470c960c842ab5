#!/usr/bin/env bash
# Write constraints.txt from what .venv holds: names and versions, no paths and no hosts.
set -euo pipefail
cd "$(dirname "$0")/.."
{
    sed -n '/^#/p' constraints.txt
    .venv/bin/python -m pip freeze --exclude-editable | grep -E '^[A-Za-z0-9._-]+==' | LC_ALL=C sort -f
} >constraints.new
mv constraints.new constraints.txt
