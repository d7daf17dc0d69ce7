# SPDX-License-Identifier: Apache-2.0
"""Values in `kymo dap`: variables, expressions, data breakpoints, exceptions; against what the program itself printed."""
import json
import random
import re

import pytest
from kymo_model import VALUES
from test_values import DEFINITIONS, ID, attributes, count, encode, head, local
from trace_builder import TraceBuilder

from dap_client import Client, Failure, client, line_of, recorded  # noqa: F401

PROGRAM = """\
import json
import threading

def tree(value, seen=()):
    if type(value) in (list, tuple, set):
        return {str(i): tree(item, seen) for i, item in enumerate(value)} or repr(value)
    if type(value) is dict:
        return {repr(key): tree(item, seen) for key, item in value.items()} or repr(value)
    if isinstance(value, Order):
        return f"order {id(value):#x}" if id(value) in seen else {k: tree(v, (*seen, id(value))) for k, v in vars(value).items()}
    return repr(value)

def report(values):
    print(json.dumps({name: tree(value) for name, value in values.items()}))

class Order:
    def __init__(self, number, items):
        self.number = number
        self.items = items
        self.next = None

RATE = 3

def price(order, discount, /, *more, **options):
    total = 0.0
    for name, cost in order.items.items():
        total += cost
    pairs = [(1, "a"), (2, "it's"), ({"deep": [None, ...]}, b"\\x00")]
    keys = {1: "one", "two words": 2, (3, 4): 5, True: "also one", "it's": 6, "": 7}
    kinds = {2.5, None, 10**30}
    flag, text, empty, spare = True, "ä\\n" * 3, [], range(1, 7, 2)
    many = list(range(60))
    long = "€" * 900
    api_key = "hunter2"
    del cost
    report({k: v for k, v in locals().items() if k not in ("many", "long", "api_key", "late")})
    late = total * RATE
    return late

def collect():
    gathered, order = [], Order(0, {})
    for i in range(3):
        gathered.append(i)
        order.number = i
        gathered = gathered[:]
    return tuple(gathered)

def generate(n):
    for i in range(n):
        yield [i]

def fail(kind, *args):
    try:
        raise kind(*args) from LookupError("cause", 1)
    except kind as error:
        print(json.dumps([type(error).__name__, BaseException.__str__(error) if kind is OSError else str(error)]))

def threaded(word):
    length = len(word)
    report({"word": word, "length": length})
    return length

order = Order(7, {"tea": 4.5, "cup": 12})
order.next = Order(8, {})
order.next.next = order
price(order, 0.25, 1, 2, mode="fast")
result = collect()
list(generate(2))
fail(ValueError, "no such order")
fail(KeyError, "tea")
fail(OSError, 2, "gone")
thread = threading.Thread(target=threaded, args=("word",))
thread.start()
thread.join()
"""


def line(text):
    return line_of(text, PROGRAM)


@pytest.fixture(scope="module")
def told(kymo, tmp_path_factory):
    """(program, trace, what it printed): recorded with all values."""
    return record_values(kymo, tmp_path_factory.mktemp("values"), "globals", "depth=6,items=50,text=500,bytes=16384")


def record_values(kymo, folder, scope, limits):
    program, trace = folder / "program.py", folder / "program.kymo"
    program.write_text(PROGRAM)
    done = kymo("record", "-q", "-o", trace, f"--values={scope}", f"--values-for={program.name}", f"--values-limits={limits}", "--", program)
    return program, trace, [json.loads(printed) for printed in done.stdout.splitlines()]


def scopes(client, frame):
    return {scope["name"]: scope for scope in client.scopes(frameId=frame)["scopes"]}


def children(client, reference, **page):
    return client.variables(variablesReference=reference, **page)["variables"]


def values(client, frame, scope="Locals"):
    return {variable["name"]: variable for variable in children(client, scopes(client, frame)[scope]["variablesReference"])}


def tree(client, variable, seen=()):
    """A variable and all that is in it, as the program's own tree() has it."""
    reference = variable["variablesReference"]
    if is_order := re.match(r"<Order at (0x[0-9a-f]+)", variable["value"]):
        if is_order[1] in seen:
            return f"order {is_order[1]}"
        seen = (*seen, is_order[1])
    if not reference or variable["value"].startswith("range"):
        return variable["value"]
    inner = children(client, reference)
    assert variable.get("indexedVariables", 0) + variable["namedVariables"] == len(inner)
    return {item["name"]: tree(client, item, seen) for item in inner}


