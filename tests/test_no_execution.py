"""Linting reads a tree and executes nothing in it, however the tree is made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import traps

ROOT = Path(__file__).resolve().parents[1]
GUILTY = "import torch\n\n\ndef f(x):\n    return torch.zeros(3).to(x.device)\n"
SCRIPT = """\
import multiprocessing, sys
from torchlint.__main__ import run

if __name__ == "__main__":
    multiprocessing.set_start_method({method!r})
    sys.exit(run())
"""
NO_SAFE_PATH = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no safe path for new processes")


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that every trap writes to."""
    return tmp_path / "executed"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with enough code for two processes."""
    folder = tmp_path / "tree"
    folder.mkdir()
    for i in range(8):
        (folder / f"train{i}.py").write_text(GUILTY + f"x = {i}  # padding\n" * 3_000, encoding="utf-8")
    return folder


def launch(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "VIRTUAL_ENV": str(folder / ".venv"), "PWD": str(folder)}
    environment.pop("PYTHONSAFEPATH", None)
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def assert_linted_and_nothing_executed(done: subprocess.CompletedProcess[str], mark: Path) -> None:
    assert not mark.exists(), mark.read_text(encoding="utf-8")
    assert "TL104" in done.stdout, done.stdout + done.stderr
    assert done.stderr == ""


def script(tmp_path: Path, method: str) -> str:
    """What a console script is: a file in a folder of its own that calls torchlint."""
    path = tmp_path / "bin" / "torchlint"
    path.parent.mkdir()
    path.write_text(SCRIPT.format(method=method), encoding="utf-8")
    return str(path)


METHODS = [
    pytest.param("fork", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")),
    pytest.param("spawn", marks=[NO_SAFE_PATH, pytest.mark.slow]),
    pytest.param(
        "forkserver", marks=[NO_SAFE_PATH, pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")]
    ),
]


@pytest.mark.parametrize("method", METHODS)
def test_the_console_script_executes_nothing_of_the_tree(tmp_path: Path, tree: Path, mark: Path, method: str) -> None:
    assert traps.plant(tree, mark, spare=set()) > 200
    started = launch(tree, script(tmp_path, method), "--jobs", "2", "--output-format", "concise", "--show-info", ".")
    assert_linted_and_nothing_executed(started, mark)


def test_fixing_executes_nothing_of_the_tree(tmp_path: Path, tree: Path, mark: Path) -> None:
    traps.plant(tree, mark, spare=set())
    done = launch(tree, script(tmp_path, "fork"), "--jobs", "2", "--fix", "--unsafe-fixes", ".")
    assert not mark.exists(), mark.read_text(encoding="utf-8")
    assert "fixed" in done.stdout
    assert (tree / "train3.py").read_text(encoding="utf-8") != GUILTY


def test_python_dash_m_executes_nothing_but_what_python_itself_imports_first(tree: Path, mark: Path) -> None:
    assert traps.plant(tree, mark, spare=traps.imported_by_python()) > 200
    done = launch(tree, "-m", "torchlint", "--jobs", "2", "--output-format", "concise", "--show-info", ".")
    assert_linted_and_nothing_executed(done, mark)


def test_the_traps_work(tree: Path, mark: Path) -> None:
    """Without protection, the same tree does execute."""
    traps.plant(tree, mark, spare=traps.imported_by_python())
    launch(tree, "-m", "timeit", "pass")
    assert mark.exists()


def test_a_safe_path_is_left_as_it_is(tmp_path: Path) -> None:
    code = "import sys, runpy; sys.path[:] = {path!r}; sys.argv[1:] = ['--version']\ntry: {run}\n"
    code += "finally: print(sys.path[0])"
    run = "runpy.run_module('torchlint', run_name='__main__')"
    first = str(tmp_path / "first")
    done = launch(tmp_path, "-c", code.format(path=[first, str(ROOT), *sys.path], run=run))
    assert done.stdout.splitlines()[-1] == first


def test_nothing_is_asked_of_the_network(tmp_path: Path, tree: Path) -> None:
    (tmp_path / "bin").mkdir()
    watch = tmp_path / "bin" / "watched"
    watch.write_text(
        "import sys\n"
        "def hook(event, arguments):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo', 'socket.bind', 'urllib.Request'):\n"
        "        raise SystemExit(f'{event} {arguments}')\n"
        "sys.addaudithook(hook)\n"
        "from torchlint.__main__ import run\n"
        "sys.exit(run())\n",
        encoding="utf-8",
    )
    done = launch(tree, str(watch), "--jobs", "2", "--output-format", "concise", "--show-info", ".")
    assert (done.returncode, done.stderr) == (0, "")
    assert "TL104" in done.stdout
