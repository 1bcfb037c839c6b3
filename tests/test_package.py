"""The package as an index shows it, and its public names."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import torchlint
from torchlint.base.version import REPOSITORY, installation
from torchlint.run import results
from torchlint.run.rules import registry

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel, open to be read."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    """The metadata of the wheel."""
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


@pytest.mark.slow
def test_the_wheel_has_the_page_of_every_rule(wheel: zipfile.ZipFile) -> None:
    assert {info.page.path for info in results.infos(registry.core())} <= set(wheel.namelist())


@pytest.mark.slow  # the build backend comes from the index
def test_links_and_pictures_of_the_long_description_are_absolute(metadata: Message) -> None:
    shown = metadata.get_payload()
    assert isinstance(shown, str)
    assert metadata["Description-Content-Type"] == "text/markdown"
    links = re.findall(r"\]\(([^)\s]+)\)", shown) + re.findall(r"""(?:href|src)=["']([^"']+)""", shown)
    assert len(links) == len(re.findall(r"\]\(", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert f"{REPOSITORY}/blob/main/docs/rules.md" in links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    for target in (link.removeprefix(f"{REPOSITORY}/blob/main/") for link in links if "/blob/main/" in link):
        assert (ROOT / target.partition("#")[0]).exists(), target


@pytest.mark.slow
def test_the_page_of_an_index_begins_with_the_installation_from_it(metadata: Message) -> None:
    shown = metadata.get_payload()
    assert isinstance(shown, str)
    headings = re.findall(r"(?<=\n\n)## (.+)\n", shown)
    assert headings == ["Install", *re.findall(r"(?<=\n\n)## (.+)\n", (ROOT / "README.md").read_text(encoding="utf-8"))]
    assert "\n```sh\npip install torchlint\ntorchlint path/to/project\n```\n" in shown


@pytest.mark.slow
def test_the_project_names_its_pages(metadata: Message) -> None:
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL", []))
    assert set(urls) == {"Documentation", "Source", "Issues", "Changelog"}
    assert all(url.startswith(REPOSITORY) for url in urls.values())


def test_dir_shows_the_public_names_and_all_of_them_exist() -> None:
    assert dir(torchlint) == sorted(torchlint.__all__)
    assert all(hasattr(torchlint, name) for name in dir(torchlint))


@pytest.mark.parametrize("path", ["README.md", *(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))])
def test_no_page_installs_by_name_what_no_index_has(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    command = r"\b(?:pipx? install|tool install|uv add|uvx)\b"
    by_name = command + r"[^\n`]*[\"' ]torchlint(?:\[[\w,]+\])?[\"'`]?(?! @)(?=[\s`\"')]|$)"
    assert not re.findall(by_name, text)


def test_messages_install_from_the_repository() -> None:
    assert installation("report") == f'pip install "torchlint[report] @ git+{REPOSITORY}"'


def test_what_summaries_of_scans_need_is_installed_with_scans() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extra = re.search(r"^scan = \[(.*)\]$", text, re.M)
    assert extra is not None
    assert '"torchlint[report]"' in extra[1]


@pytest.mark.parametrize("page", ["ci.md", "plugins.md"])
def test_the_documented_hook_is_one_and_pinned_to_the_tag_of_this_version(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n# \.pre-commit-config\.yaml\n(.*?)```", text, re.S)
    assert re.findall(r"rev: (\S+)", example) == [f"v{torchlint.__version__}"]
    assert re.findall(r"- id: (\S+)", example) == ["torchlint"]