def evaluate(client, frame, expression, context="watch"):
    return client.evaluate(expression=expression, frameId=frame, context=context)["result"]


def test_locals_are_what_the_program_printed(told, client):
    program, trace, printed = told
    client.start(trace, {program: [line("report({k")]}, position="start", stopOnEntry=False)
    top, caller = client.frames()
    assert [top["line"], caller["line"]] == [line("report({k"), line("price(order, 0.25")]
    shown = values(client, top["id"])
    hidden = {name: shown.pop(name) for name in ("many", "long", "api_key")}
    assert "late" not in shown and "cost" not in shown  # as in locals()
    assert {name: tree(client, variable) for name, variable in shown.items()} == printed[0]
    assert hidden["many"]["indexedVariables"] == 50 and hidden["many"]["value"].endswith("49, …+10]")
    assert children(client, hidden["many"]["variablesReference"])[-1]["value"] == "10 of 60 were not recorded"
    assert hidden["long"]["value"] == repr("€" * 166) + "…+734"
    assert (hidden["api_key"]["value"], hidden["api_key"]["variablesReference"]) == ("<redacted>", 0)
    assert values(client, top["id"], "Globals")["RATE"]["value"] == "3"
    assert list(scopes(client, caller["id"])) == ["Locals"]
    assert {"order", "price", "RATE"} <= set(values(client, caller["id"]))


def test_each_line_is_shown_as_it_is_about_to_run(told, client):
    program, trace, _ = told
    client.start(trace, functions=["price"], position="start", stopOnEntry=False)
    expected, totals = 0.0, []
    while client.where()[0] == "price":
        shown = values(client, client.frames()[0]["id"])
        if "total" in shown:
            totals.append(shown["total"]["value"])
        client.go("next")
    for cost in (4.5, 12):
        expected += cost
    assert [total for i, total in enumerate(totals) if not i or total != totals[i - 1]] == ["0.0", "4.5", repr(expected)]


def test_what_is_returned_yielded_and_raised(told, client):
    program, trace, printed = told
    client.start(trace, position="start")
    client.setExceptionBreakpoints(filters=["raised"])
    messages = []
    while client.go("continue") and client.stopped["reason"] == "exception":
        top = client.frames()[0]
        if top["name"] != "fail":
            continue
        raised, = children(client, scopes(client, top["id"])["Exception"]["variablesReference"])
        info = client.exceptionInfo(threadId=1)
        cause, = info["details"]["innerException"]
        assert raised["value"] == info["description"] and (cause["typeName"], cause["message"]) == ("LookupError", "('cause', 1)")
        assert [item["name"] for item in children(client, raised["variablesReference"])][:2] == ["args", "__cause__"]
        messages.append((info["details"]["typeName"], info["details"]["message"]))
    assert messages == [tuple(told) for told in printed if isinstance(told, list)] and len(messages) == 3


def test_what_is_returned_and_yielded(told, client):
    program, trace, _ = told
    client.start(trace, {program: [line("return tuple"), line("yield [i]")]}, position="start", stopOnEntry=False)
    ends = []
    for _ in range(3):
        client.evaluate(expression="event", context="repl")
        client.stopped = client.event("stopped")
        frame = client.frames()[0]
        for name, scope in scopes(client, frame["id"]).items():
            if name.endswith(" value"):
                assert scope["presentationHint"] == "returnValue"
                ends.append((frame["name"], name, *(item["value"] for item in children(client, scope["variablesReference"]))))
        client.go("continue")
    assert ends == [("collect", "Return value", "(0, 1, 2)"), ("generate", "Yielded value", "[0]"), ("generate", "Yielded value", "[1]")]


