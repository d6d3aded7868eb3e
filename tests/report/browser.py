"""A real browser for tests: the few WebDriver commands needed, with the standard library."""

from __future__ import annotations

import base64
import http.client
import json
import re
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """A headless Chromium on loopback with a profile of its own; use it as a context."""

    def __init__(self, driver: str, chromium: str, profile: Path, *, size=(1280, 900)) -> None:
        self.process = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            self.connection = http.client.HTTPConnection("127.0.0.1", self._port(), timeout=60)
            options = {
                "binary": chromium,
                "args": [
                    *FLAGS,
                    f"--user-data-dir={profile}",
                    f"--window-size={size[0]},{size[1]}",
                ],
            }
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = f"/session/{made['sessionId']}"
        except BaseException:
            self._stop()
            raise

    def _port(self) -> int:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                return int(found.group(1))
        raise RuntimeError("chromedriver ended before it printed its port")

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = json.dumps(body if body is not None else {}) if method == "POST" else None
        self.connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = json.loads(self.connection.getresponse().read())["value"]
        if isinstance(answer, dict) and answer.get("error"):
            raise RuntimeError(f"{answer['error']}: {answer['message']}")
        return answer

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._call("DELETE", self.session)
        finally:
            self._stop()

    def _stop(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()
        self.process.terminate()
        self.process.wait(timeout=20)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def open(self, path: Path, *, fragment: str = "") -> None:
        """Open a file (at a fragment of it) and wait until its script is ready."""
        self.errors()  # errors of the previous page do not count
        url = Path(path).resolve().as_uri() + (f"#{fragment}" if fragment else "")
        if fragment:  # else a page that is open already would only get the new fragment
            self._call("POST", f"{self.session}/url", {"url": "about:blank"})
        self._call("POST", f"{self.session}/url", {"url": url})
        self.wait("window.shadowtime && window.shadowtime.ready")

    def wait(self, promise: str) -> Any:
        """The value of a promise, given as an expression."""
        script = f"const done = arguments[0]; Promise.resolve({promise}).then(done, done)"
        return self._call("POST", f"{self.session}/execute/async", {"script": script, "args": []})

    def run(self, script: str) -> Any:
        """Run a function's body in the page."""
        return self._call("POST", f"{self.session}/execute/sync", {"script": script, "args": []})

    def settle(self) -> None:
        """Wait for glides and tiles: until no frame was drawn for a while."""
        self.wait(
            "new Promise(done => { let last = -1; const look = () => {"
            " const now = shadowtime.world.frames; if (now === last) done(now);"
            " else { last = now; setTimeout(look, 150); } }; look(); })"
        )

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        body = {"cmd": name, "params": parameters}
        return self._call("POST", f"{self.session}/goog/cdp/execute", body)

    def find(self, selector: str) -> str:
        body = {"using": "css selector", "value": selector}
        return self._call("POST", f"{self.session}/element", body)[ELEMENT]

    def type(self, selector: str, text: str) -> None:
        self._call("POST", f"{self.session}/element/{self.find(selector)}/value", {"text": text})

    def click(self, selector: str) -> None:
        self._call("POST", f"{self.session}/element/{self.find(selector)}/click")

    def act(self, *actions: dict[str, Any]) -> None:
        """User input: pointer, wheel and key actions of WebDriver."""
        self._call("POST", f"{self.session}/actions", {"actions": list(actions)})

    def errors(self) -> list[str]:
        """All errors on the console since the last call."""
        entries = self._call("POST", f"{self.session}/se/log", {"type": "browser"})
        return [e["message"] for e in entries if e["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path: Path | None = None) -> bytes:
        """A screenshot of the window."""
        png = base64.b64decode(self._call("GET", f"{self.session}/screenshot"))
        if path is not None:
            path.write_bytes(png)
        return png

    def thumbnail(self) -> bytes:
        """The window at a quarter of its size, which is quick to compare."""
        x, y, width, height = self.run("return [scrollX, scrollY, innerWidth, innerHeight]")
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 0.25}
        return base64.b64decode(self.command("Page.captureScreenshot", clip=clip)["data"])

    def emulate(
        self, *, width: int, height: int, dark: bool = False, media: str = "screen"
    ) -> None:
        """A window of another size, another theme, or the print style."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.command("Emulation.setEmulatedMedia", media=media, features=features)


def pixels(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, bytes per pixel and rows of a PNG with eight bits a channel."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    size = {2: 3, 6: 4}[kind]
    assert depth == 8
    data, at = b"", 8
    while at < len(png):
        length = struct.unpack(">I", png[at : at + 4])[0]
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += length + 12
    raw = zlib.decompress(data)
    rows, before, stride = [], bytes(width * size), width * size
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 :][:stride])
        for i in range(stride):
            left = line[i - size] if i >= size else 0
            up, corner = before[i], before[i - size] if i >= size else 0
            if kind == 1:
                line[i] = (line[i] + left) & 255
            elif kind == 2:
                line[i] = (line[i] + up) & 255
            elif kind == 3:
                line[i] = (line[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                a, b, c = abs(guess - left), abs(guess - up), abs(guess - corner)
                best = left if a <= b and a <= c else (up if b <= c else corner)
                line[i] = (line[i] + best) & 255
        before = bytes(line)
        rows.append(before)
    return width, size, rows


def colours(png: bytes) -> int:
    """How many different colours a picture has: a blank one has a single one."""
    _, size, rows = pixels(png)
    return len({row[i : i + size] for row in rows for i in range(0, len(row), size)})
