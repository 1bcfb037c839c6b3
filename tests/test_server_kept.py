"""Findings of a text that is not Python while it is being typed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types

from tests.editor import RULE, Editor, capabilities, started

pytestmark = pytest.mark.asyncio(loop_scope="module")

HEAD = "import numpy as np\nimport torch\n\n"
ZEROS, ONES = "zeros = torch.tensor(np.zeros(3))\n", "ones = torch.tensor(np.ones(3))\n"
TEXT = HEAD + ZEROS + "\n" + ONES
MARK = " (before the last edits)"
Place = tuple[object, int, bool]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    """An editor with one folder."""
    async with started(tmp_path_factory.mktemp("workspace")) as editor:
        yield editor


@pytest.fixture
def folder(editor: Editor) -> Path:
    return editor.folders[0]


def places(found: Sequence[types.Diagnostic]) -> list[Place]:
    """The rule and line of findings, and whether they are marked as earlier ones."""
    return [(each.code, each.range.start.line, each.message.endswith(MARK)) for each in found]


async def test_a_text_that_never_was_python_has_only_its_syntax_error(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "never.py", TEXT + "(\n")
    assert places(await editor.findings(uri)) == [("TL000", 6, False)]


async def test_findings_stay_and_move_while_a_line_is_unfinished(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "typed.py", TEXT)
    assert places(await editor.findings(uri)) == [(RULE, 3, False), (RULE, 5, False)]
    editor.replace(uri, (3, 0), (3, 0), "\nx = (\n")
    assert places(await editor.findings(uri)) == [("TL000", 4, False), (RULE, 5, True), (RULE, 7, True)]
    editor.replace(uri, (4, 5), (4, 5), "1,\n")  # the next edit counts from the one before
    assert places(await editor.findings(uri)) == [("TL000", 4, False), (RULE, 6, True), (RULE, 8, True)]
    editor.replace(uri, (3, 0), (6, 0), "")
    assert places(await editor.findings(uri)) == [(RULE, 3, False), (RULE, 5, False)]


async def test_findings_on_lines_that_are_edited_go(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "edited.py", TEXT)
    await editor.rules(uri, RULE, RULE)
    editor.replace(uri, (3, 31), (3, 33), "")
    assert places(await editor.findings(uri)) == [("TL000", 3, False), (RULE, 5, True)]
    editor.replace(uri, (3, 31), (3, 31), "))")
    assert places(await editor.findings(uri)) == [(RULE, 3, False), (RULE, 5, False)]
    editor.replace(uri, (3, 0), (5, 3), "(")
    assert places(await editor.findings(uri)) == [("TL000", 3, False)]


async def test_related_places_move_along(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "related.py", HEAD + "a = np.load('x')\nb = torch.tensor(a)\n")
    await editor.rules(uri, "TL101")
    editor.replace(uri, (0, 0), (0, 0), "if (\n")
    earlier = (await editor.findings(uri))[-1]
    (related,) = earlier.related_information or ()
    assert (earlier.range.start.line, related.location.range.start.line) == (5, 4)
    editor.replace(uri, (4, 12), (4, 13), "y")
    earlier = (await editor.findings(uri))[-1]
    assert (places([earlier]), earlier.related_information) == ([("TL101", 5, True)], None)


async def test_no_fix_and_no_suppression_is_offered_for_findings_of_an_earlier_text(
    editor: Editor, folder: Path
) -> None:
    uri = editor.open(folder / "actions.py", TEXT.replace("(3)", "(3), dtype=torch.float32"))
    assert any("create it" in title for title in await editor.actions(uri))
    editor.replace(uri, (4, 0), (4, 0), "x =\n")
    await editor.rules(uri, RULE, "TL000", RULE)
    titles = list(await editor.actions(uri))
    assert titles
    assert all(title.endswith("off in the configuration") for title in titles), titles


async def test_findings_of_a_closed_document_do_not_come_back(editor: Editor, folder: Path) -> None:
    uri = editor.open(folder / "closed.py", TEXT)
    await editor.rules(uri, RULE, RULE)
    editor.change(uri, TEXT + "(\n")
    await editor.rules(uri, RULE, RULE, "TL000")
    editor.close(uri)
    uri = editor.open(folder / "closed.py", TEXT + "(\n")
    await editor.rules(uri, "TL000")


async def test_rules_that_are_switched_off_meanwhile_have_no_findings(tmp_path: Path) -> None:
    async with started(tmp_path) as editor:
        uri = editor.open(tmp_path / "a.py", TEXT)
        await editor.rules(uri, RULE, RULE)
        editor.change(uri, TEXT + "(\n")
        await editor.rules(uri, RULE, RULE, "TL000")
        editor.client.set_configuration({"ignore": [RULE]}, section="torchlint")
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
        await editor.rules(uri, "TL000")


async def test_clients_that_ask_get_them_as_well(tmp_path: Path) -> None:
    async with started(tmp_path, can=capabilities(pulls=True)) as editor:
        uri = editor.open(tmp_path / "a.py", TEXT)
        first = await editor.pull(uri)
        editor.replace(uri, (0, 0), (0, 0), "(\n")
        second = await editor.pull(uri, first.result_id)
        assert places(second.items) == [("TL000", 0, False), (RULE, 4, True), (RULE, 6, True)]


async def test_in_notebooks_findings_stay_in_their_cells(editor: Editor, folder: Path) -> None:
    path = folder / "notebook.ipynb"

    def has(uri: str, *expected: Place) -> bool:
        return places(editor.published[uri].diagnostics) == list(expected)

    first, second, third = editor.open_notebook(path, HEAD, ZEROS, ONES)
    await editor.rules(second, RULE)
    editor.change_cell(path, third, "(\n")
    await editor.rules(third, "TL000")
    assert has(second, (RULE, 0, False))  # found in the present text as well
    editor.change_cell(path, third, ONES)
    await editor.rules(third, RULE)
    editor.change_cell(path, first, HEAD + "(\n")  # nothing is known of `torch` now
    await editor.rules(first, "TL000")
    await editor.until(lambda: all(has(uri, (RULE, 0, True)) for uri in (second, third)))
    editor.change_cell(path, third, "(\n" + ONES)
    await editor.rules(third, "TL000", RULE)
    structure = types.NotebookDocumentCellChangeStructure(types.NotebookCellArrayChange(start=1, delete_count=1))
    editor.change_notebook(path, types.NotebookDocumentCellChanges(structure=structure))
    await editor.until(lambda: not editor.published[second].diagnostics)
    assert has(third, ("TL000", 0, False), (RULE, 1, True))
    editor.change_cell(path, first, HEAD)
    editor.change_cell(path, third, ONES)
    await editor.rules(third, RULE)
