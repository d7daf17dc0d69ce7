# SPDX-License-Identifier: Apache-2.0
"""Files that verbs write: who may read them, and what they replace."""
import importlib.util
import os
import stat
import subprocess

import pytest
from conftest import KYMO, environment

PRIVATE, SHARED = 0o600, 0o644  # under a umask of 022

WRITERS = {
    **{form: (("export", f"--format={form}", "{trace}", "-f", "-o"), PRIVATE)
       for form in ("perfetto", "chrome", "speedscope", "gecko", "pstats", "callgrind", "gprof", "pprof", "collapsed", "flamegraph")},
    **{form: (("export", f"--format={form}", "{trace}", "-f", "-o"), PRIVATE) for form in ("parquet", "arrow")},
    "report": (("report", "{trace}", "-f", "-o"), PRIVATE),
    "diff": (("diff", "{trace}", "{trace}", "--html"), PRIVATE),
    "combine": (("combine", "{trace}", "-f", "-o"), PRIVATE),
    **{form: (("coverage", f"--format={form}", "{trace}", "-o"), SHARED) for form in ("lcov", "cobertura", "json", "coverage-db")},
}

PAGES = ("coverage", "--format=html", "{trace}", "-o"), PRIVATE


@pytest.fixture(scope="module")
def trace(tmp_path_factory, kymo):
    folder = tmp_path_factory.mktemp("writers")
    (folder / "program.py").write_text("def f(n):\n    return n\nfor n in range(9):\n    f(n)\n")
    kymo("record", "-q", "-o", folder / "t.kymo", folder / "program.py")
    return folder / "t.kymo"


def write(what, trace, output, **options):
    if what in ("parquet", "arrow") and not importlib.util.find_spec("pyarrow"):
        pytest.skip("no pyarrow")
    words, mode = PAGES if what == "html" else WRITERS[what]
    words = [KYMO, *(word.format(trace=trace) for word in words), output]
    before = os.umask(0o022)
    try:
        done = subprocess.run(words, env=environment(), stderr=subprocess.PIPE, text=True, cwd=trace.parent, **options)
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    return mode


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("what", WRITERS)
def test_what_may_hold_source_is_for_its_user_alone(what, trace, tmp_path):
    out, old, link = tmp_path / "out", tmp_path / "old", tmp_path / "link"
    assert write(what, trace, out) == mode_of(out)
    old.write_text("was there before")
    old.chmod(0o644)
    link.symlink_to(old)
    assert write(what, trace, link) == mode_of(old)
    assert link.is_symlink() and old.stat().st_size == out.stat().st_size > 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "old", "out"]


def test_pages_of_coverage_are_in_a_folder_of_their_users_own(trace, tmp_path):
    write("html", trace, tmp_path / "pages")
    assert mode_of(tmp_path / "pages") == 0o700
    assert {mode_of(path) for path in (tmp_path / "pages").iterdir()} == {PRIVATE}


@pytest.mark.parametrize("what", ["collapsed", "speedscope", "report", "lcov", "diff"])
def test_dev_stdout_is_not_replaced(what, trace, tmp_path):
    device = os.readlink("/dev/stdout")
    with open(tmp_path / "out", "wb") as out:
        out.write(b"before\n")
        out.flush()
        write(what, trace, "/dev/stdout", stdout=out)
    assert os.readlink("/dev/stdout") == device
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").stat().st_size > 20
