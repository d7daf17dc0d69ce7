# SPDX-License-Identifier: Apache-2.0
"""The manual pages and the completions against what --help says; the form of all documents."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import KYMO, ROOT, environment
from terminal import Terminal

sys.path.insert(0, str(ROOT / "tools"))

import man_options

MAN = ROOT / "docs" / "man"
DOCUMENTS = sorted([*(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")),
                    *(ROOT / "docs").rglob("*.md"), *MAN.glob("*.1")])
COMPLETIONS = ROOT / "cli" / "completions"
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


def prose(document, with_tables=False):
    """The lines of @document that are neither code nor table, with their numbers."""
    text = document.read_text()
    for block in re.findall(r"^ *```.*?^ *```$" if document.suffix == ".md" else r"^\.Bd.*?^\.Ed$", text, re.M | re.S):
        text = text.replace(block, "\n" * block.count("\n"))
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if not re.match(r"    |\." if with_tables else r" *\||    |\.", line)]


# Found in one reading of the documents, and not to come back: what to write instead.
AVOIDED = {
    r"\b(is|are|was|were|be|been) told\b(?! to\b)": "reported, recorded, shown",
    r"(?<!here )\b(is|are) no (?!longer|more|less|larger|smaller|slower|faster|older|newer)": "is not a",
    r"\banew\b": "again",
    r"\bSince then\b": "the present state alone",
    r"\bfor want of\b": "because there is no",
    r"\bin (the|its|their) place of\b": "instead of",
    r"\bso many\b": "the number of, at most N",
}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_plain_words(document):
    text = " ".join(line for _, line in prose(document, with_tables=True))
    assert {found.group(): better for pattern, better in AVOIDED.items() for found in re.finditer(pattern, text)} == {}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_of_prose_have_100_columns_at_most(document):
    assert [f"{document}:{number}: {line}" for number, line in prose(document) if len(line) > 100] == []


def test_files_that_contributing_names_are_there():
    """All but those of its examples, and what is built."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)+[\w.-]*)`", text)) | set(re.findall(r"tests/python/test_\w+\.py", text))
    named = {name for name in named if not re.search("^build/|threads|3_16|TARGET", name)}
    assert len(named) > 40 and not [name for name in sorted(named) if not (ROOT / name).exists()]


