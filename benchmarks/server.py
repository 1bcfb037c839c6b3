"""Measures how long the language server takes to answer a keystroke, and to be ready.

``python benchmarks/server.py FOLDER`` types into each file of about a thousand lines of a project, and compares the
time from the change to its findings with that of linting the file alone in a warm process, alternately.
``--write`` puts the table into docs/speed.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from timing import commits, page

from torchlint.run import session
from torchlint.run.discovery import discover
from torchlint.server.settings import Settings

GOAL = 1.5  # what the ratio should be at most
_LINES = range(900, 1101)
_COMMAND = (sys.executable, "-m", "torchlint", "server")
_IDLE = 0.6  # seconds between keystrokes: the server has determined what the last one means for other files


class Client:
    """The least that an editor has to say."""

    def __init__(self, *folders: Path) -> None:
        self.started = time.perf_counter()
        self._server = subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        listed = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        self._ids = itertools.count(1)
        capabilities = {"window": {"workDoneProgress": True}}
        parameters = {"processId": None, "capabilities": capabilities, "workspaceFolders": listed}
        self.request("initialize", parameters)
        self.ready = time.perf_counter() - self.started
        self.notify("initialized", {})

    def notify(self, method: str, parameters: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": parameters})

    def request(self, method: str, parameters: object) -> None:
        """Send a request, and wait for its answer."""
        number = next(self._ids)
        self._send({"id": number, "method": method, "params": parameters})
        while self.read().get("id") != number:
            pass

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._server.stdin is not None
        self._server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._server.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next message of the server; its requests are answered."""
        assert self._server.stdout is not None
        length = 0
        while line := self._server.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        found: dict[str, Any] = json.loads(self._server.stdout.read(length))
        if "id" in found and "method" in found:
            self._send({"id": found["id"], "result": None})
        return found

    def findings(self, uri: str, version: int) -> int:
        """Wait for the findings of a version of a document; returns their number."""
        while True:
            found = self.read().get("params") or {}
            if found.get("uri") == uri and found.get("version") == version:
                return len(found["diagnostics"])

    def scanned(self) -> None:
        """Wait until the project has been linted."""
        while self.read().get("params", {}).get("value", {}).get("kind") != "end":
            pass

    def end(self) -> None:
        """End the server."""
        self.request("shutdown", None)
        self.notify("exit", None)
        self._server.wait()


class Row(NamedTuple):
    """The times of one file in seconds: the least of each, since other programs only add to them."""

    name: str
    lines: int
    alone: float
    answer: float

    @property
    def ratio(self) -> float:
        """The time for the answer in units of that for linting the file alone."""
        return self.answer / self.alone


def typed(client: Client, folder: Path, path: Path, repeat: int) -> Row:
    """Type into one file, and lint it alone, alternately."""
    plan = session.plan_of(Settings().configurations(str(folder), isolated=False))
    text, uri = path.read_text(encoding="utf-8"), path.as_uri()
    end = {"line": text.count("\n"), "character": 0}
    client.notify("textDocument/didOpen", {"textDocument": _item(uri, text)})
    client.findings(uri, 1)
    answers, alone = [], []
    for version in range(2, repeat + 2):
        text += "x = 1\n"
        change = {"text": "x = 1\n", "range": {"start": end, "end": end}}
        time.sleep(_IDLE)
        begun = time.perf_counter()
        client.notify(
            "textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
        )
        client.findings(uri, version)
        answers.append(time.perf_counter() - begun)
        data = text.encode()
        begun = time.perf_counter()
        plan.analyze(data, str(path))
        alone.append(time.perf_counter() - begun)
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return Row(path.relative_to(folder).as_posix(), end["line"], min(alone), min(answers))


def _item(uri: str, text: str) -> dict[str, object]:
    return {"uri": uri, "languageId": "python", "version": 1, "text": text}


def startup(folder: Path, repeat: int) -> tuple[float, float]:
    """The least times until the server answers, and until a process that imports pygls has ended."""
    ready, floor = [], []
    for _ in range(repeat):
        client = Client(folder)
        ready.append(client.ready)
        client.end()
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import pygls.lsp.server"], check=True)
        floor.append(time.perf_counter() - begun)
    return min(ready), min(floor)


def table(folder: Path, files: int, rows: Sequence[Row], ready: float, floor: float, when: str) -> str:
    """The measurements in Markdown."""
    missed = sum(row.ratio > GOAL for row in rows)
    started = f"Ready after {ready:.2f} s, {ready / floor:.1f} times the import of pygls."
    fast = f"The ratio is at most {GOAL} for {len(rows) - missed} of {len(rows)} files."
    lines = [
        f"{folder.name}: {files} files. {started} {fast} {when}",
        "",
        "| file | lines | alone, warm | keystroke | ratio |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row.name} | {row.lines} | {row.alone * 1000:.1f} ms | {row.answer * 1000:.1f} ms | {row.ratio:.2f} |"
        for row in sorted(rows, key=lambda row: -row.alone)
    ]
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print the table, and write it if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a project")
    parser.add_argument("--repeat", type=int, default=9, help="keystrokes for each file (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/speed.md")
    options = parser.parse_args(argv)
    folder = options.folder.resolve()
    when = commits.stamp() if options.write else ""
    found = discover.files([str(folder)], Settings().configurations(str(folder), isolated=False), str(folder)).files
    ready, floor = startup(folder, 5)
    client = Client(folder)
    client.scanned()
    chosen = [path for path in map(Path, found) if path.read_bytes().count(b"\n") in _LINES]
    rows = [typed(client, folder, path, options.repeat) for path in chosen]
    client.end()
    text = table(folder, len(found), rows, ready, floor, when)
    print(text)
    if options.write:
        page.write("server", text)


if __name__ == "__main__":
    main()
