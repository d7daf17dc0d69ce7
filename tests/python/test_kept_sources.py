# SPDX-License-Identifier: Apache-2.0
"""The text of code that is in no file, as programs keep it for their tracebacks: what the trace has is held against what linecache says in
the program, and real programs that keep such text are recorded."""
import json
import re
import subprocess
import sys

import pytest

from conftest import KYMO, ROOT, TIMEOUT, environment
from coverage_oracle import locked, pip
from dap_client import Client
from kymo_model import Trace

RUN = """
import linecache
def run(text, name, lines=None, time=None):
    if lines is None:
        lines = text.splitlines(True)
    linecache.cache[name] = (len(text), time, lines, name)
    names = {}
    exec(compile(text, name, "exec"), names)
    return names
"""


@pytest.fixture(scope="session")
def texts_of(kymo):
    """texts_of(trace, name): the texts of code that is called so, by their numbers."""
    def read(trace, name):
        listed = re.findall(rf"^unverified +([\d,]+)  {re.escape(name)}, of process \d+(?:, text (\d+))?$", kymo("source", trace).stdout, re.M)
        done = kymo("source", trace, name, check=False, text=False)
        if len(listed) == 1:
            found = [done.stdout]
        else:
            assert done.returncode == 1 and not done.stdout
            found = [kymo("source", f"--text={number}", trace, name, text=False).stdout for _, number in listed]
            if listed:
                count = f"{name}: {len(found)} texts have this name; --text=1 to --text={len(found)} print one"
                assert done.stderr.decode() == f"kymo: {count}\n"
        assert [len(text) for text in found] == [int(size.replace(",", "")) for size, _ in listed]
        return [text.decode() for text in found]
    return read


def text_by_function(trace):
    """{qualified name: text}, of code that is in no file."""
    model = Trace(trace)
    found = {}
    for process in model.processes.values():
        for _, content in process.tables["content"].values():
            source = model.kept_source(process, content)
            if source:
                found[content["qualname"]] = source["text"].decode()
    return found


@pytest.mark.parametrize("name", ["<string>", "<made up>", "nowhere.py", "/nowhere/else.py"])
def test_what_linecache_has_is_kept(name, record, texts_of, kymo):
    text = "def f(x):\n    'ä € \U0001f600'\n    return x\n\nf(1)"
    trace = record(RUN + f"run({text!r}, {name!r})")
    assert texts_of(trace, name) == [text]
    assert set(text_by_function(record(RUN + f"run({text!r}, {name!r})", "--events=calls")).values()) == {text}
    (line,) = [line for line in kymo("source", trace).stdout.splitlines() if f"  {name}, of process" in line]
    assert re.fullmatch(rf"unverified +{len(text.encode())}  {re.escape(name)}, of process \d+", line)


def test_each_code_object_has_its_own_text(record, texts_of, kymo):
    """Though all of it has one name, runs in turn, and is equal but for a constant."""
    texts = [f"def f{number // 2}():\n    return {number}\n" for number in range(8)]
    trace = record(RUN + f"""
made = [run(text, "<string>") for text in {texts!r}]
for number, names in enumerate(made):
    linecache.cache["<string>"] = (1, None, {texts!r}[number].splitlines(True), "<string>")
    names[f"f{{number // 2}}"]()
""")
    assert sorted(texts_of(trace, "<string>")) == sorted(texts)
    done = kymo("replay", trace, input="goto start\nbreak f3\ncontinue\nlist\ncontinue\nlist\n", check=False)
    assert [int(number) for number in re.findall(r"return (\d)$", done.stdout, re.M) if number in "67"][-2:] == [6, 7]


def test_a_name_that_is_used_again_does_not_give_its_text_to_others(record, texts_of):
    """What ran without an entry has none, and code of a line that the text does not have is not of that text."""
    trace = record(RUN + """
exec(compile("before = 1", "<name>", "exec"))
run("one = 1\\n", "<name>")
exec(compile("\\n\\n\\ndef late(): pass\\nlate()", "<name>", "exec"))
del linecache.cache["<name>"]
exec(compile("after = 1", "<name>", "exec"))
""", "--events=calls")
    found = text_by_function(trace)
    assert texts_of(trace, "<name>") == ["one = 1\n"] and "late" not in found
    contents = [content for process in Trace(trace).processes.values() for _, content in process.tables["content"].values()
                if content["file"] == "<name>"]
    assert sorted((content["names"][0], content["source"] != 0) for content in contents if content["name"] == "<module>") == [
        ("after", False), ("before", False), ("late", True), ("one", True)]