def test_expressions(told, client):
    program, trace, _ = told
    client.start(trace, {program: [line("report({k")]}, position="start", stopOnEntry=False)
    frame = client.frames()[0]["id"]
    for expression, value in {
        "total": "16.5", "order.number": "7", 'order.items["tea"]': "4.5", "order.items['cup']": "12", "order.next.number": "8", "pairs[1][1]": '"it\'s"',
        "pairs[2][0]['deep'][1]": "Ellipsis", "keys[1]": "'also one'", "many[49]": "49", "more": "(1, 2)", "options['mode']": "'fast'", "RATE": "3",
        "order.next.next.next.number": "8", "spare.step": "2", "pairs[-1][1]": "b'\\x00'",
    }.items():  # fmt: skip
        assert {evaluate(client, frame, expression, context) for context in ("watch", "hover", "repl", "clipboard")} == {value}
    for expression, why in [("many[55]", "50 of 60 items were"), ("order.nothing", "order has no .nothing"), ("late", "late has no value here"),
                            ("cost", "cost has no value"), ("nowhere", "has no variable nowhere"), ("total + 'x'", "one can calculate with numbers alone"),
                            ("api_key.x", "was redacted"), ("order.items[", "is wanted at ")]:
        for context in ("watch", "repl"):
            with pytest.raises(Failure, match=re.escape(why)):
                evaluate(client, frame, expression, context)
    whole = evaluate(client, frame, "keys", "clipboard")
    assert whole == repr({1: "also one", "two words": 2, (3, 4): 5, "it's": 6, "": 7})
    shown = client.evaluate(expression="order.items", frameId=frame, context="hover")
    assert {item["name"]: item["value"] for item in children(client, shown["variablesReference"])} == {"'tea'": "4.5", "'cup'": "12"}
    assert evaluate(client, frame, "total + 1 > 17") == "True"
    assert evaluate(client, frame, "depth") == "2"  # what is no variable is computed as ever
    assert client.evaluate(expression="total")["result"] == "16.5"
    with pytest.raises(Failure, match="no such frame here|unknown frameId"):
        evaluate(client, 7777, "total")


def test_what_a_call_returned_is_shown_behind_it(told, client):
    program, trace, _ = told
    client.start(trace, {program: [line("result = collect()")]}, position="start", stopOnEntry=False)
    client.go("next")
    frame = client.frames()[0]
    assert (frame["name"], frame["line"]) == ("<module>", line("list(generate(2))"))
    returned, = children(client, scopes(client, frame["id"])["Return value"]["variablesReference"])
    assert (returned["name"], returned["value"]) == ("collect", "(0, 1, 2)") and "evaluateName" not in returned
    items = children(client, returned["variablesReference"])
    assert [item["value"] for item in items] == ["0", "1", "2"] and not any("evaluateName" in item for item in items)
    assert client.dataBreakpointInfo(name="0", variablesReference=returned["variablesReference"])["dataId"] is None
    for wrong in (-1, 0):
        with pytest.raises(Failure, match="no such frame here|unknown frameId"):
            client.scopes(frameId=wrong)


def test_names_that_variables_are_evaluated_by_lead_there(told, client):
    program, trace, _ = told
    client.start(trace, {program: [line("report({k")]}, position="start", stopOnEntry=False)
    frame, met = client.frames()[0]["id"], {}

    def visit(variable, depth):
        if "evaluateName" in variable:
            met[variable["evaluateName"]] = variable["value"]
            assert evaluate(client, frame, variable["evaluateName"]) == variable["value"]
        if variable["variablesReference"] and depth < 4:
            for item in children(client, variable["variablesReference"]):
                visit(item, depth + 1)
    for variable in values(client, frame).values():
        visit(variable, 0)
    assert {"order.next.items", "pairs[2][0]['deep'][1]", "keys['two words']", "keys['']", "keys[1]", "more[1]", "options['mode']"} <= set(met)
    assert not any("it's" in name or "(3" in name for name in met)


def test_pages_and_types(told, client):
    program, trace, _ = told
    client.start(trace, {program: [line("report({k")]}, position="start", stopOnEntry=False)
    frame = client.frames()[0]["id"]
    shown = values(client, frame)
    assert "type" not in shown["total"]
    many = shown["many"]["variablesReference"]
    for start, most, names in [(0, 3, ["0", "1", "2"]), (48, 0, ["48", "49", "…"]), (49, 1, ["49"]), (50, 9, ["…"]), (51, 9, []), (2**31, 2**31, [])]:
        assert [item["name"] for item in children(client, many, start=start, count=most)] == names
    assert [item["name"] for item in children(client, many, filter="named")] == ["…"]
    assert len(children(client, many, filter="indexed")) == 50
    locals_ = scopes(client, frame)["Locals"]
    assert len(children(client, locals_["variablesReference"])) == locals_["namedVariables"]
    assert children(client, locals_["variablesReference"], filter="indexed") == []
    assert [item["name"] for item in children(client, locals_["variablesReference"], start=1, count=2)] == ["discount", "more"]
    with Client() as other:
        other.initialize(adapterID="kymo", supportsVariableType=True)
        other.launch(trace=str(trace), position="start", stopOnEntry=False)
        other.breakpoints(program, [line("report({k")])
        other.configurationDone()
        other.stopped = other.event("stopped")
        typed = values(other, other.frames()[0]["id"])
        assert [typed[name]["type"] for name in ("order", "total", "keys", "empty")] == ["Order", "float", "dict", "list"]


