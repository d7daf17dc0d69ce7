# SPDX-License-Identifier: Apache-2.0
"""The manual pages and the completions against what --help says; the form of all documents."""
import re
import shutil
import subprocess

import pytest

from conftest import KYMO, ROOT, environment

MAN = ROOT / "docs" / "man"
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *MAN.glob("*.1")])
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES"]


@pytest.fixture(scope="module")
def verbs(kymo):
    return re.findall(r"^  ([a-z]+) ", kymo("--help").stdout, re.M)


def options_of_help(text):
    return {name for column in re.findall(r"^  (-.*?)(?:  |$)", text, re.M) for name in re.findall(r"--?[a-z][a-z-]*", column)}


def options_of_page(text):
    return {"-" + name for item in re.findall(r"^\.It (Fl .*)", text, re.M) for name in re.findall(r"Fl ([a-z-]+)", item)}


def test_every_verb_has_a_page_and_every_page_a_verb(verbs):
    assert {page.name for page in MAN.glob("*.1")} == {"kymo.1"} | {f"kymo-{verb}.1" for verb in verbs}
    listed = re.findall(r"^\.It Xr kymo-([a-z]+) 1\n(.*)", (MAN / "kymo.1").read_text(), re.M)
    assert [verb for verb, _ in listed] == verbs


def test_the_summary_of_a_verb_is_the_same_in_both(kymo):
    summaries = dict(re.findall(r"^  ([a-z]+) +(.*)", kymo("--help").stdout, re.M))
    assert summaries == dict(re.findall(r"^\.It Xr kymo-([a-z]+) 1\n(.*)", (MAN / "kymo.1").read_text(), re.M))


def test_a_page_has_the_options_of_its_verb(kymo, verbs):
    for verb in verbs:
        page = (MAN / f"kymo-{verb}.1").read_text()
        assert options_of_page(page) == options_of_help(kymo(verb, "--help").stdout), verb
        sections = [section.strip('"') for section in re.findall(r"^\.Sh (.*)", page, re.M)]
        assert [section for section in sections if section in SECTIONS] == SECTIONS, verb
        assert set(sections) <= {*SECTIONS, "COMMANDS", "FILES", "ENVIRONMENT", "SEE ALSO"}, verb


def prose(document):
    """The lines of @document that are no code and no table, with their numbers."""
    text = document.read_text()
    for block in re.findall(r"^ *```.*?^ *```$" if document.suffix == ".md" else r"^\.Bd.*?^\.Ed$", text, re.M | re.S):
        text = text.replace(block, "\n" * block.count("\n"))
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if not re.match(r" *\||    |\.", line)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_of_prose_have_100_columns_at_most(document):
    assert [f"{document}:{number}: {line}" for number, line in prose(document) if len(line) > 100] == []


@pytest.mark.skipif(not shutil.which("groff"), reason="there is no groff")
def test_the_pages_are_well_formed():
    for page in MAN.glob("*.1"):
        done = subprocess.run(["groff", "-mdoc", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True)
        if "can't open" in done.stderr or "cannot open" in done.stderr:
            pytest.skip("groff has no mdoc macros")
        assert (done.returncode, done.stderr) == (0, ""), page


def complete(*words):
    """What bash offers for the last of @words, and whether a space would follow."""
    script = """
        source "$0"
        compopt() { echo "$@" >&2; }
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _kymo
        printf '%s\\n' "${COMPREPLY[@]}"
        """
    done = subprocess.run(["bash", "-c", script, ROOT / "cli" / "completions" / "kymo.bash", *words], env=environment(),
                          capture_output=True, text=True, check=True)
    return done.stdout.split(), done.stderr == ""


def test_bash_completes_verbs_and_options(verbs):
    assert complete(KYMO, "") == (verbs, True)
    assert complete(KYMO, "s") == (["stats", "source", "suspects", "salvage", "snapshot"], True)
    assert complete(KYMO, "record", "--no-") == (["--no-stdlib", "--no-sources", "--no-code-writes", "--no-subprocesses"], True)
    assert complete(KYMO, "record", "--pol") == (["--policy="], False)
    assert complete(KYMO, "events", "-o", "x", "--f") == (["--from=", "--file=", "--function="], False)


def test_bash_leaves_files_to_readline():
    assert complete(KYMO, "info", "run") == ([], True)
    listing = subprocess.run(["bash", "-c", f"source '{ROOT}/cli/completions/kymo.bash'; complete -p kymo"],
                             capture_output=True, text=True, check=True).stdout
    assert "-o default" in listing and "-F _kymo" in listing
