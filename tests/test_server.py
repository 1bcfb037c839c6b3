"""The language server, seen from an editor that starts it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcRequestCancelled

from tests.editor import GUILTY, RULE, Editor, capabilities, started, with_edits
from tests.test_project import ENGINE, MAIN

pytestmark = pytest.mark.asyncio(loop_scope="module")

INNOCENT = GUILTY.replace("torch.tensor(np.zeros(3))", "torch.zeros(3)")
LOADED = "import numpy as np\nimport torch\na = np.load('x')\nx = torch.tensor(a)\n"
SAFE = GUILTY + "x = torch.tensor(np.ones(3), dtype=torch.float32)\n"
PROJECT = '[project]\nname = "x" # a comment\n\n[tool.torchlint]\nexclude = ["generated"]\n'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    """An editor with one folder, for all tests that need no other settings."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "pyproject.toml").write_text(PROJECT)
    async with started(folder) as editor:
        yield editor


@pytest.fixture
def folder(editor: Editor) -> Path:
    return editor.folders[0]


# -- findings --------------------------------------------------------------------------------------


async def test_an_innocent_file_gets_an_empty_list(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "innocent.py", INNOCENT)
    assert await editor.findings(uri) == []


async def test_a_finding_has_its_rule_its_page_its_severity_and_its_range(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "guilty.py", GUILTY)
    (found,) = await editor.findings(uri)
    assert (found.code, found.source, found.severity) == (RULE, "torchlint", types.DiagnosticSeverity.Information)
    assert found.code_description is not None
    assert found.code_description.href.endswith("python-data-factory.md")
    assert found.range == types.Range(types.Position(5, 11), types.Position(5, 36))


async def test_evidence_is_related_information(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "evidence.py", LOADED)
    (found,) = await editor.findings(uri)
    (related,) = found.related_information or ()
    assert (related.location.uri, related.location.range.start) == (uri, types.Position(2, 4))


async def test_findings_follow_the_unsaved_text(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "typed.py", INNOCENT)
    await editor.rules(uri)
    editor.change(uri, GUILTY)
    await editor.rules(uri, RULE)
    editor.change(uri, "\n\n" + GUILTY)
    assert [found.range.start.line for found in await editor.findings(uri)] == [7]
    editor.change(uri, "import torch\n(")
    await editor.rules(uri, "TL000")
    editor.change(uri, INNOCENT)
    await editor.rules(uri)


async def test_findings_of_a_version_that_was_changed_meanwhile_are_never_published(
    editor: Editor, folder: Path
) -> None:
    uri = editor.open(folder / "fast.py", GUILTY)
    for number in range(30):
        editor.change(uri, GUILTY if number % 2 else INNOCENT)
    await editor.rules(uri, RULE)
    for told in (each for each in editor.all_published if each.uri == uri):
        assert len(told.diagnostics) == told.version % 2  # type: ignore[operator]


async def test_positions_count_utf_16_units_and_lines_end_as_the_protocol_says(editor: Editor, folder: Path) -> None:
    line = "x = '\U0001f525\u2028\f', torch.tensor(np.zeros(3))"
    uri = editor.open(folder / "wide.py", f"import torch\r\nimport numpy as np\r\n{line}\r\n")
    (found,) = await editor.findings(uri)
    assert found.range == types.Range(types.Position(2, 12), types.Position(2, 37))
    editor.replace(uri, (2, 12), (2, 37), "1")
    await editor.rules(uri)
    editor.replace(uri, (2, 12), (2, 13), "torch.tensor(np.ones(3))")
    await editor.rules(uri, RULE)


async def test_positions_are_counted_as_the_client_prefers(tmp_path: Path) -> None:
    async with started(tmp_path, can=capabilities(encodings=("utf-8", "utf-16"))) as editor:
        text = "import torch\nimport numpy as np\nx = '\u00e9\U0001f525', torch.tensor(np.zeros(3))\n"
        uri = editor.open(tmp_path / "wide.py", text)
        (found,) = await editor.findings(uri)
        assert found.range.start == types.Position(2, 14)


async def test_closing_a_document_clears_its_findings(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "closed.py", GUILTY)
    await editor.rules(uri, RULE)
    editor.close(uri)
    await editor.until(lambda: not editor.published[uri].diagnostics)


