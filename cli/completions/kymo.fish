# SPDX-License-Identifier: Apache-2.0
# Completion of kymo for fish: `kymo _complete` knows what may stand there.

function __kymo_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l lines ($words[1] _complete $words[2..-1] "$token" 2>/dev/null)
    set -l option (string match -r -- '^-[^=]*=' "$token")
    test (count $lines) -lt 2; or printf '%s\n' "$option"$lines[1..-2]
    set token (string replace -r -- '^-[^=]*=' '' "$token")
    switch "$lines[-1]"
        case :files
            __fish_complete_path "$token" | string replace -r '^' -- "$option"
        case :folders
            __fish_complete_directories "$token" | string replace -r '^' -- "$option"
        case :traces
            __fish_complete_suffix .kymo
        case :commands
            __fish_complete_command | string replace -r '^' -- "$option"
    end
end
complete -c kymo -f -a '(__kymo_complete)'