def test_lines_may_lack_their_ends(record, texts_of):
    trace = record(RUN + "run('a = 1\\nb = 2\\n', '<x>', ['a = 1', 'b = 2'])\nrun('c = 1\\r\\nd = 2', '<y>')")
    assert texts_of(trace, "<x>") == ["a = 1\nb = 2"] and texts_of(trace, "<y>") == ["c = 1\r\nd = 2"]


def test_nothing_of_the_programs_is_called_or_changed(record, texts_of):
    trace = record(RUN + """
import sys
called = []
class Name(str):
    def __eq__(self, other): called.append("eq"); return str.__eq__(self, other)
    def __hash__(self): return str.__hash__(self)
class Lines(list):
    def __iter__(self): called.append("iter"); return list.__iter__(self)
    def __getitem__(self, at): called.append("item"); return list.__getitem__(self, at)
class Line(str):
    def __str__(self): called.append("str"); return "x"
class Entry(tuple):
    def __getitem__(self, at): called.append("entry"); return tuple.__getitem__(self, at)
class Cache(dict):
    def __getitem__(self, at): called.append("cache"); return dict.__getitem__(self, at)
    get = __contains__ = __getitem__
cache = linecache.cache
cache[Name("<name>")] = (1, None, ["x"], "x")
cache["<lazy>"] = (lambda: called.append("lazy"),)
cache["<lines>"] = (1, None, Lines(["x = 1"]), "x")
cache["<line>"] = (1, None, [Line("x = 1")], "x")
cache["<entry>"] = Entry((1, None, ["x = 1"], "x"))
cache["<short>"] = (1, None, ["x = 1"])
cache["<number>"] = 3
cache["<bytes>"] = (1, None, [b"x = 1"], "x")
before = dict(cache)
called.clear()
for name in "<name>", "<lazy>", "<lines>", "<line>", "<entry>", "<short>", "<number>", "<bytes>":
    exec(compile("x = 1", name, "exec"))
assert not called, called
assert list(cache) == list(before) and all(cache[key] is before[key] for key in before)
run("x = 1", "<good>")
linecache.cache = Cache(cache)
exec(compile("y = 1", "<good>", "exec"))
for other in None, 3, type(linecache)("linecache"):
    sys.modules["linecache"] = other
    exec(compile("z = 1", "<good>", "exec"))
assert not called, called
""")
    assert texts_of(trace, "<good>") == ["x = 1"]
    for name in "<name>", "<lazy>", "<lines>", "<line>", "<entry>", "<short>", "<number>", "<bytes>":
        assert texts_of(trace, name) == [], name


def test_a_file_is_read_from_disk(record, texts_of, sources_of, tmp_path):
    """Though linecache has it, too; but not where that was given another text for it."""
    (tmp_path / "module.py").write_text("x = 1\n")
    trace = record("import linecache, os\npath = os.path.dirname(__file__) + '/module.py'\nassert linecache.getlines(path)\nimport module")
    assert "module.py, of process" not in sources_of(trace).stdout
    assert sources_of(trace, "module.py").stdout == "x = 1\n"
    trace = record(RUN + "import os\npath = os.path.dirname(__file__) + '/module.py'\nrun('y = 2\\n', path)\nrun('z = 3\\n', path, time=1.0)")
    assert sources_of(trace).stdout.count("module.py, of process") == 1
    assert sources_of(trace, "--text=1", "module.py").stdout == "y = 2\n" and sources_of(trace, "module.py").stdout == "x = 1\n"


@pytest.fixture(scope="session")
def sources_of(kymo):
    return lambda trace, *words: kymo("source", trace, *words)


