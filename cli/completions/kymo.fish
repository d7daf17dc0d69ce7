# SPDX-License-Identifier: Apache-2.0
# Completion of kymo for fish: verbs and options as --help lists them; anything else is a file.

complete -c kymo -n __fish_use_subcommand -f -a "(kymo --help | string replace -rf '^  ([a-z]+) +(.*)' '\$1\t\$2')"
complete -c kymo -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' \
    -a "(kymo (commandline -opc)[2] --help 2>/dev/null | string match -ra -- '--[a-z-]+=?')"
