# SPDX-License-Identifier: Apache-2.0
"""A decoder of values, written from section 4.7 of docs/format.md alone; what it says is what docs/guide/values.md shows."""
import struct

from wire import leb128

CONSTANTS = {
    1: (None, "<unbound>"), 2: (None, "<redacted>"), 3: (None, "<not recorded>"), 4: ("NoneType", "None"), 5: ("bool", "False"),
    6: ("bool", "True"), 7: ("ellipsis", "Ellipsis"), 8: ("NotImplementedType", "NotImplemented"),
}
FLAGS = {1: {"unbound": True}, 2: {"redacted": True}, 3: {"cut": True}}
CONTAINERS = {18: ("tuple", "(", ")"), 19: ("list", "[", "]"), 20: ("set", "{", "}"), 21: ("frozenset", "frozenset({", "})"),
              22: ("dict", "{", "}")}


class Values:
    """What is in one chunk: @payload, and the name of a type by its id."""

    def __init__(self, payload, type_name):
        self.payload, self.type_name = payload, type_name

    def block(self, at, end):
        """[(number of a variable, value as JSON)]."""
        bindings = []
        self.at, self.flags = at + 1, self.payload[at]
        while self.at < end:
            name = self.number()
            bindings.append((name, self.value()))
        return bindings

    def number(self):
        number, self.at = leb128(self.payload, self.at)
        return number

    def bytes(self, count):
        self.at += count
        return self.payload[self.at - count:self.at]

    def id(self):
        return {"id": int.from_bytes(self.bytes(8), "little")}

    def signed(self):
        number = self.number()
        return number >> 1 ^ -(number & 1)

    def float(self):
        return struct.unpack("<d", self.bytes(8))[0]

    def text(self):
        """(what follows, how many there were)."""
        count = self.number()
        return self.bytes(self.number()), count

    def label(self):
        text, count = self.text()
        return self.shown(text.decode("utf-8", "surrogatepass")) + ("…" if len(text) < count else "")

    @staticmethod
    def shown(name):
        return "?" if name is None else "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)

    def value(self):
        kind = self.payload[self.at]
        self.at += 1
        return self.of_kind(kind)

    def of_kind(self, kind):
        if kind in CONSTANTS:
            type, text = CONSTANTS[kind]
            return {"type": type, "text": text} | FLAGS.get(kind, {})
        if kind == 9:
            place = self.number()
            back, self.at = self.at, place
            value = self.value()
            self.at = back
            return value
        if kind in CONTAINERS:
            return self.container(kind)
        if kind == 31:
            type = self.type_name(self.number())
            value = self.value()
            return value | {"type": type, "base": value["type"], "text": f"{self.shown(type)}({value['text']})"}
        names = {11: "int", 12: "long", 13: "real", 14: "complex", 15: "str", 16: "binary", 17: "bytearray", 23: "range", 24: "slice"}
        if kind in names:
            return getattr(self, f"of_{names[kind]}")()
        names = {10: "seen", 25: "object", 26: "named", 27: "text", 28: "enum", 29: "exception", 30: "array", 32: "unread"}
        type = self.type_name(self.number())
        return {"type": type} | getattr(self, f"of_{names[kind]}")(self.shown(type))

    def of_int(self):
        return {"type": "int", "text": repr(self.signed())}

    def of_long(self):
        sign = "-" if self.bytes(1)[0] else ""
        kept, count = self.text()
        if len(kept) < count:
            power = int.from_bytes(kept, "little").bit_length() - 1 + 8 * (count - len(kept))
            return {"type": "int", "text": f"{sign}≈2**{power}", "cut": True}
        return {"type": "int", "text": sign + str(int.from_bytes(kept, "little"))}

    def of_real(self):
        return {"type": "float", "text": repr(self.float())}

    def of_complex(self):
        return {"type": "complex", "text": repr(complex(self.float(), self.float()))}

    def of_str(self):
        length = self.number()
        text = self.text()[0].decode("utf-8", "surrogatepass")
        cut = length - len(text)
        return {"type": "str", "text": repr(text) + (f"…+{cut}" if cut else ""), "length": length} | ({"cut": True} if cut else {})

    def of_binary(self):
        text, count = self.text()
        cut = count - len(text)
        return {"type": "bytes", "text": repr(text) + (f"…+{cut}" if cut else ""), "length": count} | ({"cut": True} if cut else {})

    def of_bytearray(self):
        id = self.id()
        value = self.of_binary()
        return value | id | {"type": "bytearray", "text": f"bytearray({value['text']})"}

    def items(self, size=1, pair=": "):
        """({items, whether some are missing}, their texts, how many there were)."""
        count, kept = self.number(), self.number()
        groups = [[self.value() for _ in range(size)] for _ in range(kept)]
        texts = [pair.join(value["text"] for value in group) for group in groups] + [f"…+{count - kept}"] * (kept < count)
        told = {"items": [group if size > 1 else group[0] for group in groups]} | ({"cut": True} if kept < count else {})
        return told, ", ".join(texts), count

    def container(self, kind):
        type, start, end = CONTAINERS[kind]
        id = {} if kind == 18 else self.id()
        told, text, count = self.items(2 if kind == 22 else 1)
        if not count and kind in (20, 21):
            start, end = f"{type}(", ")"
        elif count == 1 and kind == 18:
            end = ",)"
        return {"type": type, "text": start + text + end, "length": count} | id | told

    def of_range(self):
        items = [self.value() for _ in range(3)]
        shown = items[:2] if items[2]["text"] == "1" else items
        return {"type": "range", "text": f"range({', '.join(item['text'] for item in shown)})", "items": items}

    def of_slice(self):
        items = [self.value() for _ in range(3)]
        return {"type": "slice", "text": f"slice({', '.join(item['text'] for item in items)})", "items": items}

    def of_seen(self, type):
        id = self.id()
        return id | {"text": f"<{type} at {id['id']:#x}, shown before>", "seen": True}

    def attributes(self):
        """(attributes, whether some are missing; their text)."""
        count, kept = self.number(), self.number()
        told, texts = {}, []
        for _ in range(kept):
            assert self.bytes(1) == b"\x0f"
            self.number()
            name = self.label()
            told[name] = self.value()
            texts.append(f"{name}={told[name]['text']}")
        if kept < count:
            texts.append(f"…+{count - kept}")
        return {"attributes": told} | ({"cut": True} if kept < count else {}), ", ".join(texts)

    def of_object(self, type):
        id = self.id()
        told, text = self.attributes()
        return id | told | {"text": f"<{type} at {id['id']:#x}{': ' if text else ''}{text}>"}

    def of_named(self, type):
        id, name = self.id(), self.label()
        known = {"type": f"class '{name}'", "module": f"module '{name}'"}
        return id | {"text": "<" + known.get(type, f"{type} {name} at {id['id']:#x}") + ">"}

    def of_text(self, type):
        text, count = self.text()
        cut = len(text) < count
        label = self.shown(text.decode()) + "…" * cut
        if type in ("datetime", "date", "time", "timedelta"):
            shown = label
        elif type == "Fraction" and not cut:
            shown = f"Fraction({', '.join([*text.decode().split('/', 1), '1'][:2])})"
        else:
            shown = f"{type}({text.decode()!r}{'…' * cut})"
        return {"text": shown, "str": label} | ({"cut": True} if cut else {})

    def of_unread(self, type):
        return {"text": f"<{type}, {self.label()}>", "cut": True}

    def of_enum(self, type):
        id, name, value = self.id(), self.label(), self.value()
        return id | {"text": f"{type}.{name}", "items": [value]}

    def of_exception(self, type):
        id = self.id()
        args, cause, context = self.value(), self.value(), self.value()
        told, text = self.attributes()
        has_args = args["type"] == "tuple"
        shown = f"{type}({', '.join(arg['text'] for arg in args['items']) if has_args else '…'})"
        if text:
            shown = f"<{shown} at {id['id']:#x}: {text}>"
        else:
            del told["attributes"]
        if cause["text"] != "None":
            shown += f" from {cause['text']}"
            told["cause"] = cause
        elif context["text"] != "None":
            shown += f" while handling {context['text']}"
        if context["text"] != "None":
            told["context"] = context
        return id | told | {"text": shown} | ({"items": args["items"]} if has_args else {})

    def of_array(self, type):
        id, dtype = self.id(), self.label()
        shape = tuple([self.number() for _ in range(self.number())])
        told, text, _ = self.items()
        return id | told | {"text": f"<{type} {dtype} {shape}: [{text}]>", "dtype": dtype, "shape": list(shape)}
