# SPDX-License-Identifier: Apache-2.0
"""Write a report to its output."""

import os
import sys
import time
from collections.abc import Iterable

from kymo._output import SHARED, output_file
from kymo.coverage.report import Report


def write(report: Report, form: str, output: str | None) -> None:
    """@output: a file, - for stdout, or None for the output in the settings."""
    settings = report.settings
    if form == "html":
        from kymo.coverage import report_html

        return report_html.write(report, output or settings.html_directory)
    if form == "coverage-db":
        from kymo.coverage import coverage_db

        return coverage_db.write(report, output or os.environ.get("COVERAGE_FILE", ".coverage"))
    configured = {"cobertura": settings.xml_output, "json": settings.json_output, "lcov": settings.lcov_output}
    _save(_lines(report, form), output or configured.get(form) or "-")


def _lines(report: Report, form: str) -> Iterable[str]:
    if form == "lcov":
        from kymo.coverage import report_lcov

        return report_lcov.write(report)
    if form == "cobertura":
        from kymo.coverage import report_cobertura

        return report_cobertura.write(report, int(time.time() * 1000))
    if form == "json":
        from kymo.coverage import report_json

        return [report_json.write(report)]
    from kymo.coverage import report_text

    return report_text.write(report, form)


def _save(lines: Iterable[str], output: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    if output == "-":
        sys.stdout.write(text)
        return
    # Without source or values, and for other programs: readable as coverage.py's reports.
    with output_file(output, mode=SHARED) as file:
        file.write(text.encode())
