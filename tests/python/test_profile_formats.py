# SPDX-License-Identifier: Apache-2.0
"""Formats of profiles: the tools that they are written for read them, and find the same calls and times in each."""

import gzip
import pstats
import re
import shutil
import subprocess
from collections import Counter

import pytest
from profile_recordings import export, folder, of_program, oracle, program, read, record, trace  # noqa: F401


def gprof2dot_functions(parser):
    """{name: (calls, own seconds, total seconds)} as gprof2dot understands a file."""
    module = pytest.importorskip("gprof2dot")
    events = module.SAMPLES, module.TIME, module.TOTAL_TIME
    out = {}
    profile = parser(module).parse()
    for function in profile.functions.values():
        if "as a whole" in function.name:
            continue
        named = [function.events.get(event) for event in events]
        out[function.name] = function.called, *named
    return profile, out


def test_callgrind_and_gprof_and_pstats_say_the_same(record, program, export, oracle):
    trace = record(program, "--clock=exact", "--events=calls")
    expected = {key[2]: value[1] for key, value in of_program(oracle(), program).items()}
    by_function = {times.function.name: times for times in read(trace).times if times.function.file == str(program)}
    _, callgrind = gprof2dot_functions(lambda m: m.CallgrindParser(export(trace, "callgrind").open()))
    _, gprof = gprof2dot_functions(lambda m: m.GprofParser(export(trace, "gprof").open()))
    _, stats = gprof2dot_functions(lambda m: m.PstatsParser(str(export(trace, "pstats"))))
    # gprof2dot makes totals of its own.
    graph = {
        name: float(own) + float(children)
        for own, children, name in re.findall(
            r"^\[\d+\] +[\d.]+ +([\d.]+) +([\d.]+) +[\d+]+ +(\S+)(?: <cycle \d+>)? \[\d+\]$",
            export(trace, "gprof").read_text(), re.M,
        )
    }
    stats = {name.rpartition(":")[2]: value for name, value in stats.items() if name.startswith("program:")}
    long = {"__await__": "Wait.__await__", "<lambda>": "quick.<locals>.<lambda>"}
    for name, calls in expected.items():
        qualified = long.get(name, name)
        times = by_function[qualified]
        assert callgrind[qualified][0] == gprof[qualified][0] == stats[name][0] == calls, name
        assert callgrind[qualified][1] == times.self_ns
        assert stats[name][1:] == (None, pytest.approx(times.self_ns / 1e9), pytest.approx(times.total_ns / 1e9))
        assert gprof[qualified][2] == pytest.approx(times.self_ns / 1e9, abs=1e-6)
        assert graph[qualified] == pytest.approx(times.total_ns / 1e9, abs=2e-6)


@pytest.mark.skipif(not shutil.which("callgrind_annotate"), reason="there is no callgrind_annotate")
def test_callgrind_annotate(trace, export, program):
    profile = read(trace)
    done = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", export(trace, "callgrind")],
                          capture_output=True, text=True, cwd="/")
    assert done.returncode == 0 and not done.stderr
    rows = {}
    for line in done.stdout.splitlines():
        row = re.match(r"\s*([\d,]+) \([ \d.]+%\)(.*\S)\s+(\S.*:.*)$", line)
        if row and row[3].startswith(f"{program}:"):
            rows[row[3].removeprefix(f"{program}:").split(" [")[0]] = int(row[1].replace(",", ""))
    for times in profile.times:
        if times.function.file == str(program) and times.function.name not in ("<module>", "Wait"):
            assert rows[times.function.name] == times.total_ns, times.function.name


def test_the_statistics_browser_reads_pstats(trace, export, program, python):
    done = subprocess.run([python, "-m", "pstats", export(trace, "pstats")], capture_output=True, text=True,
                          input="sort calls\nstats fib\ncallers even\n")
    assert re.search(r"^ +510/10 .*program.py:4\(fib\)$", done.stdout, re.M), done.stdout
    assert re.search(r"\(even\) +<- .*\(everything\)", done.stdout, re.S)


def test_snakeviz_reads_pstats(trace, export):
    stats = pytest.importorskip("snakeviz.stats").json_stats(pstats.Stats(str(export(trace, "pstats"))))
    assert any(key.endswith("program.py:4(fib)") for key in stats)


def test_flamegraph_pl_reads_stacks(trace, export):
    """By its rule for lines: a stack, a space, a number; semicolons part frames."""
    profile = read(trace)
    total = 0
    for line in export(trace, "collapsed").read_text().splitlines():
        stack, ns = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line).groups()
        total += int(ns)
        assert all(re.fullmatch(r".+ \(.+:\d+\)", frame) for frame in stack.split(";")), line
    assert total == sum(node.self_ns for node in profile.nodes)


