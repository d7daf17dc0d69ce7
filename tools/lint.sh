# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# Sourced by `dev`, whose variables it uses: what looks at the code without running it.

# lint [files]: those, or every file that git knows.
lint() {
    local files=("$@") in_c in_python in_shell found=()
    tool_venv lint
    [ $# -gt 0 ] || mapfile -t files < <(git -c safe.directory="$PWD" ls-files)
    [ ${#files[@]} != 0 ] || die "lint: no files: git does not know of any here"
    mapfile -t in_c < <(printf '%s\n' "${files[@]}" | grep -E '\.[ch]$')
    mapfile -t in_python < <(printf '%s\n' "${files[@]}" | grep -E '\.pyi?$')
    mapfile -t in_shell < <(printf '%s\n' "${files[@]}" | xargs -r grep -lE '^#(!/bin/(ba)?sh| shellcheck shell)' --)
    [ ${#in_shell[@]} = 0 ] || "$venv/bin/shellcheck" -x "${in_shell[@]}" || found+=(shellcheck)
    [ ${#in_python[@]} = 0 ] || "$venv/bin/ruff" check --quiet --force-exclude "${in_python[@]}" || found+=(ruff)
    [ ${#in_c[@]} = 0 ] || tidy "${in_c[@]}" || found+=(clang-tidy)
    [ ${#found[@]} = 0 ] || die "lint: ${found[*]} found something"
    say "lint: nothing found in ${#in_c[@]} files of C, ${#in_python[@]} of Python, ${#in_shell[@]} of shell"
}

# clang-tidy on the sources among the files, as they are compiled; headers are looked at where they are included.
tidy() {
    local commands=$build/tidy$place sources
    build_preset dev "$(buildable_pythons)"
    mkdir -p "$commands"
    mapfile -t sources < <("$venv/bin/python" tools/tidy_commands.py "$tree" "$commands" "$@")
    [ ${#sources[@]} = 0 ] || printf '%s\0' "${sources[@]}" |
        xargs -0 -n 4 -P "$(nproc)" "$venv/bin/clang-tidy" --quiet -p "$commands" 2>"$commands/log" ||
        { grep 'error:' "$commands/log" >&2; return 1; }
}
