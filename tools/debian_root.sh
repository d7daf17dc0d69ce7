#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Run a command in a root of SUITE, in this folder; make the root first if there is none.  That is how the
# tests meet the CPythons that distributions ship (noble: 3.12, trixie: 3.13, forky: 3.14 and 3.15).
#
#   tools/debian_root.sh SUITE [command args…]
#
# Roots lie under $KYMO_ROOTS (default build/roots).  Mounts live in a private mount namespace and
# end with the command.  Needs root: the caller decides about sudo.
set -euo pipefail

suite=${1:?usage: debian_root.sh SUITE [command…]}
shift
project=$(cd "$(dirname "$0")/.." && pwd)
roots=$(realpath -m "${KYMO_ROOTS:-$project/build/roots}")
root=$roots/$suite
case $suite in
noble) distribution=ubuntu script=gutsy ;;
*) distribution=debian script=sid ;;
esac

say() { echo "debian_root: $*" >&2; }

# The machine's own mirror of @distribution; nothing where it has none, and debootstrap knows a default.
mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
        grep -E '^(deb |URIs:)' | grep -oE "https?://[^] ]+/$distribution/?( |$)" | head -n 1 | tr -d ' '
}

make_root() {
    command -v debootstrap >/dev/null || {
        say "installing debootstrap"
        apt-get install -yq --no-install-recommends debootstrap >&2
    }
    local new=$root.new.$$ options=(--variant=minbase --include=ca-certificates)
    case $distribution in
    debian)
        local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
        [ -e $keyring ] || apt-get install -yq --no-install-recommends debian-archive-keyring >&2
        options+=("--keyring=$keyring") ;;
    ubuntu) # its keys are in a package of Debian's
        local keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
        [ -e $keyring ] || {
            "$0" trixie sh -c 'apt-get update -q && apt-get install -yq ubuntu-keyring' >&2
            keyring=$roots/trixie$keyring
        }
        options+=("--components=main,universe" "--keyring=$keyring") ;;
    esac
    say "making $root"
    # A script named here serves suites that are younger than debootstrap.
    debootstrap "${options[@]}" "$suite" "$new" "$(mirror || true)" "/usr/share/debootstrap/scripts/$script" \
        >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; rm -rf "$new"; return 1; }
    # Mirrors that are frozen at a date have Release files that have expired since.
    printf '%s\n' 'Acquire::Check-Valid-Until "false";' 'Acquire::Check-Date "false";' \
        'APT::Install-Recommends "false";' 'Dpkg::Options { "--force-unsafe-io"; };' >"$new/etc/apt/apt.conf.d/90kymo"
    rm -rf "$root"
    mv "$new" "$root"
}

# What of the host a command needs to reach the network as the host does.
share_host() {
    local file
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt "${HOME:-/root}/.config/pip/pip.conf"; do
        [ -e "$file" ] && install -D -m 644 "$(realpath "$file")" "$root$file"
    done
    cp -f /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
}

mkdir -p "$roots"
exec 9>"$roots/$suite.lock"
flock 9
[ -x "$root/usr/bin/apt-get" ] || make_root
share_host
flock -u 9
exec 9>&-

[ $# -gt 0 ] || set -- /bin/bash
unset PIP_FIND_LINKS # a folder of the host
export KYMO_IN_ROOT=$suite DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck disable=SC2016  # the inner shell expands them
exec unshare --mount --propagation private /bin/bash -c '
    root=$1 project=$2; shift 2
    for folder in /proc /sys /dev /tmp "$project"; do
        mkdir -p "$root$folder"
        mount --rbind "$folder" "$root$folder"
    done
    exec chroot "$root" /bin/bash -c '\''cd "$1" && shift && exec "$@"'\'' kymo "$project" "$@"' \
    kymo "$root" "$project" "$@"
