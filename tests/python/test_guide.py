# SPDX-License-Identifier: Apache-2.0
"""docs/guide/replaying.md: its programs run, and everything that is shown is what comes out.

What differs from run to run, or from one CPython to another, is left out of the comparison: folders, times, numbers of events.
`python tests/python/test_guide.py` writes what comes out into the guide.
"""
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import BUILD, KYMO, ROOT, environment
from terminal import Terminal

GUIDE = ROOT / "docs" / "guide" / "replaying.md"
FOLDER = "/home/ada/shop"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
# Outputs in which lines are left out.
CUT = "…"


def blocks(kind):
    return [text for name, text in BLOCK.findall(GUIDE.read_text()) if name == kind]


def without_numbers(text):
    text = re.sub(r" +[\d.]+ s  event \d+", " TIME s  event N", text)
    text = re.sub(r"#\d+ +[\d.]+ s ", "#N TIME s ", text)
    text = re.sub(r"^(time +).*$|^(event +)\d+(?=[:,])|^(process +)\d+ \S+", r"\1\2\3N", text, flags=re.M)
    return text


def cut(text):
    """Leave the lines of a traceback out, which each CPython writes in its own way."""
    return re.sub(r"(?<=\n)(Traceback.*\n)(?s:.*?)(?=\w+Error: )", rf"\1{CUT}\n", "\n" + text)[1:]


def run_replay(words, lines, folder):
    """The session as it is seen."""
    shown = ""
    with Terminal(words, environment(), b"(kymo) ", folder) as terminal:
        shown += terminal.answer()
        for line in lines[:-1]:
            shown += f"(kymo) {line}\n{terminal.ask(line)}"
        terminal.type(lines[-1] + "\n")
        return f"{shown}(kymo) {terminal.end()}"


def transcript(text, folder):
    """What a person sees who types the commands of a block."""
    shown = ""
    for command in re.split(r"^\$ ", text, flags=re.M)[1:]:
        line = command.split("\n")[0]
        answers = re.findall(r"^\(kymo\) (.*)$", command, re.M)
        if answers:
            out = run_replay([str(KYMO), *shlex.split(line)[1:]], answers, folder)
        else:
            out = subprocess.run(["sh", "-c", f'PATH="{KYMO.parent}:$PATH"; {line}'], cwd=folder, env=environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        shown += f"$ {line}\n{out}"
    return shown.replace(str(folder), FOLDER)


def shop(folder):
    """The folder in which the guide's commands are typed."""
    (folder / "stock.py").write_text(blocks("python")[0])
    subprocess.run([KYMO, "record", "-q", "-o", "run.kymo", "--include=stock.py", "stock.py"], cwd=folder, env=environment(),
                   capture_output=True, check=False)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return shop(tmp_path_factory.mktemp("shop").resolve())


def in_console(text, folder):
    for name in re.findall(r"-o (\S+)", text):
        (folder / name).unlink(missing_ok=True)
    return transcript(text, folder)


@pytest.mark.parametrize("number", range(5))
def test_what_the_terminal_shows(number, folder):
    text = blocks("console")[number]
    assert without_numbers(cut(in_console(text, folder))) == without_numbers(text)


def run_python(folder):
    """What each of the programs behind the first one prints."""
    script = "print('=====')\n".join(blocks("python")[1:])
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, env=environment({"PYTHONPATH": BUILD / "python"}),
                          capture_output=True, text=True, check=True)
    return done.stdout.split("=====\n")


def test_python(folder):
    assert run_python(folder) == blocks("output")


def test_every_name_of_the_python_package_is_told():
    import kymo as library

    text = GUIDE.read_text()
    for kind in (library.Trace, library.Cursor):
        for name in vars(kind):
            assert name.startswith("_") or re.search(rf"`{name}\b|[ `]{name}\(", text[text.index("| of a trace"):]), name
            assert name.startswith("_") or re.search(rf"\.{name}\b|with kymo", "\n".join(blocks("python"))), name


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed").resolve()
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], capture_output=True, check=True)
    return prefix


def prints_the_stack(program, prefix, folder):
    library = next(prefix.rglob("libkymo-replay.so")).parent
    shown = subprocess.run([program, "run.kymo"], cwd=folder, env=environment({"LD_LIBRARY_PATH": library}),
                           capture_output=True, text=True, check=True).stdout
    return f"$ ./where run.kymo\n{shown}" == blocks("console")[5]


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="there is no pkg-config")
def test_c_with_pkg_config(installed, folder, tmp_path):
    (tmp_path / "where.c").write_text(blocks("c")[0])
    configured = next(installed.rglob("kymo-replay.pc")).parent
    subprocess.run(["sh", "-ec", blocks("sh")[0]], cwd=tmp_path, env=environment({"PKG_CONFIG_PATH": configured}), check=True)
    assert prints_the_stack(tmp_path / "where", installed, folder)
    failed = subprocess.run([tmp_path / "where", "nothing"], capture_output=True, text=True,
                            env=environment({"LD_LIBRARY_PATH": next(installed.rglob("libkymo-replay.so")).parent}))
    assert (failed.returncode, failed.stderr) == (1, "nothing: No such file or directory\n")


def test_c_with_cmake(installed, folder, tmp_path):
    (tmp_path / "where.c").write_text(blocks("c")[0])
    (tmp_path / "CMakeLists.txt").write_text(blocks("cmake")[0])
    for words in ["-G", "Ninja", "-B", "build", f"-DCMAKE_PREFIX_PATH={installed}"], ["--build", "build"]:
        done = subprocess.run(["cmake", *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert prints_the_stack(tmp_path / "build" / "where", installed, folder)


def test_the_installed_package_finds_its_library(installed, folder):
    package = next(installed.rglob("_history.py")).parents[1]
    done = subprocess.run([sys.executable, "-c", "import kymo; print(kymo.open('run.kymo').cursor().event.name)"], cwd=folder,
                          env=environment({"PYTHONPATH": package}), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("KeyError\n", "")


def write():
    """Put what comes out into the guide."""
    text = GUIDE.read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = shop(Path(name).resolve())
        outputs = iter(run_python(folder))
        for block in blocks("console")[:5]:
            text = text.replace(f"```console\n{block}```", f"```console\n{cut(in_console(block, folder))}```")
    text = re.sub(r"^(process +)\d+ \S+", r"\g<1>4711 /usr/bin/python3", text, flags=re.M)
    GUIDE.write_text(re.sub(r"^```output\n(?s:.*?)^```$", lambda _: f"```output\n{next(outputs)}```", text, flags=re.M))


if __name__ == "__main__":
    write()
