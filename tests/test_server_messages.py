"""The language server answers every request, whatever it gets, and goes on."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.editor import COMMAND, GUILTY

PARSE, REQUEST, METHOD, PARAMS, UNINITIALIZED = -32700, -32600, -32601, -32602, -32002
ZERO = {"line": 0, "character": 0}
MALFORMED = ["", "no scheme", "file://[", "file:///a%00b.py", 5]


class Client:
    """A client that sends any bytes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._end = threading.Timer(20, self._process.kill)  # a test that would wait for ever fails
        self._end.start()
        self.others: list[dict[str, Any]] = []

    def send(self, message: object) -> None:
        """Send a message, as it is if it is bytes."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next message of the server."""
        stream = self._process.stdout
        assert stream is not None
        length = 0
        while (header := stream.readline().strip()) or not length:
            assert header, "the server has ended"
            if header.startswith(b"Content-Length: "):
                length = int(header.split()[1])
        found: dict[str, Any] = json.loads(stream.read(length))
        return found

    def answer(self, number: object) -> dict[str, Any]:
        """The response to a request; other messages are kept."""
        while True:
            message = self.receive()
            if "method" not in message and message.get("id") == number:
                return message
            self.others.append(message)

    def ask(self, number: object, method: object, **fields: Any) -> Any:
        """The error code of a request, or its result."""
        self.send({"jsonrpc": "2.0", "id": number, "method": method, **fields})
        answer = self.answer(number)
        return answer["error"]["code"] if "error" in answer else answer["result"]

    def tell(self, method: str, **fields: Any) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, **fields})

    def initialize(self, **capabilities: Any) -> None:
        """Introduce the client."""
        self.ask(1, "initialize", params={"processId": None, "rootUri": None, "capabilities": capabilities})
        self.tell("initialized", params={})

    def open(self, path: Path) -> dict[str, Any]:
        """Open a document with a finding; returns the parameters that name it."""
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": GUILTY}
        self.tell("textDocument/didOpen", params={"textDocument": document})
        return {"textDocument": {"uri": path.as_uri()}}

    def stop(self) -> int:
        """End the server; returns its status."""
        assert self.ask("end", "shutdown") is None
        self.tell("exit")
        return self._process.wait()

    def kill(self) -> None:
        """End the process if it is still there."""
        self._end.cancel()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture
def raw() -> Iterator[Client]:
    client = Client()
    yield client
    client.kill()


@pytest.fixture
def client(raw: Client) -> Client:
    raw.initialize()
    return raw


def works(client: Client, path: Path) -> None:
    named = client.open(path)
    found = client.ask("last", "textDocument/diagnostic", params=named)
    assert [item["code"] for item in found["items"]] == ["TL103"]
    assert client.stop() == 0


def test_an_unknown_method_is_not_found_whatever_its_parameters(client: Client, tmp_path: Path) -> None:
    several: list[dict[str, Any]] = [{}, {"params": {}}, {"params": [1]}, {"params": None}, {"params": 7}]
    for number, fields in enumerate(several, start=10):
        assert client.ask(number, "torchlint/unknown", **fields) == METHOD
        assert client.ask(f"{number}", "textDocument/completion", **fields) == METHOD
    works(client, tmp_path / "a.py")


def test_wrong_parameters_are_invalid(client: Client, tmp_path: Path) -> None:
    document = {"uri": (tmp_path / "a.py").as_uri()}
    wrong: list[dict[str, Any]] = [
        {},
        {"params": {}},
        {"params": []},
        {"params": None},
        {"params": "x"},
        {"params": {"textDocument": document, "position": "x"}},
        {"params": {"textDocument": document, "position": {"line": "x", "character": None}}},
        {"params": {"textDocument": [], "position": ZERO}},
    ]
    for number, fields in enumerate(wrong, start=10):
        assert client.ask(number, "textDocument/hover", **fields) == PARAMS
    works(client, tmp_path / "a.py")