@pytest.mark.parametrize("options, room", [((), 16 << 20), (("--max-size=8M",), 2 << 20)])
def test_there_is_a_limit(options, room, record, kymo):
    """A megabyte of one text, and 16 of all of a process; what is too large is counted, and events and other definitions are not lost."""
    trace = record(RUN + f"""
run("def largest(): pass\\nlargest()\\n" + "#" * ((1 << 20) - 31), "<largest>")
run("x = 1\\n" + "#" * (1 << 20), "<larger>")
run("x = 1 # " + "ä" * 600_000, "<wide>")
for number in range({room >> 19} + 2):
    run(f"x = {{number}}\\n" + "#" * (1 << 19), f"<number {{number}}>")
run("def last(): pass\\nlast()\\n", "<last>")
""", "--events=calls", *options)
    listed = kymo("source", trace).stdout
    assert re.search(r"^unverified +1,048,57\d  <largest>, of process", listed, re.M)
    assert re.search(r"^missing +-  <larger>, of process \d+: larger than 1 MB$", listed, re.M)
    assert re.search(r"^missing +-  <wide>, of process \d+: larger than 1 MB$", listed, re.M)
    kept = re.findall(r"^unverified +524,\d+  <number (\d+)>", listed, re.M)
    lost = re.findall(r"^missing +-  <number (\d+)>, of process \d+: too much source text$", listed, re.M)
    assert sorted(map(int, kept + lost)) == list(range((room >> 19) + 2))
    assert len(kept) == (room - (1 << 20)) // (1 << 19) - 1
    assert "last" in kymo("events", "--kind=PY_START", trace).stdout
    sources = json.loads(kymo("info", "--json", trace).stdout)["sources"]
    assert sources["missing"] >= len(lost) + 2


def test_no_sources(record, kymo):
    trace = record(RUN + "run('x = 1 # secret', '<made up>')", "--no-sources")
    assert kymo("source", trace).stdout == "" and b"secret" not in trace.read_bytes()


def test_a_forked_child_has_what_its_parent_had(record, texts_of, kymo):
    trace = record(RUN + """
import os
def names(pid):
    return run(f"def of_{pid}(): return 1\\n", "<made>")
parent = run("def of_both(): return 1\\n", "<both>")
parent["of_both"]()
if not os.fork():
    parent["of_both"]()
    names("child")["of_child"]()
    os._exit(0)
os.wait()
names("parent")["of_parent"]()
""", "--events=calls")
    model = Trace(trace)
    parent, child = model.processes.values()
    assert sorted(texts_of(trace, "<made>")) == ["def of_child(): return 1\n", "def of_parent(): return 1\n"]
    assert texts_of(trace, "<both>") == ["def of_both(): return 1\n"]
    for process in parent, child:
        assert kymo("source", f"--pid={process.pid}", trace, "<both>").stdout == "def of_both(): return 1\n"
        assert kymo("source", f"--pid={process.pid}", trace, "<made>").stdout == f"def of_{'child' if process is child else 'parent'}(): return 1\n"


def test_interpreters_of_their_own(record, texts_of):
    module = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    trace = record(f"import {module} as interpreters\nnumber = interpreters.create()\ninterpreters.run_string(number, {RUN + 'run(chr(120) + chr(61) + chr(49), chr(60) + chr(62))'!r})")
    assert texts_of(trace, "<>") in (["x=1"], [])


# Programs that keep such texts


def test_attrs(record, kymo):
    pytest.importorskip("attrs")
    trace = record("""
import attrs, linecache, json, sys
@attrs.define
class Point:
    x: int
    y: int = 0
assert repr(Point(1)) == "Point(x=1, y=0)" and Point(1) == Point(1)
name = Point.__init__.__code__.co_filename
print(name)
with open(__file__ + ".json", "w") as file:
    json.dump({name: "".join(linecache.getlines(name))}, file)
""")
    ((name, text),) = json.loads(next(trace.parent.glob("*.json")).read_text()).items()
    assert kymo("source", trace, name).stdout == text and "def __init__" in text


def test_code_without_any_text_says_so(record, kymo):
    """dataclasses and namedtuple register none; what exec() is given is not seen."""
    trace = record("""
import dataclasses
@dataclasses.dataclass
class Point:
    x: int
Point(1)
exec("y = 1")
""")
    assert re.search(r"^missing +-  <string>: not recorded$", kymo("source", trace).stdout, re.M)