async def test_a_document_that_is_closed_while_it_is_linted_has_no_findings(editor: Editor, folder: Path) -> None:
    for pause in (0.0, 0.02, 0.1, 0.3):
        uri = editor.open(folder / f"slow_{pause}.py", GUILTY * 250)
        await asyncio.sleep(pause)
        editor.close(uri)
        other = editor.open(folder / f"other_{pause}.py", GUILTY)
        await editor.rules(other, RULE)
        assert uri not in editor.published or not editor.published[uri].diagnostics


async def test_a_text_in_another_encoding_keeps_its_columns(editor: Editor, folder: Path) -> None:
    text = "# -*- coding: latin-1 -*-\nimport torch, numpy as np\nx = '\u00e9\u20ac', torch.tensor(np.zeros(3))\n"
    uri = editor.open(folder / "latin.py", text)
    (found,) = await editor.findings(uri)
    assert (found.code, found.range.start) == (RULE, types.Position(2, 10))


# -- documents that are special ----------------------------------------------------------------------


async def test_documents_that_are_no_python_files_of_the_editor_are_left_alone(editor: Editor, folder: Path) -> None:
    others = [
        editor.open((folder / "guilty.py").as_uri().replace("file:", "git:"), GUILTY),
        editor.open(folder / "notes.txt", GUILTY, "plaintext"),
    ]
    uri = editor.open(folder / "last.py", GUILTY)
    await editor.rules(uri, RULE)
    assert not editor.published.keys() & set(others)


async def test_excluded_files_have_no_findings(editor: Editor, folder: Path) -> None:
    for path in (folder / "generated" / "a.py", folder / ".venv" / "lib" / "site-packages" / "b.py"):
        uri = editor.open(path, GUILTY)
        assert await editor.findings(uri) == []


async def test_untitled_documents_and_files_outside_all_folders_are_linted(editor: Editor, tmp_path: Path) -> None:
    await editor.rules(editor.open("untitled:Untitled-1", GUILTY), RULE)
    (tmp_path / "torchlint.toml").write_text('ignore = ["TL103"]\n')
    await editor.rules(editor.open(tmp_path / "a.py", GUILTY))
    await editor.rules(editor.open(tmp_path.parent / "b.py", GUILTY), RULE)


async def test_unusual_texts_are_answered(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "odd.py", "")
    await editor.rules(uri)
    for text in ("import torch\n\0", "import torch\n\ud800 =", "import torch\n" + "x = 1\n" * 800_000):
        editor.change(uri, text)
        await editor.rules(uri, "TL000")
    editor.change(uri, GUILTY.replace("\n", "\r"))
    await editor.rules(uri, RULE)


# -- actions ---------------------------------------------------------------------------------------


async def test_a_safe_fix_is_preferred_and_an_unsafe_one_says_why(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "fixes.py", SAFE)
    await editor.findings(uri)
    fixes = [a for title, a in (await editor.actions(uri)).items() if "create it" in title]
    assert [bool(fix.is_preferred) for fix in fixes] == [True, True]
    for fix in fixes:
        assert fix.kind == types.CodeActionKind.QuickFix
        assert [d.code for d in fix.diagnostics or ()] == [RULE]
    text = editor.applied(uri, await editor.resolved(fixes[0]))
    assert "torch.zeros(3, dtype=torch.float64)" in text
    editor.change(uri, text)
    await editor.rules(uri, RULE)
    editor.change(uri, LOADED)
    (unsafe,) = [(title, a) for title, a in (await editor.actions(uri)).items() if "unsafe: " in title]
    assert not unsafe[1].is_preferred
    assert "memory" in unsafe[0]


async def test_all_safe_fixes_are_one_source_action(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "all.py", SAFE)
    for only in (["source.fixAll"], ["source.fixAll.torchlint"], ["source"]):
        (action,) = (await editor.actions(uri, only=only)).values()
        assert action.kind == "source.fixAll.torchlint"
    text = editor.applied(uri, await editor.resolved(action))
    assert "np.zeros" not in text
    assert "np.ones" not in text
    assert await editor.actions(uri, only=["source.fixAll.ruff"]) == {}
    editor.change(uri, text)
    await editor.rules(uri)
    assert await editor.actions(uri) == {}
    assert (await editor.client.code_action_resolve_async(action)).edit is None  # chosen too late


