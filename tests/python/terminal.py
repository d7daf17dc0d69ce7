# SPDX-License-Identifier: Apache-2.0
"""A program that believes that somebody sits before it: it has a terminal of its own."""
import os
import pty
import re
import select
import termios

TIMEOUT = 30


class Terminal:
    """`size`: rows and columns; without it the terminal can do nothing but go on."""

    def __init__(self, words, environment, prompt, folder=".", size=None):
        self.prompt = re.compile(re.escape(prompt) + b"$")
        self.pid, self.fd = pty.fork()
        if not self.pid:
            if size:
                termios.tcsetwinsize(0, size)
            os.chdir(folder)
            os.execve(words[0], words, environment | {"TERM": "xterm-256color" if size else "dumb", "LC_ALL": "C.UTF-8"})
        self.status = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        os.close(self.fd)
        if self.status is None:
            self._wait()

    def _wait(self):
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, pattern):
        """What is shown up to what `pattern` matches."""
        shown = b""
        while not re.search(pattern, shown):
            assert select.select([self.fd], [], [], TIMEOUT)[0], (pattern, shown)
            shown += os.read(self.fd, 65536)
        return shown.decode().replace("\r", "")

    def answer(self):
        """What is shown up to the prompt, and without it; what is typed then is taken key by key."""
        shown = self.read(self.prompt)
        while termios.tcgetattr(self.fd)[3] & termios.ICANON:
            os.sched_yield()
        return shown[:shown.rindex("\n") + 1] if "\n" in shown else ""

    def run(self, line):
        """Type `line`, and return when it is no longer typing that keys are for."""
        self.type(line + "\n")
        self.read(re.escape(line.encode()) + rb"\r\n")
        while not termios.tcgetattr(self.fd)[3] & termios.ICANON:
            os.sched_yield()

    def ask(self, line):
        """What is shown after `line` was typed, which is shown, too."""
        self.type(line + "\n")
        answer = self.answer()
        assert answer.startswith(line + "\n"), (line, answer)
        return answer[len(line) + 1:]

    def end(self):
        """What is shown up to the program's end; its exit status is `status` then."""
        shown = b""
        try:
            while piece := os.read(self.fd, 65536):
                shown += piece
        except OSError:
            pass  # the other end is closed
        self._wait()
        return shown.decode().replace("\r", "")
