"""What earlier runs have shown, in an editor: when its files change, and behind the lines of findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.editor import Editor, capabilities, started
from torchlint.run.recorded.evidence import NAME, Measured, Shot, content_of, document
from torchlint.run.recorded.shown import Shown
from torchlint.server.watching import changes_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXT = "def keep(values, loss):\n    values.append(loss.item())\n"
SETTING = {"settings": {"evidence": ["runs"]}}


def record(folder: Path, *, times: int = 10, text: str = TEXT) -> Path:
    """Write what a run of 10 steps has shown of ``a.py`` with a text; each time took 10 us."""
    shown = Shown("sync", (2, 18, 2, 29), "read", "training", 1.0)
    measured = Measured(shown, times, 10, 10.0 * times, pageable=False)
    shot = Shot("a.py", content_of(text.encode()), "", (measured,))
    written = document([shot], torch="2.13", device="simulated", version="0")
    folder.mkdir(exist_ok=True)
    (folder / NAME).write_text(json.dumps(written), encoding="utf-8")
    return folder / NAME


async def said(editor: Editor, uri: str, *expected: str) -> None:
    """Wait until there are only findings that say this: without evidence, nothing tells that `keep` runs in a step."""

    def holds() -> bool:
        found = editor.published.get(uri)
        seen = [d.message.partition("\nseen in the run: ")[2] for d in found.diagnostics] if found is not None else None
        return seen == list(expected)

    await editor.until(holds)


# -- changes of evidence -----------------------------------------------------------------------------


async def test_a_wrong_path_of_evidence_is_told(tmp_path: Path) -> None:
    async with started(tmp_path, options=SETTING) as editor:
        await said(editor, editor.open(tmp_path / "a.py", TEXT))
        missing = "runs: cannot be read (No such file or directory)"
        await editor.until(lambda: any(missing in each.message for each in editor.shown))


@pytest.mark.parametrize("watches", [True, False])
async def test_evidence_that_is_written_changed_or_deleted_is_noticed(tmp_path: Path, *, watches: bool) -> None:
    """Also by clients that say nothing of files, and after the file could not be read."""
    async with started(tmp_path, options=SETTING, can=capabilities(watches=watches)) as editor:
        uri = editor.open(tmp_path / "a.py", TEXT)
        await said(editor, uri)
        kind = types.FileChangeType.Created
        for times, words in (
            (10, "1 wait for the device a step, about 10 us (modeled)"),
            (20, "2 waits for the device a step, about 20 us (modeled)"),
        ):
            path = record(tmp_path / "runs", times=times)
            if watches:
                editor.tell(path, kind)
            await said(editor, uri, words)
        path.write_text("{", encoding="utf-8")
        await said(editor, uri)
        await editor.until(lambda: any("is not JSON" in each.message for each in editor.shown))
        record(tmp_path / "runs")
        await said(editor, uri, "1 wait for the device a step, about 10 us (modeled)")
        path.unlink()
        await said(editor, uri)


async def test_clients_are_asked_to_watch_evidence_and_its_changes_are_told_apart(tmp_path: Path) -> None:
    async with started(tmp_path) as editor:
        await editor.rules(editor.open(tmp_path / "a.py", ""))
        (files,) = [r for r in editor.registered if r.method == types.WORKSPACE_DID_CHANGE_WATCHED_FILES]
        options = json.dumps(files.register_options, default=vars)
        assert f"**/{NAME}" in options
    for name, evidence in ((NAME, True), ("other.json", False), (f"{NAME}.py", False)):
        event = types.FileEvent((tmp_path / "runs" / name).as_uri(), types.FileChangeType.Changed)
        changes = changes_of([event])
        assert (changes.evidence, changes.configuration) == (evidence, False)


async def test_evidence_beside_a_wrong_configuration_is_read_once(tmp_path: Path) -> None:
    """The last good configuration stays, and with it the evidence that was read then; nothing is linted for ever."""
    record(tmp_path / "runs")
    project = tmp_path / "torchlint.toml"
    project.write_text("")
    async with started(tmp_path, options=SETTING) as editor:
        uri = editor.open(tmp_path / "a.py", TEXT)
        await said(editor, uri, "1 wait for the device a step, about 10 us (modeled)")
        project.write_text("[wrong")
        editor.tell(project)
        await editor.until(lambda: editor.published.get(project.as_uri()))
        count = editor.hint_refreshes
        record(tmp_path / "runs", times=20)
        await editor.until(lambda: editor.hint_refreshes > count)
        project.write_text("")
        editor.tell(project)
        await said(editor, uri, "2 waits for the device a step, about 20 us (modeled)")


# -- hints -------------------------------------------------------------------------------------------


async def test_lines_without_evidence_for_their_present_text_have_no_hint(tmp_path: Path) -> None:
    record(tmp_path / "runs", text=TEXT + "\n")
    async with started(tmp_path, options=SETTING) as editor:
        uri = editor.open(tmp_path / "a.py", TEXT)
        await said(editor, uri)
        assert await editor.hints(uri) == []
        editor.change(uri, TEXT + "\n")
        await said(editor, uri, "1 wait for the device a step, about 10 us (modeled)")
        assert len(await editor.hints(uri)) == 1
        for typed in ("(", "# typed"):
            editor.change(uri, TEXT + "\n" + typed)
            assert await editor.hints(uri) == []


async def test_what_a_run_has_shown_is_behind_its_line_once(tmp_path: Path) -> None:
    record(tmp_path / "runs")
    async with started(tmp_path, options=SETTING) as editor:
        uri = editor.open(tmp_path / "a.py", TEXT)
        end = types.Position(1, len("    values.append(loss.item())"))
        expected = [(end, "1 a step, 10 us (modeled)")]
        assert await editor.hints(uri) == expected
        assert await editor.hints(uri, 0, 0) == []
        count = editor.hint_refreshes
        record(tmp_path / "runs", times=20)
        await editor.until(lambda: editor.hint_refreshes > count)
        assert await editor.hints(uri) == [(end, "2 a step, 20 us (modeled)")]


async def test_a_setting_switches_hints_off(tmp_path: Path) -> None:
    record(tmp_path / "runs")
    options = {"settings": {"evidence": ["runs"], "showMeasured": False}}
    async with started(tmp_path, options=options) as editor:
        uri = editor.open(tmp_path / "a.py", TEXT)
        await said(editor, uri, "1 wait for the device a step, about 10 us (modeled)")
        assert await editor.hints(uri) == []


async def test_hints_are_announced_to_clients_that_show_them(tmp_path: Path) -> None:
    for hints in (True, False):
        editor = Editor()
        offered = await editor.start(tmp_path, can=capabilities(hints=hints))
        assert (offered.inlay_hint_provider is not None) == hints
        uri = editor.open(tmp_path / "a.py", TEXT)
        if not hints:
            with pytest.raises(JsonRpcException, match="Method Not Found"):
                await editor.hints(uri)
        await editor.stop()