async def test_a_suppression_is_inserted_and_the_reason_is_left_to_the_user(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "suppressed.py", GUILTY)
    actions = await editor.actions(uri)
    text = editor.applied(uri, await editor.resolved(actions[f"torchlint: suppress {RULE} here, with a reason"]))
    assert text == GUILTY[:-1] + f"  # torchlint: ignore[{RULE}] \n"
    editor.change(uri, text)
    await editor.rules(uri)


async def test_a_rule_is_switched_off_in_the_configuration(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(PROJECT)
    async with started(tmp_path) as editor:
        uri = editor.open(tmp_path / "a.py", GUILTY)
        actions = await editor.actions(uri)
        (action,) = [action for title, action in actions.items() if "switch TL103 python-data-factory off" in title]
        (change,) = (await editor.resolved(action)).document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document.uri == project.as_uri()
        text = with_edits(PROJECT, change.edits)
        assert text == PROJECT + 'ignore = ["TL103"]\n'
        project.write_text(text)
        editor.tell(project)
        await editor.rules(uri)


async def test_a_configuration_is_created_to_switch_a_rule_off(tmp_path: Path) -> None:
    async with started(tmp_path) as editor:
        actions = await editor.actions(editor.open(tmp_path / "a.py", GUILTY))
        (action,) = [action for title, action in actions.items() if "switch" in title]
        create, change = (await editor.resolved(action)).document_changes or ()
        assert isinstance(create, types.CreateFile)
        assert isinstance(change, types.TextDocumentEdit)
        assert create.uri == change.text_document.uri == (tmp_path / "torchlint.toml").as_uri()
        assert with_edits("", change.edits) == 'ignore = ["TL103"]\n'


async def test_hovering_over_a_finding_says_in_three_lines_and_a_link_what_its_rule_is_about(
    editor: Editor, folder: Path
) -> None:
    uri = editor.open(folder / "hover.py", GUILTY)

    async def hover(line: int, character: int) -> types.Hover | None:
        place = types.Position(line, character)
        return await editor.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), place)
        )

    found = await hover(5, 15)
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    assert found.contents.kind == types.MarkupKind.Markdown
    lines = found.contents.value.split("\n\n")
    assert [line.partition(":")[0] for line in lines[:3]] == [
        "**TL103 python-data-factory**",
        "Why it costs",
        "When to leave it",
    ]
    assert lines[3].endswith("docs/rules/python-data-factory.md)")
    assert len(lines) == 4
    assert await hover(0, 0) is None


# -- other files -----------------------------------------------------------------------------------


