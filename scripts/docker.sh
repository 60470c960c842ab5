#!/usr/bin/env bash
# Have a Docker daemon if this machine lets us. Exit 0: one answers. Exit 1: none; why is on
# standard error. It never touches a daemon that answers, nor one that DOCKER_HOST points to.
set -euo pipefail

say() { printf 'docker: %s\n' "$*" >&2; }
answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        return 1
    fi
}

command -v docker >/dev/null && answers && exit 0

if [ -n "${DOCKER_HOST:-}" ]; then
    say "no daemon answers at DOCKER_HOST=$DOCKER_HOST; unset it or start that daemon"
    exit 1
fi
if ! as_root true; then
    if [ -S /var/run/docker.sock ] && [ ! -w /var/run/docker.sock ]; then
        say "a daemon is there but this user may not use it: sudo usermod -aG docker $(id -un), then log in again"
    else
        say "no daemon answers, and starting one needs root: sudo apt-get install docker.io && sudo systemctl start docker"
    fi
    exit 1
fi

if ! command -v dockerd >/dev/null || ! command -v docker >/dev/null; then
    if ! command -v apt-get >/dev/null; then
        say "Docker is not installed and there is no apt-get here: see https://docs.docker.com/engine/install/"
        exit 1
    fi
    say "installing docker.io (once)"
    # Debian 13 keeps the client in a package of its own.
    if ! { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends docker.io iptables ca-certificates; } \
        >/dev/null 2>&1; then
        say "apt-get could not install docker.io; try it by hand to see why"
        exit 1
    fi
    command -v docker >/dev/null || as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends docker-cli >/dev/null 2>&1 || true
fi

wait_for_daemon() {
    for _ in $(seq 1 "$1"); do
        answers && return 0
        sleep 1
    done
    return 1
}

if [ -d /run/systemd/system ]; then
    as_root systemctl start docker >/dev/null 2>&1 && wait_for_daemon 20 && exit 0
fi

log=/var/log/kernelwright-dockerd.log
# A machine without systemd, itself perhaps a container: start it by hand. The sandbox gives its
# containers no network, so a kernel without iptables or a bridge will do as well.
for flags in "" "--storage-driver=vfs" "--iptables=false --bridge=none --storage-driver=vfs"; do
    say "starting dockerd $flags"
    # shellcheck disable=SC2086
    as_root sh -c "setsid nohup dockerd $flags >$log 2>&1 </dev/null & echo \$! >/tmp/.kernelwright-dockerd.pid"
    wait_for_daemon 20 && exit 0
    as_root sh -c 'kill "$(cat /tmp/.kernelwright-dockerd.pid)" 2>/dev/null; sleep 2' || true
done
say "dockerd does not start here; its log is $log"
exit 1
