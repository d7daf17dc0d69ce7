#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Check ring.pml with Spin: the protocol holds, and without any one of its edges it does not.
# Exit status 77 without Spin.
set -eu
command -v spin >/dev/null || { echo "spin is not installed" >&2; exit 77; }
model=$(realpath "$(dirname "$0")/ring.pml")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check EXPECTED DEFINITION…: build a checker with these definitions and run it.
cat >"$work/check" <<END_OF_CHECK
#!/bin/sh
set -eu
expected=\$1 name=\$(echo "\$*" | tr -d ' -')
shift
mkdir "$work/\$name"
cd "$work/\$name"
spin "\$@" -a "$model" >spin.log 2>&1 && ${CC:-cc} -O2 -w -DSAFETY -DCOLLAPSE -o pan pan.c >cc.log 2>&1 ||
    { cat spin.log cc.log; echo "cannot build: \$*"; exit 1; }
# Not found within its limits is not found: only a complete search counts as one.
./pan -m100000 -w22 >pan.log 2>&1 || true
if grep -q 'errors: 0' pan.log && ! grep -Eq 'Search not completed|max search depth too small' pan.log; then
    found=holds
elif grep -Eq 'assertion violated|invalid end state \(' pan.log && grep -q 'errors: 1' pan.log; then
    found=fails
else
    found=unknown
fi
echo "\$found \$*: \$(sed -n 's/ *\([0-9]*\) states, stored.*/\1/p' pan.log) states"
[ \$found = \$expected ] || { cat pan.log; echo "expected: \$expected"; exit 1; }
END_OF_CHECK

xargs -P "$(nproc)" -L 1 sh "$work/check" <<'END_OF_LIST'
holds -DOVERWRITE
fails -DOVERWRITE -DNO_UNREADABLE
fails -DOVERWRITE -DNO_RECHECK
fails -DOVERWRITE -DNO_P0
fails -DOVERWRITE -DNO_C0
fails -DOVERWRITE -DNO_P1
fails -DOVERWRITE -DNO_C1
fails -DOVERWRITE -DNO_P2
fails -DOVERWRITE -DNO_C2
fails -DOVERWRITE -DNO_P3
holds -DBLOCK
fails -DBLOCK -DNO_P4
fails -DBLOCK -DNO_C4
fails -DBLOCK -DNO_P6
fails -DBLOCK -DNO_C6
fails -DBLOCK -DNO_P6_WAKE_FIRST
holds -DBLOCK -DONE_SLOT
fails -DBLOCK -DONE_SLOT -DNO_C6_WAKE
holds -DSTREAM
fails -DSTREAM -DNO_P5
fails -DSTREAM -DNO_C5
fails -DSTREAM -DNO_C5_ORDER
holds -DKILL
fails -DKILL -DNO_UNREADABLE
fails -DKILL -DNO_CELL_FIRST
END_OF_LIST