async def test_a_change_in_one_document_changes_the_findings_of_another(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(dedent(ENGINE))
    (tmp_path / "main.py").write_text(dedent(MAIN.format(more="")))
    async with started(tmp_path) as editor:
        uri = editor.open(tmp_path / "main.py", dedent(MAIN.format(more="")))
        await editor.rules(uri, "TL401")  # known from the file on disk
        engine = editor.open(tmp_path / "engine.py", dedent(ENGINE))
        await editor.findings(engine)
        editor.change(engine, dedent(ENGINE).replace(".to(device)", ""))
        await editor.rules(uri)
        editor.close(engine)
        await editor.rules(uri, "TL401")
        (tmp_path / "engine.py").unlink()
        editor.tell(tmp_path / "engine.py", types.FileChangeType.Deleted)
        await editor.rules(uri)
        (tmp_path / "engine.py").write_text(dedent(ENGINE))
        editor.tell(tmp_path / "engine.py", types.FileChangeType.Created)
        await editor.rules(uri, "TL401")
        (tmp_path / "engine.py").write_text("import torch\n")
        editor.tell(tmp_path / "engine.py")
        await editor.rules(uri)
    kinds = [getattr(report, "kind", "") for reports in editor.client.progress_reports.values() for report in reports]
    assert (kinds[0], kinds[-1]) == ("begin", "end")


# -- clients that ask for findings -------------------------------------------------------------------


async def test_a_client_that_asks_for_findings_gets_them_once(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(dedent(ENGINE))
    async with started(tmp_path, can=capabilities(pulls=True)) as editor:
        uri = editor.open(tmp_path / "main.py", dedent(MAIN.format(more="")))
        await editor.until_true(lambda: editor.client.diagnostic_refresh_count > 1)  # the folder has been scanned
        first = await editor.pull(uri)
        assert ([d.code for d in first.items], first.kind) == (["TL401"], "full")
        again = await editor.pull(uri, first.result_id)
        assert (again.kind, again.result_id) == ("unchanged", first.result_id)
        editor.change(uri, INNOCENT)
        changed = await editor.pull(uri, first.result_id)
        assert (changed.kind, list(changed.items)) == ("full", [])
        engine = editor.open(tmp_path / "engine.py", dedent(ENGINE))
        editor.change(uri, dedent(MAIN.format(more="")))
        assert [d.code for d in (await editor.pull(uri)).items] == ["TL401"]
        count = editor.client.diagnostic_refresh_count
        editor.change(engine, "import torch\n")
        await editor.until_true(lambda: editor.client.diagnostic_refresh_count > count)
        assert not (await editor.pull(uri)).items
        assert not (await editor.pull((tmp_path / "never_opened.py").as_uri())).items
        assert editor.all_published == []


# -- notebooks ---------------------------------------------------------------------------------------


async def test_cells_of_notebooks_are_linted_as_one_module(editor: Editor, folder: Path) -> None:
    path = folder / "notebook.ipynb"
    cells = (
        "%matplotlib inline\nimport torch",
        " # A title",
        "import numpy as np\na = np.load('x')",
        "%reload_ext autoreload\nx = torch.tensor(a)",
    )
    first, title, second, third = editor.open_notebook(path, *cells)
    (found,) = await editor.findings(third)
    assert (found.code, found.range) == ("TL101", types.Range(types.Position(1, 4), types.Position(1, 19)))
    (related,) = found.related_information or ()
    assert (related.location.uri, related.location.range.start) == (second, types.Position(1, 4))
    assert await editor.findings(first) == await editor.findings(second) == []
    assert title not in editor.published
    actions = await editor.actions(third)
    text = editor.applied(third, await editor.resolved(actions["torchlint: suppress TL101 here, with a reason"]))
    editor.change_cell(path, third, text)
    await editor.rules(third)
    editor.change_cell(path, third, "(")
    await editor.rules(third, "TL000")
    editor.change_cell(path, third, "x = torch.tensor(np.zeros(3))\ny = torch.tensor(np.ones(3))\n")
    await editor.rules(third, RULE, RULE)
    (action,) = (await editor.actions(third, only=["source.fixAll"])).values()
    text = editor.applied(third, await editor.resolved(action))
    assert text == "x = torch.zeros(3, dtype=torch.float64)\ny = torch.ones(3, dtype=torch.float64)\n"
    structure = types.NotebookDocumentCellChangeStructure(
        types.NotebookCellArrayChange(start=3, delete_count=1), did_close=[types.TextDocumentIdentifier(third)]
    )
    editor.change_notebook(path, types.NotebookDocumentCellChanges(structure=structure))
    await editor.until(lambda: not editor.published[third].diagnostics)


# -- settings and configurations -----------------------------------------------------------------------


async def test_settings_of_the_client_apply_when_they_change(tmp_path: Path) -> None:
    async with started(tmp_path, options={"settings": {"ignore": ["TL103"]}}) as editor:
        uri = editor.open(tmp_path / "a.py", GUILTY)
        await editor.rules(uri)

        async def with_settings(settings: object, *expected: str) -> None:
            editor.client.set_configuration(settings, section="torchlint")
            editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
            await editor.rules(uri, *expected)

        await with_settings({}, RULE)
        await with_settings({"showInfo": False})
        await with_settings({"select": ["TL1"]}, RULE)
        await with_settings({"select": ["TL3"]})
        await with_settings({"extendSelect": [], "fixAll": False}, RULE)
        assert await editor.actions(uri, only=["source.fixAll"]) == {}
        await with_settings({"enable": False})
        await with_settings({"fixall": True, "ignore": "TL103"}, RULE)
        said = [shown.message for shown in editor.shown]
        assert "torchlint: torchlint.fixall is not a setting; did you mean torchlint.fixAll?" in said
        assert "torchlint: torchlint.ignore must be a list of rules, not 'TL103'" in said
        await with_settings({"select": ["TL99"]}, RULE)
        unknown = "torchlint.select: no rule has the id 'TL99'"
        await editor.until(lambda: any(unknown in shown.message for shown in editor.shown))


async def test_a_wrong_configuration_is_told_once_and_the_last_good_one_is_kept(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.torchlint]\nignore = ["TL103"]\n')
    async with started(tmp_path) as editor:
        uri = editor.open(tmp_path / "a.py", GUILTY)
        await editor.rules(uri)
        assert {r.method for r in editor.registered} == {
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            types.WORKSPACE_DID_CHANGE_CONFIGURATION,
        }
        for _ in range(2):
            project.write_text('# new\n[tool.torchlint]\nignroe = ["TL103"]\n')
            editor.tell(project)
            await editor.until(lambda: editor.published.get(project.as_uri()))
            editor.change(uri, GUILTY + "\n")
            await editor.rules(uri)
        (found,) = editor.published[project.as_uri()].diagnostics
        assert "did you mean 'ignore'?" in found.message
        assert found.range.start.line == 2
        assert [shown.message for shown in editor.shown if "ignroe" in shown.message] == [editor.shown[-1].message]
        project.write_text("[tool.torchlint]\n")
        editor.tell(project)
        await editor.rules(uri, RULE)
        await editor.until(lambda: not editor.published[project.as_uri()].diagnostics)


async def test_a_change_of_an_extended_file_counts_at_once(tmp_path: Path) -> None:
    (tmp_path / "torchlint.toml").write_text('extend = "shared/settings.toml"\n')
    base = tmp_path / "shared/settings.toml"
    async with started(tmp_path) as editor:
        uri = editor.open(tmp_path / "a.py", GUILTY)
        await editor.until(lambda: editor.published.get((tmp_path / "torchlint.toml").as_uri()))
        (found,) = editor.published[(tmp_path / "torchlint.toml").as_uri()].diagnostics
        assert "shared/settings.toml: cannot be read" in found.message
        base.parent.mkdir()
        base.write_text(f'ignore = ["{RULE}"]\n')
        editor.tell(base)
        await editor.rules(uri)
        base.write_text("")
        editor.tell(base)
        await editor.rules(uri, RULE)


async def test_folders_are_added_and_removed(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "engine.py").write_text(dedent(ENGINE))
    (two / "torchlint.toml").write_text('ignore = ["TL401"]\n')
    async with started(one) as editor:
        text = dedent(MAIN.format(more=""))
        first, second = editor.open(one / "main.py", text), editor.open(two / "main.py", text)
        await editor.rules(first, "TL401")
        await editor.rules(second)

        def change(added: list[Path], removed: list[Path]) -> None:
            event = types.WorkspaceFoldersChangeEvent(
                *([types.WorkspaceFolder(f.as_uri(), f.name) for f in each] for each in (added, removed))
            )
            editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))

        change([two], [])
        (two / "torchlint.toml").unlink()
        editor.tell(two / "torchlint.toml", types.FileChangeType.Deleted)
        await editor.rules(second, "TL401")
        change([], [one])
        await editor.rules(first)
        await editor.rules(second, "TL401")


# -- the protocol --------------------------------------------------------------------------------------


async def test_errors_and_cancelled_requests_are_answered_and_the_server_lives(editor: Editor, folder: Path) -> None:
    with pytest.raises(JsonRpcException, match="Method Not Found"):
        await editor.client.protocol.send_request_async("torchlint/nothing", {})  # type: ignore[no-untyped-call]
    uri = editor.open(folder / "slow.py", GUILTY * 200)
    requests = [asyncio.ensure_future(editor.actions(uri)) for _ in range(3)]
    await asyncio.sleep(0)
    ids = [each for each in editor.client.protocol._request_futures if isinstance(each, str)]
    for each in ids:
        editor.client.cancel_request(types.CancelParams(each))
    answers = await asyncio.gather(*requests, return_exceptions=True)
    # The protocol allows an answer to a request whose cancellation arrives when it is done.
    assert all(isinstance(answer, JsonRpcRequestCancelled | dict) for answer in answers), answers
    editor.change(uri, GUILTY)
    await editor.rules(uri, RULE)
