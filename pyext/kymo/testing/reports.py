# SPDX-License-Identifier: Apache-2.0
"""What is added to pytest's reports: lines, and the property with the trace's path."""

import os

PROPERTY = "kymo_trace"


def shown(path):
    """A path as people read it: relative where it lies below the working directory."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.pardir) else relative


def add_trace(properties, path):
    if (entry := (PROPERTY, shown(path))) not in properties:
        properties.append(entry)


def trace_of(report):
    return dict(reversed(report.user_properties)).get(PROPERTY)


def text_of(head, lines, path):
    return "\n".join([head, *(lines or ["no line of it was recorded"]), *([f"trace: {shown(path)}"] if path else [])])


def add_lines(report, head, lines, path):
    text = text_of(head, lines, path)
    if hasattr(report.longrepr, "addsection"):
        report.longrepr.addsection("kymo", text)
    elif isinstance(report.longrepr, str):
        report.longrepr += f"\n\n{text}"
    else:
        report.sections.append(("kymo", text))
    report.kymo_lines = text
