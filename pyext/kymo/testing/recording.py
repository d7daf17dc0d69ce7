# SPDX-License-Identifier: Apache-2.0
"""The recording of a process that runs tests, in segments that are kept or dropped."""

import os
import subprocess
import time
from pathlib import Path

import kymo
from kymo import _recording
from kymo._settings import settings as options_from_elsewhere


_LARGE = 64 << 20  # of a trace with values, in bytes: as in kymo record


class Recording:
    """Traces STEM.kymo, STEM-2.kymo …: one for each run of tests that ask for the same events.

    `omit` are globs of files that are left out besides those that the user's options name.  `values`, or what a test's marker asks for, are
    those of the project's files, if the user's options name no others.  With `retains` everything lies in segments, one after another: end_segment() says what becomes of each.  If the process is
    recorded already, the segments are parts of that trace.
    """

    def __init__(self, stem, retains, omit, values=None):
        self._stem, self._retains, self._omit = stem, retains, omit
        self._values = values
        self._wanted = None
        self._count = 0
        self._is_on = self._in_segment = self._has_values = False
        self.has_kept = False  # a segment that makes the trace worth keeping
        self.growth = None  # that values made a trace large, in words
        self._since = 0.0
        self.path = None  # of the trace; None: nothing is recorded, or it is not known where to
        self.is_joined = kymo.is_recording()

    def start(self, events=None, values=None):
        """Go on recording these, None: what the user's options name.  Raises what kymo.start() does."""
        wanted = events, values or self._values
        if self._is_on and (wanted == self._wanted or self.is_joined):
            return
        self.stop()
        given = options_from_elsewhere()
        omitted = given.get("omit", [])
        options = {"omit": [*([omitted] if isinstance(omitted, str) else omitted), *self._omit]}
        options |= {name: value for name, value in zip(("events", "values"), wanted, strict=True) if value is not None}
        if self._retains and "no_subprocesses" not in given:
            options["no_subprocesses"] = True  # they have no segments: all of it would be kept
        if self.is_joined:
            self.path = joined_trace()
            kymo.start()
        else:
            self._count += 1
            path = Path(f"{self._stem}{f'-{self._count}' if self._count > 1 else ''}.kymo")
            path.parent.mkdir(parents=True, exist_ok=True)
            kymo.start(path, **options)
            self.path = path
            self._since = time.monotonic()
        self._has_values = options.get("values", given.get("values", "none")) != "none"
        self._wanted, self._is_on, self.has_kept = wanted, True, False
        self.begin_segment()

    def stop(self, keep=False):
        """End it.  `keep`: also the segment that is open.  A trace in which nothing was kept is removed."""
        if not self._is_on:
            return
        self.end_segment(keep)
        self._is_on = False
        path, self.path = self.path, None
        kymo.stop()
        self._look_at(path)
        if self._retains and not self.has_kept and not self.is_joined:
            path.unlink(missing_ok=True)

    def _look_at(self, path):
        """Whether values made the trace large."""
        if self.is_joined or not self._has_values or not (file := written(path)) or (size := file.stat().st_size) < _LARGE:
            return
        rate = size / 1e6 * 60 / max(time.monotonic() - self._since, 0.1)
        self.growth = (f"values make {path.name} large: {size / 1e6:.0f} MB, {rate:.0f} MB a minute; values-for in [tool.kymo] of pyproject.toml "
                       "limits them to files or functions, values-limits to less of each")

    def begin_segment(self):
        if self._retains and self._is_on and not self._in_segment:
            kymo.begin_segment()
            self._in_segment = True

    def end_segment(self, keep):
        self.has_kept |= keep
        if self._in_segment:
            self._in_segment = False
            kymo.end_segment(keep=keep)

    def leave_segment(self):
        """End the segment and keep it, but not the trace because of it.  True if there was one."""
        if not self._in_segment:
            return False
        self._in_segment = False
        kymo.end_segment(keep=True)
        return True

    def set_aside(self):
        """Keep what was recorded up to here and have it written; what follows is a segment of its own.  Raises OSError."""
        self.leave_segment()
        try:
            kymo.snapshot("a test failed")
        finally:
            self.begin_segment()


def written(path):
    """The file of the trace `path`, also while it is being written.  None: there is none."""
    for file in (path, Path(f"{path}.incomplete")) if path else ():
        if file.exists():
            return file
    return None


def run_kymo(*words, timeout=60):
    """The program's output.  Raises OSError with its error message."""
    try:
        done = subprocess.run([_recording._find_program(), *map(str, words)], capture_output=True, text=True, errors="replace",
                              timeout=timeout, env={**os.environ, "KYMO_SESSION": ""}, check=False)
    except subprocess.TimeoutExpired:
        raise OSError(f"kymo {words[0]} timed out after {timeout} s") from None
    if done.returncode and not done.stdout:
        raise OSError(done.stderr.strip() or f"kymo {words[0]}: status {done.returncode}")
    return done.stdout


def joined_trace():
    """The trace of a recording that was begun elsewhere."""
    session = os.environ.get("KYMO_SESSION")
    try:
        lines = run_kymo("ps").splitlines() if session else []
    except OSError:
        return None
    for line, following in zip(lines, lines[1:], strict=False):
        if line.partition("  [")[0] == session and following.startswith("  to "):
            return Path(following.removeprefix("  to "))
    return None