# Fields of github.com/google/pprof/proto/profile.proto: name, number, type; * is repeated.
PPROF = {
    "Profile": "sample_type 1 *ValueType,sample 2 *Sample,mapping 3 *Mapping,location 4 *Location,function 5 *Function,"
    "string_table 6 *string,drop_frames 7 int64,keep_frames 8 int64,time_nanos 9 int64,duration_nanos 10 int64,"
    "period_type 11 ValueType,period 12 int64,comment 13 *int64,default_sample_type 14 int64",
    "ValueType": "type 1 int64,unit 2 int64",
    "Sample": "location_id 1 *uint64,value 2 *int64,label 3 *Label",
    "Label": "key 1 int64,str 2 int64,num 3 int64,num_unit 4 int64",
    "Mapping": "id 1 uint64",
    "Location": "id 1 uint64,mapping_id 2 uint64,address 3 uint64,line 4 *Line,is_folded 5 bool",
    "Line": "function_id 1 uint64,line 2 int64,column 3 int64",
    "Function": "id 1 uint64,name 2 int64,system_name 3 int64,filename 4 int64,start_line 5 int64",
}


def pprof_message():
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    types = {"string": 9, "int64": 3, "uint64": 4, "bool": 8}
    for name, fields in PPROF.items():
        message = file.message_type.add(name=name)
        for field in fields.split(","):
            field_name, number, kind = field.split()
            label, kind = (3, kind[1:]) if kind[0] == "*" else (1, kind)
            added = message.field.add(name=field_name, number=int(number), label=label, type=types.get(kind, 11))
            if kind not in types:
                added.type_name = f".p.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))()


def test_pprof_by_protobuf(trace, export, program):
    message = pprof_message()
    message.ParseFromString(gzip.decompress(export(trace, "pprof").read_bytes()))
    strings, profile = message.string_table, read(trace)
    assert [strings[kind.type] for kind in message.sample_type] == ["calls", "resumes", "time", "error"]
    assert strings[message.default_sample_type] == "time" and strings[0] == ""
    assert message.duration_nanos == profile.end_ns - profile.begin_ns and message.time_nanos > 10**18
    functions = {each.id: each for each in message.function}
    places = {each.id: each.line[0].function_id for each in message.location}
    calls, selves = Counter(), Counter()
    for sample in message.sample:
        of = functions[places[sample.location_id[0]]]
        key = strings[of.filename] or None, strings[of.name], of.start_line
        calls[key] += sample.value[0]
        selves[key] += sample.value[2]
        assert {strings[label.key] for label in sample.label} == {"thread", "pid", "tid"}
    for times in profile.times:
        key = times.function.file, times.function.name, times.function.line
        assert calls[key] == times.calls and selves[key] == times.self_ns


@pytest.mark.skipif(not shutil.which("go"), reason="there is no go tool pprof")
def test_pprof_itself(trace, export):
    done = subprocess.run(["go", "tool", "pprof", "-top", "-nodecount=200", "-nodefraction=0", "-sample_index=calls",
                           export(trace, "pprof")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split(None, 5) for line in done.stdout.splitlines() if line[:11].strip().isdigit()]
    rows = {line[5]: int(line[0]) for line in lines}
    assert rows["fib"] == 510 and rows["throwing"] == 21 and rows["<module>"] >= 1


@pytest.mark.parametrize("form", ["callgrind", "gprof", "collapsed"])
def test_names_cannot_break_lines(form, trace, export):
    """A file's name has a semicolon, a line feed and an escape sequence in it."""
    data = export(trace, form).read_bytes()
    assert b"\x1b" not in data and (form == "gprof" or b"a;b\\n" in data or b"a:b\\n" in data)
    data.decode("utf-8")


def test_what_there_was_no_room_for_is_named(trace):
    """As the library tells it where there are too many nodes: here, all that closing() called."""
    from kymo.profile import callgrind, collapsed, gprof, pprof
    from kymo.profile import pstats as statistics

    profile = read(trace)
    (closing,) = [node for node in profile.nodes if node.function.name == "closing"]
    (more,) = closing.children
    assert {child.function.name for child in more.children} == {"fib"}
    below = {node for node in profile.nodes if more in node.path()[:-1]}
    profile.nodes = [node for node in profile.nodes if node not in below]
    more.is_more, more.children, more.self_ns = True, [], more.total_ns
    name = "(more than there was room for)"
    stats = statistics.stats(profile)
    _, entries, _, _, callers = stats["~", 0, name]
    assert [caller[2] for caller in callers] == ["closing"] and entries == more.calls + more.resumes
    for lines in callgrind.write(profile, "0"), gprof.write(profile), collapsed.write(profile):
        assert name in "\n".join(lines)
    assert name.encode() in pprof.encode(profile)


def test_files_are_not_replaced(trace, folder, kymo):
    out = folder / "there.pstats"
    out.write_bytes(b"mine")
    refused = kymo("export", "--format=pstats", "-o", out, trace, check=False)
    assert (refused.returncode, refused.stderr) == (1, f"kymo: {out} already exists; use -f to replace it\n")
    assert out.read_bytes() == b"mine"
    kymo("export", "--format=pstats", "-f", "-o", out, trace)
    assert pstats.Stats(str(out)).total_calls
    nowhere = kymo("export", "--format=gprof", "-o", "/nowhere/x", trace, check=False)
    assert nowhere.returncode == 1 and "/nowhere/x: No such file" in nowhere.stderr
