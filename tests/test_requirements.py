"""The oldest torch that a project declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.config.configurations import load


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("requirements.txt", "numpy\ntorch>=1.13\ntorchvision>=0.14\n", "1.13"),
        ("requirements-dev.txt", "torch==2.1.2+cu118\n", "2.1"),
        ("requirements.txt", "torch ~= 2.4  # the newest\n", "2.4"),
        ("requirements.txt", "# torch>=1.0\ntorchmetrics>=0.5\npytorch-lightning==2.0\n", None),
        ("requirements.txt", "torch\n", None),
        ("requirements.txt", "torch<3\n", None),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=2.0,<3", "numpy"]\n', "2.0"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.2"\n', "2.2"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = {version = ">=2.3", source = "x"}\n', "2.3"),
        ("setup.cfg", "[options]\ninstall_requires =\n    torch>=1.8.1\n    tqdm\n", "1.8"),
        ("setup.py", 'setup(install_requires=["torch >= 1.7"])\n', "1.7"),
    ],
)
def test_the_lowest_declared_version_is_found(tmp_path: Path, name: str, text: str, expected: str | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    inner = tmp_path / "package"
    inner.mkdir()
    assert load(inner).target_torch == expected


def test_the_lowest_of_several_files_counts_and_the_configuration_wins(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch>=2.4\n", encoding="utf-8")
    (tmp_path / "setup.cfg").write_text("[options]\ninstall_requires = torch>=2.1\n", encoding="utf-8")
    assert load(tmp_path).target_torch == "2.1"
    assert load(tmp_path, isolated=True).target_torch is None
    (tmp_path / "torchlint.toml").write_text('target-torch = "2.6"\n', encoding="utf-8")
    assert load(tmp_path).target_torch == "2.6"


def test_odd_files_and_folders_do_not_fail(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").mkdir()
    (tmp_path / "setup.cfg").write_bytes(b"\xff\xfe\x00 torch>=9 " * 3)
    assert load(tmp_path).target_torch == "9.0"
    assert load(tmp_path / "gone").target_torch == "9.0"
