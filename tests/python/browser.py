# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, by the DevTools protocol over a pipe: what a page shows, and what it did meanwhile."""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")


def program():
    """The browser, or a skipped test."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        pytest.skip("there is no Chromium; CHROMIUM may name one")
    return found


class Browser:
    """One page at a time.  `requests`, `errors`: what it loaded and complained of since it was opened."""

    def __init__(self, profile):
        to_read, self.to = os.pipe()
        self.of, to_write = os.pipe()
        # The browser reads descriptor 3 and writes descriptor 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "bash", program(), "--headless", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self.rest, self.number, self.session = b"", 0, None
        self.requests, self.errors, self.happened = [], [], []
        target = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self.to)
        self.process.kill()
        self.process.wait()
        os.close(self.of)

    def _message(self):
        while b"\0" not in self.rest:
            more = os.read(self.of, 1 << 16)
            assert more, f"the browser is gone, status {self.process.poll()}"
            self.rest += more
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def _take(self):
        message = self._message()
        method, told = message.get("method"), message.get("params", {})
        if method:
            self.happened.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(told["exceptionDetails"])[:1000])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(told["args"])[:1000])
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.errors.append(told["entry"]["text"])
        return message

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        sent = json.dumps(message).encode() + b"\0"
        while sent:
            sent = sent[os.write(self.to, sent) :]
        while (answer := self._take()).get("id") != self.number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def _load(self, url):
        self.happened = []
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.happened:
            self._take()

    def open(self, path, width=1200, height=900, dark=False, fragment=""):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        if fragment:  # Else a page that differs in nothing else would not be loaded again.
            self._load("about:blank")
        self.requests, self.errors = [], []
        self._load(Path(path).resolve().as_uri() + fragment)
        # Drawn, and what follows from it.
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def js(self, expression):
        """The value of an expression, awaited."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def press(self, key):
        code = {
            "Enter": 13,
            "Tab": 9,
            "Escape": 27,
            "ArrowUp": 38,
            "ArrowDown": 40,
            "ArrowLeft": 37,
            "ArrowRight": 39,
        }.get(key, 0)
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def picture(self, path):
        """For people."""
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