def test_references_end_with_the_stop(told, client):
    program, trace, _ = told
    client.start(trace, {program: [line("report({k")]}, position="start", stopOnEntry=False)
    frame = client.frames()[0]["id"]
    shown = values(client, frame)
    assert values(client, frame) == shown  # asked again, the same references
    order = shown["order"]["variablesReference"]
    for wrong in (0, order + 100000, 2**31 - 1):
        with pytest.raises(Failure, match="variablesReference: there are no such variables here"):
            children(client, wrong)
    client.go("next")
    for stale in (order, scopes(client, client.frames()[0]["id"])["Locals"]["variablesReference"] - 1):
        with pytest.raises(Failure, match="variablesReference: there are no such variables here"):
            children(client, stale)


def test_another_threads_variables(told, client):
    program, trace, printed = told
    client.start(trace, {program: [line('report({"word')]}, position="start", stopOnEntry=False)
    assert client.stopped["threadId"] == 2
    mine, theirs = client.frames()[0]["id"], client.frames(thread=1)
    outermost = theirs[-1]["id"]
    assert {name: variable["value"] for name, variable in values(client, mine).items()} == printed[-1]
    assert evaluate(client, outermost, "result") == "(0, 1, 2)"
    assert evaluate(client, outermost, "order.next.number") == "8"
    assert evaluate(client, mine, "word") == "'word'"


def watch(client, name, **where):
    """A data breakpoint; its id."""
    data = client.dataBreakpointInfo(name=name, **where)
    assert data["accessTypes"] == ["write"] and not data["canPersist"]
    point, = client.setDataBreakpoints(breakpoints=[{"dataId": data["dataId"], "accessType": "write"}])["breakpoints"]
    assert point["verified"]
    return point["id"]


def test_data_breakpoints_run_to_where_a_variable_changes(told, client):
    program, trace, _ = told
    client.start(trace, {program: [line("return tuple(gathered)")]}, position="start", stopOnEntry=False)
    frame = client.frames()[0]["id"]
    shown = scopes(client, frame)["Locals"]["variablesReference"]
    id_ = watch(client, "i", variablesReference=shown)
    client.breakpoints(program, [])
    told_back, told_on = [], []
    while client.go("reverseContinue") and client.stopped["reason"] == "data breakpoint" and "did not change" not in client.stopped["description"]:
        assert client.stopped["hitBreakpointIds"] == [id_]
        assert evaluate(client, client.frames()[0]["id"], "i") == client.stopped["description"].split(" → ")[1].split(",")[0]
        told_back.append((client.where(), client.stopped["description"]))
    loop = line("for i in range(3)")
    assert told_back == [(("collect", line("gathered.append(i)")), f"i: {old} → {new}, by line {loop}")
                         for old, new in [(1, 2), (0, 1), ("no value", 0)]]
    assert client.stopped["description"] == "i in this call of collect did not change since here, where it begins"
    assert client.where()[0] == "collect"
    while client.go("continue") and client.stopped["reason"] == "data breakpoint" and "did not change" not in client.stopped["description"]:
        told_on.append((client.where(), client.stopped["description"]))
    assert told_on == told_back[::-1]
    assert client.stopped["description"] == "i in this call of collect did not change up to here, where it ends"
    client.go("continue")
    assert client.stopped["description"] == "end of the recording"
    typed = []
    for command in ["goto start", *["continue"] * 5]:  # as the buttons, typed
        assert client.evaluate(expression=command, context="repl")["result"]
        client.stopped = client.event("stopped")
        typed.append(client.stopped.get("description"))
    assert typed == [None, *(text for _, text in told_on), "i in this call of collect did not change up to here, where it ends", None]


