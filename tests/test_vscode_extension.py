"""The extension for VS Code agrees with the server; its own tests run with npm."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from torchlint.base.version import __version__

EXTENSION = Path(__file__).parent.parent / "editors" / "vscode"
OWN = {"path", "interpreter", "trace.server"}  # the settings that the server does not read


@pytest.fixture
def manifest() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    return read


@pytest.fixture
def properties(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = manifest["contributes"]["configuration"]["properties"]
    return {name.removeprefix("torchlint."): each for name, each in found.items()}


def test_the_extension_is_released_with_torchlint(manifest: dict[str, Any]) -> None:
    assert manifest["version"] == __version__
    assert f"## {__version__}" in (EXTENSION / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_extension_has_the_settings_of_the_server_and_their_defaults(properties: dict[str, Any]) -> None:
    pytest.importorskip("pygls")
    from torchlint.server.settings import LOG_LEVELS, Settings, read_settings

    defaults = {name: each["default"] for name, each in properties.items() if name not in OWN}
    assert read_settings(defaults) == (Settings(), [])
    assert len(defaults) == len(Settings._fields)
    assert properties["logLevel"]["enum"] == list(LOG_LEVELS)


def test_the_page_of_the_extension_lists_its_settings(properties: dict[str, Any]) -> None:
    page = (EXTENSION / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `torchlint\.([\w.]+)`", page, re.MULTILINE) == list(properties)


def test_the_page_on_the_server_lists_its_settings(properties: dict[str, Any]) -> None:
    page = (EXTENSION.parent.parent / "docs" / "server.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `torchlint\.(\w+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(set(properties) - OWN)


def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((EXTENSION / "package-lock.json").read_text(encoding="utf-8"))
    hosts = [each["resolved"] for each in lock["packages"].values() if "resolved" in each]
    assert [each for each in hosts if not each.startswith("https://registry.npmjs.org/")] == []
    assert all(each.get("integrity") for name, each in lock["packages"].items() if name)
