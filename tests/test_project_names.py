"""Names across files: functions are found through re-exports and star imports, methods through instances and bases."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.test_project import found
from torchlint.project.facts import FileFacts
from torchlint.project.merged import Project
from torchlint.project.outline import Outlines, outline

TRAIN = """
    import torch
    {imports}

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def main(model, loader):
        model.to(device)
        meter = {made}
        for x in loader:
            loss = model(x.to(device)).mean()
            loss.backward()
            {call}

    main(torch.nn.Linear(3, 2), torch.utils.data.DataLoader(open("data")))
"""
HELPERS = """
    import torch

    def report(loss):
        print(loss.item())

    class Meter:
        def update(self, loss):
            self.total += loss.item()

        def __call__(self, loss):
            self.total += loss.item()
"""
OTHER = """
    import torch

    def report_rarely(loss):
        print(loss.item())
"""
DERIVED = """
    from pkg.helpers import Meter

    class Best(Named, Meter):
        def name(self):
            return "best"
"""


def places(folder: Path, package: str, imports: str, call: str, *, made: str = "None") -> list[tuple[str, int]]:
    """The findings outside of the loop; the package has a module with helpers, and another one."""
    train = TRAIN.format(imports=imports, call=call, made=made)
    helpers = {"pkg/helpers.py": HELPERS, "pkg/other.py": OTHER, "pkg/best.py": DERIVED, "pkg/__init__.py": package}
    findings = found(folder, {"train.py": train, **helpers}, "TL301")
    return [(Path(f.path).name, f.span.line) for f in findings if not f.path.endswith("train.py")]


@pytest.mark.parametrize(
    ("package", "imports", "call"),
    [
        ("", "from pkg import report", "report(loss)"),
        ("def report(loss):\n    pass\n", "from pkg import report", "report(loss)"),
        ("from .helpers import report\n", "from pkg import report\n    def report(loss): pass", "report(loss)"),
        ("from .helpers import report\n", "from pkg import *", "def report(loss): pass\n            report(loss)"),
        ("from .other import report_rarely as report\n", "from somewhere import report", "report(loss)"),
        ("from .other import *\nfrom pkg import *\n", "from pkg import *", "report(loss)"),
        ("from .helpers import Meter\n", "from pkg import Meter", "meter.reset(loss)"),
    ],
)
def test_innocent_names_that_lead_nowhere_are_silent(tmp_path: Path, package: str, imports: str, call: str) -> None:
    assert places(tmp_path, package, imports, call, made="Meter()") == []


@pytest.mark.parametrize(
    ("package", "imports", "call"),
    [
        ("", "from pkg.helpers import report", "report(loss)"),
        ("from .helpers import report\n", "from pkg import report", "report(loss)"),
        ("from .helpers import report as show\n", "from pkg import show", "show(loss)"),
        ("from .helpers import (\n    Meter,  # (here)\n    report,\n)\n", "from pkg import report", "report(loss)"),
        ("from .helpers import Meter, \\\n    report\n", "from pkg import report", "report(loss)"),
        ("from pkg.helpers import report\n", "import pkg", "pkg.report(loss)"),
        ("from . import helpers as h\n", "import pkg", "pkg.h.report(loss)"),
        ("import pkg.helpers as h\n", "from pkg import h", "h.report(loss)"),
        ("from .other import *\nfrom .helpers import *\n", "from pkg import report", "report(loss)"),
        ("from .helpers import *\nfrom .other import *\n", "from pkg import *", "report(loss)"),
        ("from .other import *\n", "from pkg import *\n    from pkg.helpers import *", "report(loss)"),
    ],
)
def test_functions_are_found_through_packages(tmp_path: Path, package: str, imports: str, call: str) -> None:
    assert places(tmp_path, package, imports, call) == [("helpers.py", 5)]


@pytest.mark.parametrize(
    ("imports", "made", "call", "line"),
    [
        ("from pkg.helpers import Meter", "Meter()", "meter.update(loss)", 9),
        ("from pkg.helpers import Meter", "Meter()", "meter(loss)", 12),
        ("from pkg.best import Best", "Best()", "meter.update(loss)", 9),
        ("from pkg.best import Best", "Best()", "meter(loss)", 12),
        ("import pkg", "pkg.Best()", "meter(loss)", 12),
    ],
)
def test_methods_of_instances_are_found_in_base_classes(
    tmp_path: Path, imports: str, made: str, call: str, line: int
) -> None:
    assert places(tmp_path, "from .best import *\n", imports, call, made=made) == [("helpers.py", line)]


ENGINE = """
    import torch

    class Engine:
        def __init__(self, model, meter=None):
            self.meter = meter

        def run(self, model, loader, device, other):
            model.to(device)
            for x in loader:
                loss = model(x.to(device)).mean()
                loss.backward()
                {call}
                self.run(model, [], device, other)

    def epoch(model, loader, device, *, meter):
        model.to(device)
        for x in loader:
            loss = model(x.to(device)).mean()
            loss.backward()
            helper(loss, meter)

    def helper(loss, meter):
        meter.update(loss)
"""
MAIN = """
    import torch
    from engine import Engine, epoch
    from pkg.helpers import Meter

    def main(model, loader, device, unknown):
        meter = Meter()
        {call}

    main(torch.nn.Linear(3, 2), torch.utils.data.DataLoader(open("data")), "cuda", input())
