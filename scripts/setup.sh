#!/usr/bin/env bash
# Make .venv with what a set of extras needs; do nothing when that is already so.
#   scripts/setup.sh agent            what the workbench needs
#   scripts/setup.sh agent,torch,test   and what its tests need
set -euo pipefail
cd "$(dirname "$0")/.."
extras=${1:-agent}

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

# Runs a command as root where we are root or sudo asks for no password.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        return 1
    fi
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; }

find_python() {
    local candidate seen=""
    for candidate in "${PYTHON:-}" python3.12 python3.13 python3.14 python3 python \
        "$HOME"/.pyenv/versions/3.*/bin/python "$HOME"/.local/share/uv/python/*/bin/python3 \
        /usr/local/bin/python3 /opt/python*/bin/python3; do
        [ -n "$candidate" ] && command -v "$candidate" >/dev/null || continue
        if is_new_enough "$candidate"; then
            # A pyenv shim would look for a version file later; keep the interpreter itself.
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
        seen="$seen $candidate ($("$candidate" -V 2>&1 | tail -n 1))"
    done
    fail "Python 3.12 or newer is missing${seen:+; found only:$seen}." \
        "Debian 13, Ubuntu 24.04: apt-get install python3 python3-venv" \
        "elsewhere: pyenv install 3.12, or uv python install 3.12, or PYTHON=/path/to/python3.12 make setup"
}

command -v git >/dev/null || fail "git is missing: apt-get install git"

fingerprint=$(cat pyproject.toml constraints.txt "$0" | { cat; pwd; } | sha256sum | cut -c1-16)
stamp=.venv/.kernelwright-setup
if [ -x .venv/bin/python ] && .venv/bin/python -c '' 2>/dev/null &&
    grep -qsx "$extras $fingerprint" "$stamp"; then
    exit 0
fi

if ! { [ -x .venv/bin/python ] && is_new_enough .venv/bin/python && [ -x .venv/bin/pip ]; }; then
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        echo "setup: installing python$version-venv"
        if ! { command -v apt-get >/dev/null && as_root apt-get update -qq &&
            as_root apt-get install -y -qq "python$version-venv"; } >/dev/null; then
            fail "the venv module of $python is missing: apt-get install python$version-venv"
        fi
    fi
    echo "setup: making .venv with $("$python" -V) ($python)"
    "$python" -m venv --clear .venv
fi

echo "setup: installing kernelwright[$extras] into .venv (minutes the first time)"
export PIP_DISABLE_PIP_VERSION_CHECK=1
.venv/bin/python -m pip install --quiet -e ".[$extras]" -c constraints.txt ||
    fail "pip could not install kernelwright[$extras]; its message is above." \
        "Behind a proxy or on a mirror, set what pip needs (PIP_INDEX_URL, HTTPS_PROXY) and run again."

# What was installed serves every smaller set too.
{
    echo "$extras $fingerprint"
    case "$extras" in agent,*) echo "agent $fingerprint" ;; esac
} >"$stamp.new"
mv "$stamp.new" "$stamp"