DOCTEST = '''
def double(n):
    """
    >>> double(2)
    4
    >>> for n in range(2):
    ...     print(double(n))
    0
    2
    """
    return 2 * n


if __name__ == "__main__":
    import doctest
    assert doctest.testmod().attempted == 2
'''


@pytest.mark.parametrize("options", [(), ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules")], ids=["doctest", "pytest"])
def test_doctest(options, python, record, texts_of, tmp_path):
    module = tmp_path / "module.py"
    module.write_text(DOCTEST)
    trace = record([python, *options, module], cwd=tmp_path)
    name = "module.double" if options else "__main__.double"
    assert texts_of(trace, f"<doctest {name}[0]>") == ["double(2)\n"]
    assert texts_of(trace, f"<doctest {name}[1]>") == ["for n in range(2):\n    print(double(n))\n"]


TYPED = "def square(n):\n    m = n * n\n    return m\n\nsquare(3)\n"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="what is typed is kept since CPython 3.13")
def test_the_interactive_interpreter(python, texts_of, kymo, tmp_path):
    trace = tmp_path / "t.kymo"
    subprocess.run([KYMO, "record", "-q", "-o", trace, python, "-i"], input=TYPED, text=True, env=environment({"PYTHON_BASIC_REPL": "1"}),
                   check=True, timeout=TIMEOUT, capture_output=True)
    names = re.findall(r"^unverified .*  (<\S+-\d+>?), of process", kymo("source", trace).stdout, re.M)
    texts = [text for name in names for text in texts_of(trace, name)]
    assert [text.rstrip("\n") for text in texts] == ["def square(n):\n    m = n * n\n    return m", "square(3)"]


@pytest.fixture(scope="session")
def with_packages(python):
    """with_packages("a", "b"): the environment with which a program can import them; they are kept from one run of the tests to the next."""
    def make(*names):
        work = ROOT / "build" / "packages-{}.{}".format(*sys.version_info)
        folder = work / "-".join(names) / "site-packages"  # as Python's own folders, so that it is no project's code
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(work / f"{folder.parent.name}.lock"):
            if not folder.exists():
                try:
                    pip("install", "--target", folder.with_suffix(".part"), *names)
                except (RuntimeError, OSError) as error:
                    pytest.skip(f"{', '.join(names)} cannot be had: {error}")
                folder.with_suffix(".part").rename(folder)
        return {"PYTHONPATH": folder}
    return make


def test_ipython(python, with_packages, texts_of, tmp_path, kymo):
    trace = tmp_path / "t.kymo"
    env = with_packages("ipython") | {"IPYTHONDIR": tmp_path}
    subprocess.run([KYMO, "record", "-q", "-o", trace, python, "-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit"],
                   input=TYPED + "\n", text=True, env=environment(env), check=True, timeout=TIMEOUT, capture_output=True)
    names = re.findall(r"^unverified .*  (<ipython-input-\S+>), of process", kymo("source", trace).stdout, re.M)
    assert [texts_of(trace, name) for name in names] == [["def square(n):\n    m = n * n\n    return m\n"], ["square(3)\n"]]


CELLS = ["def area(r):\n    square = r * r\n    return 3 * square\n", "area(7)", "for r in range(3):\n    print(area(r))"]

NOTEBOOK = f"""
from jupyter_client import KernelManager
manager = KernelManager()
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=120)
for cell in {CELLS!r}:
    assert client.execute_interactive(cell, timeout=120)["content"]["status"] == "ok"
client.stop_channels()
manager.shutdown_kernel()
"""


@pytest.fixture(scope="module")
def notebook(kymo, python, with_packages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "notebook.py").write_text(NOTEBOOK)
    env = with_packages("ipykernel", "jupyter_client") | {"IPYTHONDIR": folder, "JUPYTER_RUNTIME_DIR": folder, "HOME": folder}
    kymo("record", "-q", "--events=flow", "-o", folder / "t.kymo", folder / "notebook.py", env=env)
    return folder / "t.kymo"


def cell_names(kymo, trace):
    """Names of the cells by their text."""
    return {kymo("source", trace, name).stdout: name
            for name in re.findall(r"^unverified .*  (\S*ipykernel_\d+/\d+\.py), of process", kymo("source", trace).stdout, re.M)}


def test_cells_of_a_notebook(notebook, kymo):
    assert {text.rstrip("\n") for text in cell_names(kymo, notebook)} == {cell.rstrip("\n") for cell in CELLS}


def test_cells_in_the_console(notebook, kymo):
    done = kymo("replay", notebook, input="goto start\nbreak area\ncontinue\nlist\nnext\nnext\nup\nlist\n", check=False)
    assert re.search(r"^ +1 (->|  ) def area\(r\):\n +2 (->|  )     square = r \* r$", done.stdout, re.M)
    assert re.search(r"^ +1 -> area\(7\)$", done.stdout, re.M)
    assert "not verified: the text that the program had for this code" in done.stdout


def test_cells_in_an_editor(notebook, kymo):
    with Client() as client:
        client.start(notebook, functions=["area"])
        client.request("reverseContinue", {"threadId": client.stopped["threadId"]})
        client.stopped = client.event("stopped")
        top, caller = client.frames()[:2]
        text = client.source(source=top["source"], sourceReference=top["source"]["sourceReference"])["content"]
        assert text.rstrip("\n") == CELLS[0].rstrip("\n")
        assert client.source(sourceReference=caller["source"]["sourceReference"])["content"].rstrip("\n") == CELLS[2]
        # A breakpoint in the text that the client was given.
        (point,) = client.setBreakpoints(source=top["source"], breakpoints=[{"line": 3}])["breakpoints"]
        assert point["verified"]
        assert client.go("reverseContinue") == ("area", 3)


def test_cells_in_the_report(notebook, kymo, tmp_path):
    kymo("report", "-o", tmp_path / "report.html", notebook)
    page = (tmp_path / "report.html").read_text()
    assert "square = r * r" in page and "return 3 * square" in page


def test_texts_of_one_name_are_not_mixed_in_the_report(record, kymo, tmp_path):
    texts = ["def first():\n    one = 1\nfirst()\n", "def second():\n    two = 2\nsecond()\n"]
    kymo("report", "-o", tmp_path / "report.html", record(RUN + f"for text in {texts!r}:\n    run(text, '<string>')"))
    page = (tmp_path / "report.html").read_text()
    assert "one = 1" not in page.split('id="source"')[1].replace(RUN, "").split("texts")[0]


def test_a_comparison_shows_the_text(record, kymo, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(RUN + "import sys\nrun('def f(n):\\n    if n > 1:\\n        return \"more\"\\n    return \"less\"\\n', '<made>')"
                       "['f'](len(sys.argv))\n")
    traces = [record([program, *words], output=tmp_path / f"{len(words)}.kymo") for words in ([], ["a"])]
    told = kymo("diff", *traces, check=False).stdout
    assert re.search(r'^ +PASS +4 +return "less" ', told, re.M) and re.search(r'^ +FAIL +3 +return "more" ', told, re.M)
    kymo("diff", f"--html={tmp_path}/page.html", *traces, check=False)
    assert "return &quot;more&quot;" in (tmp_path / "page.html").read_text()


def test_jinja_has_no_text_but_that_of_its_template(record, sources_of, with_packages, tmp_path):
    """The lines are those of code that Jinja made; the template is not known to be what ran."""
    (tmp_path / "page.html").write_text("{% for n in numbers %}\n{{ n }}\n{% endfor %}\n")
    trace = record("""
import os, jinja2
folder = os.path.dirname(__file__)
environment = jinja2.Environment(loader=jinja2.FileSystemLoader(folder))
environment.get_template("page.html").render(numbers=[1, 2])
jinja2.Template("{{ 1 }}").render()
""", env=with_packages("jinja2"))
    listed = sources_of(trace).stdout
    assert re.search(rf"^unverified .*  {re.escape(str(tmp_path))}/page.html$", listed, re.M)
    assert re.search(r"^missing +-  <template>: not recorded$", listed, re.M)