"""


@pytest.mark.parametrize(
    ("step", "start"),
    [
        ("self.meter(loss)", "Engine(model, unknown).run(model, loader, device, meter)"),
        ("self.meter(loss)", "Engine(model, meter.total).run(model, loader, device, meter)"),
        ("self.meter.reset(loss)", "Engine(model, meter).run(model, loader, device, meter)"),
        ("other = None; other(loss)", "Engine(model).run(model, loader, device, meter)"),
        ("pass", "epoch(model, loader, device, meter=unknown)"),
        ("pass", "epoch(model, loader, device, *meter)"),
    ],
)
def test_innocent_instances_that_no_step_gets_are_silent(tmp_path: Path, step: str, start: str) -> None:
    assert passed(tmp_path, step, start) == []


@pytest.mark.parametrize(
    ("step", "start", "line"),
    [
        ("self.meter(loss)", "Engine(model, meter).run(model, loader, device, unknown)", 12),
        ("self.meter.update(loss)", "Engine(model, meter=meter).run(model, loader, device, 0)", 9),
        ("other(loss)", "engine = Engine(model)\n        engine.run(model, loader, device, meter)", 12),
        ("pass", "epoch(model, loader, device, meter=meter)", 9),
    ],
)
def test_instances_that_another_file_passes_run_in_every_step(tmp_path: Path, step: str, start: str, line: int) -> None:
    assert passed(tmp_path, step, start) == [("helpers.py", line)]


def passed(folder: Path, step: str, start: str) -> list[tuple[str, int]]:
    files = {"engine.py": ENGINE.format(call=step), "main.py": MAIN.format(call=start), "pkg/helpers.py": HELPERS}
    return [(Path(f.path).name, f.span.line) for f in found(folder, files, "TL301")]


def test_a_loader_is_passed_to_a_function_that_a_package_renames(tmp_path: Path) -> None:
    engine = """
        import torch
        def train_one_epoch(model, batches, device):
            for x in batches:
                model(x.to(device)).backward()
    """
    main = """
        from torch.utils.data import DataLoader
        from pkg import *
        def main(model, data, device):
            fit(model, DataLoader(data, num_workers=4), device)
        main(Net(), range(9), "cuda")
    """
    files = {"pkg/__init__.py": "from .engine import train_one_epoch as fit\n", "pkg/engine.py": engine}
    findings = found(tmp_path, {**files, "main.py": main}, "TL401")
    assert [(Path(f.path).name, f.span.line) for f in findings] == [("main.py", 5)]


def test_files_that_import_one_another_are_searched_once() -> None:
    count = 60
    stars = "".join(f"from pkg.m{number} import *\n" for number in range(count)).encode()
    contents = {f"pkg/m{number}.py": stars for number in range(count)}
    assert Project({path: {} for path in contents}, Outlines(contents)).device("train.py", "pkg.m1.get_device") is None


def test_another_process_resolves_names_without_the_contents_of_the_files() -> None:
    contents = {"pkg/__init__.py": b"from .a import *\n", "pkg/a.py": b"def f(): pass\n"}
    project = Project({"pkg/__init__.py": {}, "pkg/a.py": {"devices": {"f": "cpu"}}}, Outlines(contents))
    assert pickle.loads(pickle.dumps(project)).device("train.py", "pkg.f") == "cpu"


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("", "pkg.helpers.get_device"),
        ("from .helpers import get_device\n", "pkg.get_device"),
        ("from .helpers import get_device as pick\n", "pkg.pick"),
        ("from .helpers import (\n    Other,  # (here)\n    get_device,\n)\n", "pkg.get_device"),
        ("from .helpers import Other, \\\n    get_device\n", "pkg.get_device"),
        ("from . import helpers as h\n", "pkg.h.get_device"),
        ("import pkg.helpers as h\n", "pkg.h.get_device"),
        ("from .other import *\nfrom .helpers import *\n", "pkg.get_device"),
        ("from .other import *\n", "*pkg|pkg.helpers*.get_device"),
        (
            "try:\n    from .fast import get_device\nexcept ImportError:\n    from .helpers import get_device\n",
            "pkg.get_device",
        ),
    ],
)
def test_facts_are_found_through_packages(package: str, name: str) -> None:
    contents = {"pkg/__init__.py": package.encode(), "pkg/helpers.py": b"def get_device(): ...\nclass Other: ...\n"}
    facts: dict[str, FileFacts] = {"pkg/helpers.py": {"devices": {"get_device": "cpu"}}}
    project = Project({"pkg/other.py": {}, "pkg/__init__.py": {}, **facts}, Outlines(contents))
    assert project.device("train.py", name) == "cpu"


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("def get_device(): ...\n", "pkg.get_device"),
        ("class h: ...\n", "pkg.h.get_device"),
        ("from pkg import *\n", "pkg.get_device"),
        ("from .helpers import get_device\n", "other.get_device"),
    ],
)
def test_innocent_names_of_other_things_have_no_facts(package: str, name: str) -> None:
    contents = {"pkg/__init__.py": package.encode(), "pkg/helpers.py": b"def get_device(): ...\n"}
    facts: dict[str, FileFacts] = {"pkg/helpers.py": {"devices": {"get_device": "cpu"}}, "pkg/__init__.py": {}}
    assert Project(facts, Outlines(contents)).device("train.py", name) is None


def test_the_outline_of_a_file_without_a_final_newline_and_with_other_line_ends() -> None:
    text = (
        "class A(B,\r\n        metaclass=M[0]):\r\n    def f(self):\r\n        def g(): pass\r\n\r\nasync def h(): pass"
    )
    assert outline(text.encode(), "code.py").defined == {"A", "h"}
    assert not outline(b"class", "code.py").defined
