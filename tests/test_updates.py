"""Files that change after they were linted together: the result is that of linting all of them anew."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from tests.test_project import ENGINE, MAIN, SEED
from tests.test_project import TRAIN as FLAGS
from tests.test_project_steps import LOSSES, OPTIMIZER, TRAIN
from torchlint.config.config import Config
from torchlint.run import session
from torchlint.run.linting import file as engine

PLAN = session.plan(Config(select=("ALL",), preview=True))
HELPED = LOSSES.replace("import torch\n", "import torch\n    from pkg.more import helper\n").replace(
    "value.item()", "helper(value)"
)
MORE = "from pkg.deep import shown\ndef helper(value):\n    return shown(value)\n"
DEEP = "def shown(value):\n    return value.item()\n"
PLAIN = "import torch\nimport numpy as np\nx = torch.zeros(3)\n"
# What each file is at first, and what it may become; None means that it does not exist.
VARIANTS: Mapping[str, tuple[str | None, ...]] = {
    "again.py": (None, "from engine import *\n", "from engine import train_one_epoch\n"),
    "engine.py": (
        ENGINE,
        ENGINE.replace(".to(device)", ""),
        ENGINE.replace("train_one", "other"),
        "import torch\n(",
        None,
    ),
    "main.py": (
        MAIN.format(more=""),
        MAIN.format(more=", pin_memory=True"),
        MAIN.format(more="").replace("engine", "again"),
        None,
    ),
    "plain.py": (PLAIN, PLAIN.replace("torch.zeros(3)", "torch.tensor(np.zeros(3))")),
    "train.py": (
        TRAIN,
        TRAIN,
        TRAIN + "# more\n",
        TRAIN.replace("for x, y in", "if"),
        TRAIN.replace("loss.backward()", "pass"),
    ),
    "pkg/__init__.py": ("",),
    "pkg/losses.py": (HELPED, HELPED, LOSSES, None),
    "pkg/more.py": (MORE, MORE, MORE + "# more\n", MORE.replace("shown(value)", "value.item()"), None),
    "pkg/deep.py": (DEEP, DEEP.replace(".item()", ""), None),
    "pkg/optim.py": (OPTIMIZER, OPTIMIZER.replace(".item()", ""), "x = 1\n", None),
    "seeds.py": (None, "import torch\ntorch.manual_seed(0)\ntorch.set_default_dtype(torch.float64)\n"),
}


def content(text: str) -> bytes:
    return dedent(text).encode()


def linted_anew(contents: Mapping[str, bytes]) -> session.Tree:
    for path, data in contents.items():
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(data)
    return session.Tree(sorted(contents), PLAN, jobs=1)


@pytest.mark.parametrize("seed", range(6))
def test_the_findings_after_changes_are_those_of_linting_everything_anew(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    contents = {str(tmp_path / name): content(text) for name, (text, *_) in VARIANTS.items() if text is not None}
    tree = linted_anew(contents)
    seen = set()
    for _ in range(14):
        names = choose.sample(sorted(VARIANTS), choose.choice((1, 1, 1, 2, 3)))
        chosen = {str(tmp_path / name): choose.choice(VARIANTS[name]) for name in names}
        changed = {path: content(text) for path, text in chosen.items() if text is not None}
        removed = [path for path, text in chosen.items() if text is None]
        tree.update(changed, removed)
        contents = {path: data for path, data in (contents | changed).items() if path not in removed}
        anew = linted_anew(contents)
        assert tree.contents == contents
        assert sorted(tree.result().findings) == sorted(anew.result().findings)
        assert tree.result().without_device == anew.result().without_device
        seen.add(tree.result().findings)
    assert len(seen) > 2


def test_a_change_that_tells_other_files_nothing_lints_only_the_changed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {str(tmp_path / name): content(text) for name, (text, *_) in VARIANTS.items() if text is not None}
    tree = linted_anew(contents)
    linted = []
    analyze = engine.analyze

    def noted(data: bytes, path: str, *given: object, **named: object) -> engine.Analysis:
        linted.append(Path(path).name)
        return analyze(data, path, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "analyze", noted)
    path = str(tmp_path / "pkg" / "optim.py")
    tree.update({path: contents[path] + b"# a comment\n"})
    assert set(linted) == {"optim.py"}
    linted.clear()
    tree.update({path: contents[path].replace(b"Clipped", b"Other")})
    assert "main.py" not in linted
    tree.update({path: contents[path]})
    linted.clear()
    tree.update({path: contents[path].replace(b"Clipped", b"Other")})
    assert set(linted) == {"optim.py"}  # the others have been linted with these facts before


def test_a_file_that_was_linted_with_facts_of_others_is_linted_again_with_new_ones(tmp_path: Path) -> None:
    train, seed = str(tmp_path / "train.py"), str(tmp_path / "seed.py")
    careful, fast = content(SEED), content(SEED.replace("deterministic = True", "deterministic = False"))
    tree = linted_anew({train: content(FLAGS.replace("utils.seed", "seed")), seed: fast})
    for text, rules in ((careful, {"TL501"}), (fast, set()), (careful, {"TL501"})):
        tree.update({seed: text})
        assert {finding.rule for finding in tree.analyses[train].result.findings} & {"TL501"} == rules