def test_data_breakpoints_on_what_an_expression_leads_to(told, client):
    program, trace, _ = told
    client.start(trace, {program: [line("gathered.append(i)")]}, position="start", stopOnEntry=False)
    frame = client.frames()[0]["id"]
    watch(client, "order.number", frameId=frame)
    client.breakpoints(program, [])
    numbers = []
    while client.go("continue") and client.stopped["reason"] == "data breakpoint" and "did not change" not in client.stopped["description"]:
        numbers.append(client.stopped["description"])
    changed = line("order.number = i")
    assert numbers == [f"order.number: {i} → {i + 1}, by line {changed}" for i in range(2)]
    client.go("reverseContinue")
    shown = values(client, client.frames()[0]["id"])["order"]
    assert client.dataBreakpointInfo(name="number", variablesReference=shown["variablesReference"])["description"] == "order.number in this call of collect"


def test_long_values_in_data_breakpoints(told, client):
    program, trace, _ = told
    client.start(trace, {program: [line("report({k")]}, position="start", stopOnEntry=False)
    watch(client, "long", frameId=client.frames()[0]["id"])
    client.go("reverseContinue")
    assert client.stopped["description"] == f"long: no value → '{'€' * 66}…, by line {line('long = ')}"


def test_data_breakpoints_that_cannot_be(told, client):
    program, trace, _ = told
    client.start(trace, {program: [line("report({k")]}, position="start", stopOnEntry=False)
    frame = client.frames()[0]["id"]
    keys = values(client, frame)["keys"]["variablesReference"]
    for arguments, why in [({"name": "nobody", "frameId": frame}, "has no variable nobody"), ({"name": "a +", "frameId": frame}, "is wanted at"),
                           ({"name": "x", "variablesReference": 2**31 - 1}, "this is not a variable"), ({"name": "x"}, "has no variable x"),
                           ({"name": "total", "frameId": 7777}, "unknown frameId"),
                           ({"name": "(3, 4)", "variablesReference": keys}, "this is not a variable"),
                           ({"name": "none", "variablesReference": keys}, "this is not a variable")]:  # fmt: skip
        info = client.dataBreakpointInfo(**arguments)
        assert info["dataId"] is None and why in info["description"]
    data = client.dataBreakpointInfo(name="total", frameId=frame)["dataId"]
    assert client.dataBreakpointInfo(name="total", frameId=frame)["dataId"] == data
    points = client.setDataBreakpoints(breakpoints=[{"dataId": "77"}, {"dataId": "x"}, {"dataId": ""}, {"dataId": data, "accessType": "read"},
                                                    {"dataId": data, "condition": "1"}, {"dataId": data}])["breakpoints"]
    assert [point["verified"] for point in points] == [False] * 5 + [True]
    assert points[3]["message"] == 'where a variable is read is not recorded: only "write"'
    client.setDataBreakpoints(breakpoints=[])
    client.go("continue")
    assert client.stopped["description"] == "end of the recording"


def test_what_was_not_recorded_says_so(recorded, kymo, client, tmp_path):
    program, trace, _ = record_values(kymo, tmp_path, "args", "depth=3,items=20,text=200,bytes=4096")
    client.start(trace, {program: [line("report({k")]}, position="start", stopOnEntry=False)
    frame = client.frames()[0]["id"]
    shown = {name: variable["value"] for name, variable in values(client, frame).items()}
    assert shown["discount"] == "0.25  (at the call)" and {shown[name] for name in ("total", "name", "late")} == {"not recorded"}
    assert {evaluate(client, frame, "total", context) for context in ("hover", "watch")} == {"not recorded"}
    assert (evaluate(client, frame, "discount"), evaluate(client, frame, "discount", "clipboard")) == ("0.25  (at the call)", "0.25")
    with pytest.raises(Failure, match="total was not recorded: --values and --values-for left it out"):
        evaluate(client, frame, "total", "repl")
    with pytest.raises(Failure, match="many was not recorded"):
        evaluate(client, frame, "many[0]")
    assert "was not recorded" in client.dataBreakpointInfo(name="total", frameId=frame)["description"]
    with Client() as other:  # without any values
        without, trace = recorded
        other.start(trace, functions=["inner"], position="start", stopOnEntry=False)
        frame = other.frames()[0]["id"]
        assert {name: variable["value"] for name, variable in values(other, frame).items()} == dict.fromkeys(("n", "total", "i"), "not recorded")
        info = other.dataBreakpointInfo(name="n", frameId=frame)
        assert info["dataId"] is None and "the recording has no values" in info["description"]


