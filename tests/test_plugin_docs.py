"""docs/plugins.md: its files are those of the example, whose tests pass, and its commands do what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin_help import entry_points, metadata

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "torchlint-acme"
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
_STEP = re.compile(
    r"^\*\*`(?P<file>[^`]+)`\*\*\n\n(?P<fence>`{3,})\w+\n(?P<content>.*?)^(?P=fence)$"
    r"|^```sh\n(?P<commands>.*?)^```$|^```text\n(?P<output>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
STEPS = list(_STEP.finditer(PAGE))
FILES = {step["file"]: step["content"] for step in STEPS if step["file"]}


@pytest.mark.parametrize("name", FILES)
def test_a_file_on_the_page_is_the_file_of_the_example(name: str) -> None:
    assert (EXAMPLE / name).read_text(encoding="utf-8") == FILES[name]


def test_what_a_package_needs_is_on_the_page() -> None:
    assert {"pyproject.toml", "torchlint_acme/__init__.py", "tests/test_rules.py"} <= set(FILES)
    assert any(name.startswith("fixtures/") for name in FILES)


def test_the_line_that_a_failure_names_is_a_line_of_the_fixture() -> None:
    failure = re.search(r"^(fixtures/\S+):(\d+): expected silence, .*\n(.+)$", PAGE, re.MULTILINE)
    assert failure is not None
    assert FILES[failure[1]].splitlines()[int(failure[2]) - 1] == failure[3]


def installed(folder: Path) -> dict[str, str]:
    """The environment of a process that has the example installed."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / "torchlint_acme-0.1.0.dist-info"
    info.mkdir(parents=True)
    urls = "".join(f"Project-URL: {label}, {url}\n" for label, url in project["urls"].items())
    (info / "METADATA").write_text(metadata(project["name"], project["version"], urls), encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points(project["entry-points"]["torchlint.rules"]), encoding="utf-8")
    path = os.pathsep.join([str(folder), str(EXAMPLE), str(ROOT), *filter(None, sys.path)])
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TORCHLINT_", "PYTEST_"))}
    return {**environment, "PYTHONPATH": path}


def test_the_tests_of_the_example_pass(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(EXAMPLE), str(EXAMPLE)]
    done = subprocess.run(
        command, cwd=EXAMPLE, env=installed(tmp_path), capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b[2-9][0-9] passed", done.stdout), done.stdout


def test_the_example_is_strictly_typed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "torchlint_acme", "tests"]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=EXAMPLE, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the page shows commands of a POSIX shell")
def test_who_follows_the_page_has_a_package_with_a_rule(tmp_path: Path) -> None:
    wheels, folder = tmp_path / "wheels", tmp_path / "torchlint-acme"
    wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels), str(ROOT)]
    quick = {"PIP_NO_COMPILE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run(wheel, env={**os.environ, **quick}, check=True)
    [built] = wheels.glob("torchlint-*.whl")
    (tmp_path / "constraints.txt").write_text(f"torchlint @ {built.as_uri()}\n", encoding="utf-8")
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TORCHLINT_", "PYTEST_"))}
    environment = {**kept, **quick, "PIP_CONSTRAINT": str(tmp_path / "constraints.txt"), "PYTHONPATH": ""}
    activate, output = "", ""
    for step in STEPS:
        if step["file"]:
            path = folder / step["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step["content"], encoding="utf-8")
        elif step["commands"]:
            command = ["bash", "-euo", "pipefail", "-c", activate + step["commands"]]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            output = done.stdout
            assert done.returncode == 0, f"{step['commands']}\n{output}{done.stderr}"
            activate = ". .venv/bin/activate\n"
        else:
            for line in step["output"].splitlines():
                shown = r".*".join(re.escape(part.strip()) for part in line.split("..."))
                assert re.search(shown, output), f"{line}\nis not in\n{output}"
    assert list((folder / "dist").glob("torchlint_acme-0.1.0-*.whl"))
    shutil.rmtree(folder / ".venv")
