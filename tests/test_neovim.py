"""The server in a real editor: Neovim without a window, with the configuration that docs/editors.md shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "editors.md"
NEOVIM = shutil.which("nvim")

pytestmark = [
    pytest.mark.skipif(NEOVIM is None, reason="Neovim (nvim) is not installed"),
    pytest.mark.skipif(not shutil.which("sh"), reason="there is no shell for the command torchlint"),
]

GUILTY = 'import torch\n\nnäme = "ü"  # 🔥\n\n\ndef label(count):\n    return torch.zeros(count).to("cuda")  # 🔥\n'
FIXED = GUILTY.replace('torch.zeros(count).to("cuda")', 'torch.zeros(count, device="cuda")')

# What a test does in the editor, in Lua: what it returns is its result.
HELPERS = """
local function rules()
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(0)) do table.insert(found, each.code) end
  table.sort(found)
  return table.concat(found, " ")
end
local function wait(wanted)
  assert(vim.wait(20000, function() return rules() == wanted end, 20), "waited for " .. wanted .. ", have " .. rules())
end
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\\n") end
local function wait_for_change(work)
  local before = text()
  work()
  assert(vim.wait(20000, function() return text() ~= before end, 20), "the text did not change")
end
local function choose(title)
  vim.ui.select = function(items, options, chosen)
    for _, item in ipairs(items) do
      if options.format_item(item):find(title, 1, true) then return chosen(item) end
    end
  end
end
"""


def _snippet(name: str) -> str:
    found = re.search(
        rf"<!-- {name}:begin -->\n```lua\n(.*?)```\n<!-- {name}:end -->", PAGE.read_text("utf-8"), re.DOTALL
    )
    assert found is not None, f"docs/editors.md has no {name}"
    return found[1]


def _new() -> bool:
    output = subprocess.run([str(NEOVIM), "--version"], capture_output=True, text=True, check=True).stdout
    version = re.match(r"NVIM v(\d+)\.(\d+)", output)
    assert version is not None, output
    return (int(version[1]), int(version[2])) >= (0, 11)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a configuration, and beside it the command torchlint."""
    commands = tmp_path / "bin"
    commands.mkdir()
    command = commands / "torchlint"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m torchlint "$@"\n')
    command.chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[tool.torchlint]\nselect = ["TL104"]\n')
    return project


def _run(folder: Path, file: str, actions: str) -> Any:
    """Open a file in Neovim, and return what the actions return."""
    (folder.parent / "init.lua").write_text(_snippet("neovim" if _new() else "neovim-old") + _snippet("neovim-fix"))
    (folder.parent / "actions.lua").write_text(
        f"{HELPERS}\nlocal function actions()\n{actions}\nend\n"
        "local ok, result = pcall(actions)\n"
        f"vim.fn.writefile({{ vim.fn.json_encode({{ ok, result or '' }}) }}, '{folder.parent / 'result.json'}')\n"
        "vim.cmd('qa!')\n"
    )
    homes = {f"XDG_{name}_HOME": str(folder.parent / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    environment = {**os.environ, **homes, "PATH": f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    options = ["--headless", "--clean", "-n", "-u", "../init.lua", "-c", "luafile ../actions.lua", file]
    done = subprocess.run(
        [str(NEOVIM), *options], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (folder.parent / "result.json").exists(), done.stderr
    ok, result = json.loads((folder.parent / "result.json").read_text("utf-8"))
    assert ok, f"{result}\n{done.stderr}"
    return result


def test_an_innocent_file_has_no_findings_until_it_is_changed(folder: Path) -> None:
    (folder / "train.py").write_text(FIXED)
    seen = _run(
        folder,
        "train.py",
        """
        vim.wait(1500)
        local before = rules()
        vim.api.nvim_buf_set_lines(0, 0, 0, true, { "import torch", "x = torch.zeros(3).to('cuda')" })
        wait("TL104")
        local found = vim.diagnostic.get(0)[1]
        vim.api.nvim_buf_set_text(0, 1, 4, 1, 29, { "(" })
        vim.wait(20000, function() return rules() == "TL000" end)
        local broken = rules()
        vim.api.nvim_buf_set_text(0, 1, 4, 1, 5, { "torch.ones(3).to('cuda')" })
        wait("TL104")
        vim.api.nvim_buf_set_lines(0, 0, 2, true, {})
        wait("")
        return { before, found.lnum, found.col, found.source, broken }
        """,
    )
    assert seen == ["", 1, 4, "torchlint", "TL000"]
    assert (folder / "train.py").read_text() == FIXED


def test_a_fix_is_applied_and_saved(folder: Path) -> None:
    (folder / "train.py").write_bytes(GUILTY.encode().replace(b"\n", b"\r\n"))
    seen = _run(
        folder,
        "train.py",
        """
        wait("TL104")
        vim.api.nvim_win_set_cursor(0, { 7, 15 })
        choose("create the tensor with")
        wait_for_change(function() vim.lsp.buf.code_action() end)
        wait("")
        vim.cmd("write")
        return rules()
        """,
    )
    assert seen == ""
    assert (folder / "train.py").read_bytes() == FIXED.encode().replace(b"\n", b"\r\n")


def test_the_documented_key_applies_all_safe_fixes(folder: Path) -> None:
    (folder / "train.py").write_text(GUILTY + GUILTY)
    _run(
        folder,
        "train.py",
        """
        wait("TL104 TL104")
        choose("all safe fixes") -- Neovim 0.7 asks, even if there is one action
        wait_for_change(function() vim.api.nvim_feedkeys("\\\\tf", "mx", false) end)
        wait("")
        vim.cmd("write")
        """,
    )
    assert (folder / "train.py").read_text() == FIXED + FIXED


def test_two_files_and_their_names_are_kept_apart(folder: Path) -> None:
    (folder / "train.py").write_text(GUILTY)
    (folder / "other.py").write_text(FIXED)
    seen = _run(
        folder,
        "train.py",
        """
        wait("TL104")
        local clients = #(vim.lsp.get_clients or vim.lsp.get_active_clients)()
        vim.cmd("edit other.py")
        vim.wait(1500)
        local other = rules()
        vim.cmd("buffer train.py")
        vim.cmd("saveas renamed.py")
        vim.wait(1500)
        return { clients, #(vim.lsp.get_clients or vim.lsp.get_active_clients)(), other, rules() }
        """,
    )
    assert seen == [1, 1, "", "TL104"]
