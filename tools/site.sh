# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# Sourced by `dev`, whose variables it uses: the documentation as a site, and its pictures.

# Sphinx reads copies of README.md and docs/, what they link to, as it lies here, and the manual pages as Markdown.
# A link or an anchor that leads nowhere, and a document that docs/README.md leaves out, is an error.
make_site() {
    local pages=$build/pages page name
    tool_venv docs
    need mandoc
    rm -rf "$pages"
    mkdir -p "$pages/manual"
    cp -r ./*.md docs "$pages"
    for name in *; do
        [ "$name" = build ] || [ -e "$pages/$name" ] || ln -s "../../$name" "$pages/$name"
    done
    for page in docs/man/*.1; do
        name=$(basename "$page" .1)
        { echo "# $name"; mandoc -T markdown "$page" | sed -E '1d; s/^# /## /'; } >"$pages/manual/$name.md"
    done
    "$venv/bin/sphinx-build" -q -W --keep-going -j "$(nproc)" -c tools/site -d "$build/doctrees" "$pages" "$build/site" ||
        die "docs: the documents have errors"
    ln -sf README.html "$build/site/index.html"
    say "the site is $build/site/index.html"
}

# The pictures of README.md, by a terminal's emulator and headless Chromium.
make_pictures() {
    command -v chromium-headless-shell chromium >/dev/null || need chromium
    need fonts-dejavu-core
    build_preset dev "$(buildable_pythons)"
    local recorded=$python
    tool_venv pictures
    "$venv/bin/python" tools/pictures/make.py "$tree/bin/kymo" "$recorded" docs/pictures
}
