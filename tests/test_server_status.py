"""The language server says what it recognized of a folder: in its log, and when it is asked."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from lsprotocol import types

from tests.editor import PATIENCE, Editor, started

pytestmark = pytest.mark.asyncio
TRAIN = """\
import torch
from torch.utils.data import DataLoader

from .data import dataset


def main(model, optimizer):
    model.to("cuda")
    for x in DataLoader(dataset(), pin_memory=True):
        model(x.to("cuda", non_blocking=True)).sum().backward()
        optimizer.step()
"""
MODEL = """\
import torch


def build(name):
    return torch.load(name, map_location="cuda").to("cuda")
"""
NO_LOOP = "Nothing found, but no training or inference loop was recognized in 1 file."


async def ask(editor: Editor, *arguments: object) -> list[str]:
    """What the command answers."""
    params = types.ExecuteCommandParams("torchlint.status", list(arguments) or None)
    answer: list[str] | None = await editor.client.workspace_execute_command_async(params)
    assert answer is not None
    return answer


async def logged(editor: Editor, words: str) -> types.LogMessageParams:
    """The message in the client's log with these words, as soon as it is there."""
    found: types.LogMessageParams = await editor.until(lambda: [m for m in editor.logged if words in m.message][:1])
    return editor.logged[editor.logged.index(found[0])]  # type: ignore[index]


async def test_loops_and_what_was_not_linted_are_told_after_the_first_look(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "old.py").write_text("import torch\nprint 'done'\n")
    async with started(tmp_path, options={"ignore": ["TL4"]}) as editor:
        told = await logged(editor, "Recognized")
        assert told.type is types.MessageType.Info
        lines = told.message.split("\n")
        assert lines[0].startswith(f"{tmp_path}: ")
        assert f"1 file is written in Python 2 and was not checked: {tmp_path / 'old.py'}." in lines
        assert f"Recognized: training in {tmp_path / 'train.py'}:9." in lines
        assert await ask(editor) == lines


async def test_a_file_without_a_recognized_loop_gets_no_diagnostic_and_the_command_says_so(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    async with started(tmp_path, options={"ignore": ["TL7"]}) as editor:
        await logged(editor, NO_LOOP)
        assert await editor.findings(editor.open(tmp_path / "model.py", MODEL)) == []
        assert await ask(editor, "anything") == [f"{tmp_path}: {NO_LOOP}"]
        assert not editor.shown


async def test_the_answer_follows_what_is_typed_and_the_log_does_not_repeat_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(MODEL)
    async with started(tmp_path, options={"ignore": ["TL4", "TL7"]}) as editor:
        await logged(editor, NO_LOOP)
        uri = editor.open(tmp_path / "train.py", MODEL)
        editor.change(uri, TRAIN)
        end = time.monotonic() + PATIENCE
        while f"Recognized: training in {tmp_path / 'train.py'}:9." not in await ask(editor):
            assert time.monotonic() < end
            await asyncio.sleep(0.02)
        assert len([message for message in editor.logged if str(tmp_path) in message.message]) == 1


async def test_folders_in_which_nothing_is_linted_are_not_mentioned(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    async with started(tmp_path, options={"enable": False}) as editor:
        assert await ask(editor) == []
