# SPDX-License-Identifier: Apache-2.0
# Completion of kymo for bash: `kymo _complete` knows what may stand there.

_kymo() {
    local words=() word joined='' line lines kind i
    # bash takes --option=VALUE for three words, and a::b, too.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $joined == yes || (($word == '='* || $word == ':'*) && i -gt 1) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        [[ $word == '=' || $word == : || $word == :: ]] && joined=yes || joined=''
    done
    mapfile -t lines < <("${COMP_WORDS[0]}" _complete "${words[@]}" 2>/dev/null)
    kind=${lines[-1]-} word=${COMP_WORDS[COMP_CWORD]} COMPREPLY=()
    [[ $word != '=' ]] || word=''
    case $kind in
    :commands) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
    :folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    :traces) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -X '!*.kymo' -- "$word"; compgen -f -X '!*.incomplete' -- "$word"; compgen -d -- "$word") ;;
    :nothing)
        for line in "${lines[@]:0:${#lines[@]}-1}"; do
            COMPREPLY+=("${line%%$'\t'*}")
        done
        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
        [[ ${#COMPREPLY[@]} -gt 0 ]] || compopt +o default +o bashdefault ;;
    esac
}
complete -o default -o bashdefault -F _kymo kymo
