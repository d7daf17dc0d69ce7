# SPDX-License-Identifier: Apache-2.0
# Completion of kymo for bash: verbs and options as --help lists them; anything else is a file.

_kymo() {
    local kymo=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} known
    if ((COMP_CWORD == 1)); then
        known=$("$kymo" --help 2>/dev/null | sed -n 's/^  \([a-z]\+\) .*/\1/p')
    elif [[ $word == -* ]]; then
        known=$("$kymo" "${COMP_WORDS[1]}" --help 2>/dev/null | grep -o -e '--[a-z-]\+=\?')
    fi
    mapfile -t COMPREPLY < <(compgen -W "$known" -- "$word")
    [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}
complete -o default -o bashdefault -F _kymo kymo
