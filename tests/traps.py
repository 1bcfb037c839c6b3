"""Traps: files in a hostile tree that leave a mark if Python executes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OURS = ("libcst", "pathspec", "shtab", "tqdm", "tomli", "typing_extensions", "yaml", "yaml_ft", "numpy", "torch")
SITE = ("sitecustomize", "usercustomize", "conftest", "setup", "noxfile", "my_rules", "_distutils_hack")
MARK = "import sys\nopen({mark!r}, 'a').write(f'{{__file__}} in {{sys.argv}}\\n')\n"
SETTINGS = """\
[build-system]
requires = []
build-backend = "setup"
backend-path = ["."]

[project]
name = "evil"
version = "1"

[project.entry-points."torchlint.rules"]
evil = "my_rules"

[tool.torchlint]
extend-select = ["TL506"]
exclude = ["__import__('my_rules')", "$(touch MARK)", "`touch MARK`"]

[tool.torchlint.per-file-ignores]
"{{ cycler.__init__.__globals__ }}" = ["TL7"]
"""


def imported_by_python() -> set[str]:
    """The modules that ``python -m`` imports before it runs a module, without torchlint."""
    code = "import runpy, sys; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def plant(folder: Path, mark: Path, *, spare: set[str]) -> int:
    """Shadow every module that torchlint or Python could import, except those in ``spare``; returns their number."""
    code = MARK.format(mark=str(mark))
    names = {name for name in sys.stdlib_module_names if name.isidentifier()} | {*OURS, *SITE}
    for name in sorted(names - spare - {"__main__"}):
        if name in ("encodings", "multiprocessing", "libcst", "concurrent", "email"):
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(code, encoding="utf-8")
        else:
            (folder / f"{name}.py").write_text(code, encoding="utf-8")
    _plant_environment(folder, code, mark)
    (folder / "pyproject.toml").write_text(SETTINGS.replace("MARK", str(mark)), encoding="utf-8")
    (folder / ".pth").write_text(f"import os; open({str(mark)!r}, 'a').write('pth')\n", encoding="utf-8")
    return len(names - spare)


def _plant_environment(folder: Path, code: str, mark: Path) -> None:
    """A virtual environment in the tree, and metadata with entry points for rules."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / ".venv" / "lib" / version / "site-packages"
    site.mkdir(parents=True)
    (folder / ".venv" / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\n", encoding="utf-8")
    (site / "evil.pth").write_text(f"import os; open({str(mark)!r}, 'a').write('pth')\n", encoding="utf-8")
    for place in (site, folder):
        (place / "my_rules.py").write_text(code, encoding="utf-8")
        (place / "sitecustomize.py").write_text(code, encoding="utf-8")
        info = place / "my_rules-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-rules\nVersion: 1.0\n", encoding="utf-8")
        points = "[torchlint.rules]\nevil = my_rules\n[pytest11]\nevil = my_rules\n"
        (info / "entry_points.txt").write_text(points, encoding="utf-8")
