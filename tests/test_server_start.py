"""The language server as a process, and what it computes without a client."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from tests.editor import COMMAND
from torchlint.cli import server as command
from torchlint.cli.main import main
from torchlint.model import Span
from torchlint.server.assists import edits
from torchlint.server.settings import Settings, read_settings
from torchlint.server.switch_off import switched_off
from torchlint.server.texts.positions import Lines
from torchlint.server.worker import URGENT, Worker
from torchlint.text.decode import decode, encode_declared
from torchlint.text.lines import Places


def talk(*messages: bytes) -> tuple[int, bytes]:
    """Send messages to a server of its own; returns its exit status and what it wrote."""
    data = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(each), each) for each in messages)
    done = subprocess.run(COMMAND, input=data, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout


INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}'
)
SHUTDOWN, EXIT = b'{"jsonrpc":"2.0","id":2,"method":"shutdown"}', b'{"jsonrpc":"2.0","method":"exit"}'


def test_the_exit_status_is_that_of_the_protocol() -> None:
    status, output = talk(INITIALIZE, b"{broken", SHUTDOWN, EXIT)
    assert status == 0
    assert output.count(b"Content-Length") >= 3
    assert talk(INITIALIZE, EXIT)[0] == 1
    assert talk(INITIALIZE)[0] == 1  # the editor is gone


def test_what_is_printed_does_not_reach_the_protocol() -> None:
    code = (
        "import os, sys; from torchlint.server import start; output = start._own_output()\n"
        "print('stray', flush=True); os.write(1, b'stray'); output.write(b'protocol')"
    )
    done = subprocess.run([COMMAND[0], "-c", code], capture_output=True, timeout=60, check=True)
    assert done.stdout == b"protocol"
    assert done.stderr.count(b"stray") == 2


def test_a_job_that_is_cancelled_before_it_starts_is_never_run() -> None:
    worker, ran = Worker(), list[str]()
    cancelled = worker.submit(URGENT, lambda: ran.append("cancelled"))
    worker.submit(URGENT, lambda: ran.append("kept"))
    worker.submit(URGENT, worker.stop)
    assert cancelled.cancel()
    worker.run()
    assert ran == ["kept"]


def test_a_missing_package_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    assert main(["server"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("torchlint: error: the language server needs pygls, lsprotocol and tomlkit: ")
    assert captured.err.count("\n") == 1


# -- positions -----------------------------------------------------------------------------------------

TEXTS = st.text(st.sampled_from("ab \u00e9\u20ac\U0001f525\u2028\f\r\n"), max_size=40)
ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)), st.data())
def test_positions_count_code_units_and_lead_back_to_the_same_place(
    text: str, encoding: str, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(0, len(text)))
    if text[max(offset - 1, 0) : offset + 1] == "\r\n":
        offset += 1  # no position is between the two
    lines = Lines(text, encoding)
    place = Places(text).span(offset, offset)
    position = lines.position(place.line, place.column)
    assert position == lines.position_at(offset)
    before = text[offset - place.column + 1 : offset]
    assert position.line == place.line - 1
    assert position.character == len(before.encode(ENCODINGS[encoding])) // WIDTHS[encoding]
    assert lines.offset(position) == offset


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)), st.integers(0, 50), st.integers(0, 200))
def test_positions_outside_the_text_mean_the_nearest_end(text: str, encoding: str, line: int, character: int) -> None:
    lines = Lines(text, encoding)
    assert 0 <= lines.offset(types.Position(line, character)) <= len(text)
    assert lines.offset(types.Position(1000, character)) == len(text)
    assert lines.range(Span(1, 1, 1000, character + 1)).end == lines.position_at(len(text))


def test_a_position_inside_a_character_is_before_it_and_a_byte_order_mark_counts_only_for_the_client() -> None:
    assert Lines("a\U0001f525b", "utf-16").offset(types.Position(0, 2)) == 1
    assert Lines("\ufeffab\ncd", "utf-16").range(Span(1, 2, 2, 2)) == types.Range(
        types.Position(0, 2), types.Position(1, 1)
    )


@given(TEXTS, TEXTS, st.sampled_from(sorted(ENCODINGS)))
def test_edits_between_two_texts_lead_from_one_to_the_other(before: str, after: str, encoding: str) -> None:
    lines, text = Lines(before, encoding), before
    for edit in reversed(edits.between(before, after, encoding)):
        start, end = lines.offset(edit.range.start), lines.offset(edit.range.end)
        text = text[:start] + edit.new_text + text[end:]
    assert text == after


@given(st.sampled_from(("", "# coding: latin-1\n", "# coding: ascii\n", "\ufeff")), TEXTS)
def test_what_is_encoded_for_linting_keeps_the_places_of_all_characters(declared: str, text: str) -> None:
    written = declared + text
    read = decode(encode_declared(written))
    assert len(read) == len(written) - written.startswith("\ufeff")
    assert all(one in (other, "?") for one, other in zip(read, written.removeprefix("\ufeff"), strict=True))


# -- settings and configurations -----------------------------------------------------------------------


def test_settings_of_the_client_itself_are_left_alone_and_misspelt_ones_are_named() -> None:
    own = {"path": "/bin/torchlint", "interpreter": "", "trace": {"server": "off"}}
    settings, wrong = read_settings({**own, "ignored": [], "enable": None})
    assert settings == Settings()
    assert wrong == ["torchlint.ignored is not a setting; did you mean torchlint.ignore?"]


@pytest.mark.parametrize("given_", [None, {}, {"torchlint": {}}, {"settings": {}}, {"settings": {"torchlint": {}}}])
def test_no_settings_are_the_defaults(given_: object) -> None:
    assert read_settings(given_) == (Settings(), [])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[tool.torchlint]\nignore = ["TL1"]\n'),
        ("[tool.a]\nx = 1 # y\n", '[tool.a]\nx = 1 # y\n\n[tool.torchlint]\nignore = ["TL1"]\n'),
        (
            '[tool.torchlint]\nignore = [\n    "TL2", # why\n]\n',
            '[tool.torchlint]\nignore = [\n    "TL2", # why\n    "TL1",\n]\n',
        ),
        ('tool.torchlint.select = ["ALL"]\n', 'tool.torchlint.select = ["ALL"]\ntool.torchlint.ignore = ["TL1"]\n'),
        ("[tool]\ntorchlint = {}\n", '[tool]\ntorchlint = {ignore = ["TL1"]}\n'),
        ("[tool.torchlint]\r\n", '[tool.torchlint]\r\nignore = ["TL1"]\r\n'),
        ('[tool.torchlint]\nignore = ["TL1"]\n', '[tool.torchlint]\nignore = ["TL1"]\n'),
        ("[tool.torchlint\n", None),
        ("tool = 3\n", None),
        ("[tool.torchlint]\nignore = 3\n", None),
    ],
)
def test_a_rule_is_switched_off_without_touching_anything_else(before: str, after: str | None) -> None:
    assert switched_off("pyproject.toml", before, "TL1") == after