@pytest.mark.skipif(not shutil.which("groff"), reason="there is no groff")
def test_the_pages_are_well_formed():
    for page in MAN.glob("*.1"):
        done = subprocess.run(["groff", "-mdoc", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True)
        if "can't open" in done.stderr or "cannot open" in done.stderr:
            pytest.skip("groff has no mdoc macros")
        assert (done.returncode, done.stderr) == (0, ""), page


def test_options_and_summaries_are_those_of_the_program():
    """`./dev man` makes them."""
    for name, text in man_options.pages(KYMO, MAN):
        assert (MAN / name).read_text() == text, name


def test_the_package_asks_for_options_that_there_are(kymo):
    known = {option.get("name", option.get("letter"))
             for verb in json.loads(kymo("_options").stdout).values() for option in verb["options"]}
    asked = {name for path in (ROOT / "pyext" / "kymo").rglob("*.py")
             for name in re.findall(r"\boptions\.(?:all|word|number|flag|switch)\(\"([a-z-]+)\"\)", path.read_text())}
    assert {"format", "pass", "min-duration"} < asked
    assert asked - known == {"live"}  # which the native program adds


def offers(kymo, *words):
    """What may become of the last word, without what explains it; and what else may stand there."""
    *lines, kind = kymo("_complete", *words).stdout.splitlines()
    return [line.split("\t")[0] for line in lines], kind


def test_what_may_stand_where(kymo, verbs):
    assert offers(kymo, "") == (verbs, ":nothing")
    assert offers(kymo, "record", "--policy", "") == offers(kymo, "record", "--policy=") == (["block", "drop", "overwrite"], ":nothing")
    assert offers(kymo, "record", "--events=calls,f") == (["calls,flow", "calls,full"], ":nothing")
    assert offers(kymo, "events", "--kind=RAISE,LI") == (["RAISE,LINE"], ":nothing")
    assert offers(kymo, "export", "--format=p") == (["perfetto", "pprof", "pstats", "parquet"], ":nothing")
    for words, kind in {("info",): "traces", ("record", "-o"): "files", ("record", "--session-dir"): "folders", ("source", "x.kymo"): "files",
                        ("dap", "--port"): "nothing", ("top", "--python"): "commands", ("info", "x.kymo"): "nothing",
                        ("suspects", "--pass", "x.kymo"): "traces", ("record", "-q", "app.py"): "files", ("verify", "--"): "traces",
                        ("record", "-m", "pytest"): "files", ("no-such-verb",): "nothing"}.items():
        assert offers(kymo, *words, "") == ([], f":{kind}"), words


def test_every_option_is_offered_and_explained(kymo, verbs):
    for verb in verbs:
        *lines, _ = kymo("_complete", verb, "-").stdout.splitlines()
        names = {line.split("\t")[0].rstrip("=") for line in lines}
        assert names == {name for name in options_of_help(kymo(verb, "--help").stdout) if name.startswith("--")} | (names & {"-n", "-m", "-c"})
        assert all(re.fullmatch(r"[^\t]+\t[^\t]+", line) for line in lines), verb


def complete(*words):
    """What bash offers for the last of @words, and whether a space would follow."""
    script = """
        source "$0"
        compopt() { echo "$@" >&2; }
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _kymo
        printf '%s\\n' "${COMPREPLY[@]}"
        """
    done = subprocess.run(["bash", "-c", script, COMPLETIONS / "kymo.bash", *words], env=environment(),
                          capture_output=True, text=True, check=True)
    return done.stdout.split(), done.stderr == ""


def test_bash_completes_verbs_and_options(verbs):
    assert complete(KYMO, "") == (verbs, True)
    assert complete(KYMO, "s") == (["stats", "source", "suspects", "salvage", "snapshot"], True)
    assert complete(KYMO, "record", "--policy", "=", "") == (["block", "drop", "overwrite"], True)
    assert complete(KYMO, "record", "--policy", "=", "o") == (["overwrite"], True)
    assert complete(KYMO, "coverage", "--context", "=", "a", "::", "b", "--sort", "=", "b") == (["branch", "brpart"], True)
    assert complete(KYMO, "record", "--no-") == (["--no-stdlib", "--no-sources", "--no-code-writes", "--no-subprocesses"], True)
    assert complete(KYMO, "record", "--pol") == (["--policy="], False)
    assert complete(KYMO, "events", "-o", "x", "--f") == (["--file=", "--function=", "--from="], False)


def test_bash_offers_traces_and_folders(tmp_path):
    for name in ("run.kymo", "live.kymo.incomplete", "run.txt"):
        (tmp_path / name).touch()
    (tmp_path / "runs").mkdir()
    assert complete(KYMO, "info", f"{tmp_path}/")[0] == [f"{tmp_path}/{name}" for name in ("run.kymo", "live.kymo.incomplete", "runs")]
    assert complete(KYMO, "record", "--session-dir", "=", f"{tmp_path}/r")[0] == [f"{tmp_path}/runs"]


def test_bash_leaves_files_to_readline(tmp_path):
    assert complete(KYMO, "record", "-o", "run") == ([], True)
    assert complete(KYMO, "info", f"{tmp_path}/run") == ([], False)
    listing = subprocess.run(["bash", "-c", f"source '{COMPLETIONS}/kymo.bash'; complete -p kymo"],
                             capture_output=True, text=True, check=True).stdout
    assert "-o default" in listing and "-F _kymo" in listing


@pytest.mark.skipif(not shutil.which("fish"), reason="there is no fish")
def test_fish(tmp_path):
    (tmp_path / "run.kymo").touch()
    (tmp_path / "runs").mkdir()

    def ask(line):
        script = f"source '{COMPLETIONS}/kymo.fish'; complete -C '{line}'"
        environ = environment() | {"PATH": f"{KYMO.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
        done = subprocess.run([shutil.which("fish"), "-c", script], env=environ, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()
    assert ask("kymo sn") == ["snapshot\twrite what the rings of a running process hold now"]
    assert ask("kymo record --no-st") == ["--no-stdlib\tskip code of the standard library"]
    assert [line.split("\t")[0] for line in ask("kymo record --policy=")] == ["--policy=block", "--policy=drop", "--policy=overwrite"]
    assert [line.split("\t")[0] for line in ask("kymo top --sort ")] == ["calls", "self", "total"]
    assert [line.split("\t")[0] for line in ask("kymo info ru")] == ["run.kymo", "runs/"]
    assert [line.split("\t")[0] for line in ask("kymo record --session-dir=ru")] == ["--session-dir=runs/"]


@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh")
def test_zsh(tmp_path):
    (tmp_path / "run.kymo").touch()
    (tmp_path / "run.txt").touch()
    environ = environment() | {"PATH": f"{KYMO.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    with Terminal([shutil.which("zsh"), "-f", "-i"], environ, b"$ ", tmp_path, (24, 100)) as shell:
        shell.type(f"PS1='$ '; fpath=('{COMPLETIONS}' $fpath); autoload -U compinit; compinit -u -D; echo rea''dy\n")
        shell.read(rb"ready\r\n.*\$ ")
        for typed, shown in {"kymo sn": "apshot", "kymo record --pol": "icy=", "kymo record --policy=o": "verwrite", "kymo top --sort t": "otal",
                             "kymo info r": "un.kymo", "kymo record --no-st": "dlib"}.items():
            shell.type(f"{typed}\t")
            shell.read(re.escape(typed + shown).encode())
            shell.type("\x15")  # Ctrl-U: the line is gone
        shell.type("kymo record --no-\t")
        assert re.search(r"--no-stdlib +-- skip code of the standard library", shell.read(rb"processes that it starts"))
        shell.type("\x03\x15exit\n")
        shell.end()