@pytest.mark.parametrize("method", ["textDocument/hover", "textDocument/diagnostic", "textDocument/codeAction"])
def test_a_malformed_uri_is_an_invalid_parameter(client: Client, method: str, tmp_path: Path) -> None:
    rest = {"position": ZERO, "range": {"start": ZERO, "end": ZERO}, "context": {"diagnostics": []}}
    for number, uri in enumerate(MALFORMED, start=10):
        assert client.ask(number, method, params={"textDocument": {"uri": uri}, **rest}) == PARAMS
    works(client, tmp_path / "a.py")


def test_uris_of_documents_in_no_file_and_of_unknown_files_are_answered(client: Client, tmp_path: Path) -> None:
    for number, uri in enumerate(
        ["untitled:Untitled-1", "git:/a.py", "file:///not%20open.py", "file:///Ä.py"], start=10
    ):
        found = client.ask(number, "textDocument/diagnostic", params={"textDocument": {"uri": uri}})
        assert found["items"] == []
    works(client, tmp_path / "a.py")


@pytest.mark.parametrize("fields", [{}, {"params": None}, {"params": [1]}])
def test_the_message_that_the_server_waits_for_needs_no_parameters(
    raw: Client, fields: dict[str, Any], tmp_path: Path
) -> None:
    raw.ask(1, "initialize", params={"processId": None, "rootUri": None, "capabilities": {}})
    raw.tell("initialized", **fields)
    works(raw, tmp_path / "a.py")


def test_malformed_notifications_are_ignored(client: Client, tmp_path: Path) -> None:
    methods = ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "notebookDocument/didOpen")
    others = ("workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration", "$/cancelRequest", "$/unknown")
    for method in (*methods, *others):
        client.tell(method)
        for params in ({}, 5, None, {"textDocument": {"uri": 5}, "changes": 5}):
            client.tell(method, params=params)
    for uri in MALFORMED:
        document = {"uri": uri, "languageId": "python", "version": 1, "text": GUILTY}
        client.tell("textDocument/didOpen", params={"textDocument": document})
        client.tell("textDocument/didClose", params={"textDocument": {"uri": uri}})
        client.tell("workspace/didChangeWatchedFiles", params={"changes": [{"uri": uri, "type": 1}]})
    works(client, tmp_path / "a.py")


def test_what_is_no_message_is_answered_without_an_id(client: Client, tmp_path: Path) -> None:
    for message, code in (
        (b"{broken", PARSE),
        (b"\xff\xfe", PARSE),
        (5, REQUEST),
        ([{"jsonrpc": "2.0", "id": 9, "method": "shutdown"}], REQUEST),
        ({"jsonrpc": "2.0", "id": [9], "method": "shutdown"}, REQUEST),
    ):
        client.send(message)
        assert client.answer(None)["error"]["code"] == code
    works(client, tmp_path / "a.py")


def test_a_request_of_another_form_is_invalid(client: Client, tmp_path: Path) -> None:
    assert client.ask(9, 7) == REQUEST
    for message in ({"id": 10, "method": "shutdown"}, {"jsonrpc": "1.0", "id": 10, "method": "x", "params": {}}):
        client.send(message)
        assert client.answer(10)["error"]["code"] == REQUEST
    works(client, tmp_path / "a.py")


def test_requests_before_the_beginning_and_after_the_end_are_refused(raw: Client) -> None:
    named = {"textDocument": {"uri": "file:///a.py"}}
    assert raw.ask(0, "textDocument/diagnostic", params=named) == UNINITIALIZED
    raw.tell("textDocument/didClose", params=named)
    raw.initialize()
    assert raw.ask(2, "shutdown") is None
    assert raw.ask(3, "textDocument/diagnostic", params=named) == REQUEST


@pytest.mark.parametrize(
    "answered", [{"result": 5}, {"result": None}, {}, {"error": 5}, {"error": {"code": 1, "message": "no"}}]
)
def test_a_wrong_answer_of_the_client_does_not_keep_it_waiting(
    raw: Client, answered: dict[str, Any], tmp_path: Path
) -> None:
    raw.initialize(workspace={"configuration": True})
    while (request := raw.receive()).get("method") != "workspace/configuration":
        pass
    raw.send({"jsonrpc": "2.0", "id": request["id"], **answered})
    works(raw, tmp_path / "a.py")