def open_all(client, frame, limit):
    """Ask for all that can be opened, breadth first."""
    asked = [scope["variablesReference"] for scope in client.scopes(frameId=frame)["scopes"]]
    for reference in asked:
        for item in children(client, reference):
            if "evaluateName" in item:
                assert evaluate(client, frame, item["evaluateName"])
            if item["variablesReference"] and item["variablesReference"] not in asked and len(asked) < limit:
                asked.append(item["variablesReference"])
    return len(asked)


def hand_made(path, blocks):
    """A trace of one call, each of whose lines tells a block."""
    session = ("session", {"config": {"events": 0xFFFF, "values": {"scope": 2}}})
    records = [("PY_START", 1)]
    for i, block in enumerate(blocks):
        records += [("VALUES", block), ("LINE", i % 9 + 1)]
    builder = TraceBuilder(required_features=VALUES).meta(0, session).meta(1, *DEFINITIONS)
    path.write_bytes(builder.chunk(*records, first_ordinal=1, last_ordinal=len(blocks) + 1).close().data)
    return path


def test_values_that_are_in_themselves_and_deep_ones(client, tmp_path):
    me = head(25, 1, ID) + attributes(me=head(10, 1, ID), number=encode(5))
    deep = encode([])
    for _ in range(40):
        deep = head(19, id=ID + 1) + count(1) + deep
    client.start(hand_made(tmp_path / "hand.kymo", [b"\1" + local(0, me) + local(1, deep) + local(2, encode(list(range(5000))))]))
    frame = client.frames()[0]["id"]
    shown = values(client, frame)
    inner = {item["name"]: item for item in children(client, shown["x"]["variablesReference"])}
    assert inner["me"]["variablesReference"] == shown["x"]["variablesReference"] and inner["number"]["value"] == "5"
    assert evaluate(client, frame, "x.me.me.number") == "5"
    assert evaluate(client, frame, "y" + "[0]" * 40) == "[]"
    assert open_all(client, frame, 100) == 1 + 1 + 41 + 1 - 1  # an empty list does not open
    assert shown["z"]["indexedVariables"] == 5000 and shown["z"]["value"].endswith("…")
    page = children(client, shown["z"]["variablesReference"], filter="indexed", start=4990, count=100)
    assert [item["value"] for item in page] == [str(i) for i in range(4990, 5000)]
    assert evaluate(client, frame, "z", "clipboard") == repr(list(range(5000)))


@pytest.mark.parametrize("seed", range(3))
def test_damaged_values_are_shown_as_far_as_they_go(client, tmp_path, seed):
    rng = random.Random(seed)
    whole = [encode({"a": [1, (2, {3}), {}], b"k": range(9)}), head(25, 1, ID) + attributes(a=encode([1]), b=head(10, 1, ID)), encode("text" * 9),
             head(29, 6, ID) + encode(("no",)) + encode(None) * 2 + attributes(9, code=encode(7)), head(28, 5, ID) + count(3) + b"RED" + encode(1),
             head(30, 7, ID) + count(5) + b"int64" + b"\1\x09" + count(2, 9) + encode(1) * 2, encode(10**50), head(22, id=ID) + count(3) + b"\xff" * 9]
    blocks = []
    for _ in range(60):
        block = bytearray(b"\1" + b"".join(local(i, rng.choice(whole)) for i in range(3)))
        for _ in range(rng.randrange(4)):
            block[rng.randrange(len(block))] = rng.choice([0, 9, 10, 19, 22, 25, 127, 128, 255, rng.randrange(256)])
        blocks.append(bytes(block[:rng.randrange(len(block) + 1)] if rng.random() < 0.2 else block))
    client.start(hand_made(tmp_path / "hand.kymo", blocks), position="start")
    opened = 0
    for n in range(2, len(blocks) + 2):
        client.evaluate(expression=f"goto #{n}", context="repl")
        client.stopped = client.event("stopped")
        opened += open_all(client, client.frames()[0]["id"], 60)
    assert opened > 2 * len(blocks)
