"""Imports go downward only, and starting up loads little."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RULE = "rules/copies/tensor_copies_ndarray.py"


def loaded_after(code: str) -> set[str]:
    """The top-level modules that a new Python has loaded after running the code."""
    report = "\nimport sys\nprint('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    command = [sys.executable, "-c", code + report]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def running(*arguments: str) -> str:
    """Code that runs torchlint's command line and goes on."""
    main = f"torchlint.cli.main.main({list(arguments)!r})"
    return f"import contextlib, torchlint.cli.main\nwith contextlib.suppress(SystemExit): {main}"


def contracts(root: Path, *only: str) -> subprocess.CompletedProcess[str]:
    """Check the import contracts, or only some, of the package below a folder."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache", *(f"--contract={name}" for name in only)]
    environment = {**os.environ, "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


def test_the_command_line_loads_neither_torch_nor_libcst() -> None:
    assert not loaded_after("import torchlint.cli.main") & {"torch", "libcst", "numpy", "tqdm", "multiprocessing"}


def test_the_version_is_printed_without_parser_or_reporters() -> None:
    assert not loaded_after(running("--version")) & {"torch", "libcst", "json", "tqdm", "pathspec"}


def test_rules_can_be_imported_without_libcst() -> None:
    code = (
        "import importlib, pkgutil, torchlint.rules as rules\n"
        "names = [m.name for m in pkgutil.walk_packages(rules.__path__, 'torchlint.rules.') if not m.ispkg]\n"
        "names = [name for name in names if '._' not in name]\n"
        "assert names, 'no rules'\n"
        "for name in names: importlib.import_module(name)"
    )
    assert not loaded_after(code) & {"torch", "libcst"}


def test_a_file_without_pytorch_is_linted_without_libcst(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print('hello')\n", encoding="utf-8")
    code = running("--isolated", "--no-cache", "--jobs", "1", str(tmp_path))
    loaded = loaded_after(code)
    assert not loaded & {"torch", "libcst"}
    # Each of these takes a good part of such a run; Python itself, or how torchlint is installed, may need them.
    slow = {"dataclasses", "inspect", "pathlib", "shutil", "hashlib", "json", "multiprocessing", "pkgutil"}
    assert not (loaded - loaded_after("import contextlib")) & slow


def test_where_nothing_is_found_nothing_that_repairs_is_loaded() -> None:
    code = (
        "import re, sys, torchlint\n"
        "from torchlint import rule\nfrom torchlint.run.rules import registry\n"
        "from torchlint.config.config import Config\nrules = registry.load()\n"
        "def found(one, example):\n"
        "    text = re.findall(r'```python\\n(.*?)```', rule.info(one).documentation, re.DOTALL)[example]\n"
        "    return torchlint.lint_source(text, 'x.py', Config(select=(one.id,))).findings\n"
        "for one in rules: assert not found(one, 1), one.id\n"
        "assert rules and 'torchlint.analysis.module' in sys.modules\n"
        "assert not [name for name in sys.modules if name.startswith('torchlint.edit')]\n"
        "for one in rules: assert found(one, 0), one.id\n"
        "assert 'torchlint.edit.editor' in sys.modules\n"
    )
    loaded_after(code)


def test_all_import_contracts_hold() -> None:
    done = contracts(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("contract", "module", "statement"),
    [
        ("downward", "model.py", "from torchlint.config import config"),
        ("downward", "analysis/scopes/names.py", "from torchlint.run import engine"),
        ("downward", "forgotten.py", ""),
        ("analysis", "analysis/scopes/names.py", "from torchlint.analysis.values import lattice"),
        ("no-circles", "run/plan.py", "from torchlint.run import session"),
        ("independent-rules", RULE, "from torchlint.rules.transfers import device_round_trip"),
        ("unnamed-rules", "run/engine.py", "from torchlint.rules.copies import tensor_copies_ndarray"),
        ("no-torch", "knowledge/arrays.py", "import torch.nn"),
        ("libcst-door", "run/session.py", "import libcst.matchers"),
    ],
)
def test_a_forbidden_import_breaks_its_contract(tmp_path: Path, contract: str, module: str, statement: str) -> None:
    shutil.copytree(ROOT / "torchlint", tmp_path / "torchlint", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "torchlint" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{statement}\n")
    done = contracts(tmp_path, contract)
    assert done.returncode == 1, done.stdout + done.stderr
    assert " 1 broken" in done.stdout, done.stdout + done.stderr


def test_every_folder_with_modules_is_a_package_so_that_an_installation_has_it() -> None:
    folders = {path.parent for path in (ROOT / "torchlint").rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_rules_of_one_topic_import_nothing_of_it_but_what_is_private_to_it() -> None:
    rules = [path for path in (ROOT / "torchlint" / "rules").glob("*/*.py") if not path.name.startswith("_")]
    imported = re.compile(r"(?:from|import) torchlint\.rules\.(\w+)(?:\.| import )(\w+)")
    found = [(path, part) for path in rules for _, part in imported.findall(path.read_text(encoding="utf-8"))]
    assert found
    assert [(path.name, part) for path, part in found if not part.startswith("_")] == []
