"""Findings of what following the programs has seen, where no rule finds anything in the syntax tree."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from torchlint.config.config import Config
from torchlint.knowledge.forms import COPY, EARLY, FORMS, GRAPH, GROWTH, LOADING, READ, WAIT
from torchlint.model import Finding, Heat, Severity
from torchlint.run import session
from torchlint.run.cache import for_settings
from torchlint.run.rules import registry
from torchlint.solution import solve

# The step is in one file, and what it does in another one, which names no device.
TRAIN = """
    import argparse
    import torch
    from helper import Book

    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = torch.nn.Linear(4, 4).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    book = Book(args.check)
    for step in range(100):
        out = model(torch.randn(8, 4, device=device))
        loss = book.keep(out)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
HELPER = """
    class Book:
        def __init__(self, check):
            self.entries, self.check = {{}}, check

        def keep(self, out):
            {line}
            return out.mean()
"""


def project(folder: Path, line: str, **more: str) -> list[str]:
    files = {"train": TRAIN, "helper": HELPER.format(line=line), **more}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    return sorted(str(path) for path in folder.glob("*.py"))


def in_helper(paths: list[str], *select: str, cached: bool = False) -> list[Finding]:
    plan = session.plan(Config(select=select or None, preview=bool(select)))
    cache = for_settings(plan.rules, plan.scopes, str(Path(paths[0]).parent / "cache")) if cached else None
    found = session.run(paths, plan, cache=cache).findings
    return [finding for finding in found if finding.path.endswith("helper.py")]


LATER = ": accumulate on the device, and read after the loop or every N steps"
CHOOSE = ": choose on the device with `torch.where`, or test every N steps"


@pytest.mark.parametrize(
    ("line", "rule", "words", "repair"),
    [
        (
            "self.limit = [1, 2, 3][out.argmax()]",
            "TL301",
            "a tensor as index of a list: the host waits here",
            LATER,
        ),
        (
            "if out.sum() > 3: self.entries = {}",
            "TL301",
            "a condition on a tensor: the host waits here",
            CHOOSE,
        ),
        (
            "turned = out[:4].inverse()",
            "TL301",
            "`out[:4].inverse()`: the host waits here",
            ": `torch.linalg.inv_ex` does not wait, and gives the error as a tensor",
        ),
        (
            "lowest = min(out.mean(), out.sum())",
            "TL301",
            "`min(out.mean(), out.sum())`: the host waits here",
            ": `torch.maximum`, `torch.minimum` and `.clamp` stay on the device",
        ),
    ],
)
def test_a_wait_in_a_training_step_of_another_file_is_a_warning(
    tmp_path: Path, line: str, rule: str, words: str, repair: str
) -> None:
    (finding,) = in_helper(project(tmp_path, line))
    assert (finding.rule, finding.severity, finding.heat) == (rule, Severity.WARNING, Heat.STEP)
    assert words in finding.message
    assert finding.message.endswith(f"in every training step (the loop in {tmp_path}/train.py:13){repair}")
    assert finding.span.line == 7
    assert finding.fingerprint


def test_the_most_specific_enabled_rule_reports_it(tmp_path: Path) -> None:
    paths = project(tmp_path, "if out.sum() > 3: self.entries = {}")
    assert [f.rule for f in in_helper(paths, "TL301", "TL303")] == ["TL303"]
    assert [f.rule for f in in_helper(paths, "TL301")] == ["TL301"]
    assert in_helper(paths, "TL101") == []


def test_there_is_one_finding_for_a_line(tmp_path: Path) -> None:
    """A rule says more about a line, with a fix, than a place does."""
    (finding,) = in_helper(project(tmp_path, "self.entries['loss'] = out.mean().item()"))
    assert (finding.rule, finding.severity) == ("TL301", Severity.WARNING)


def test_what_an_option_switches_on_names_it(tmp_path: Path) -> None:
    (finding,) = in_helper(project(tmp_path, "if self.check: self.low = min(out.mean(), out.sum())"))
    assert finding.message.endswith("(only with `--check`)")


def test_what_rests_on_an_assumption_says_so(tmp_path: Path) -> None:
    text = """
        import torch

        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                return x.inverse().cuda()
    """
    (tmp_path / "helper.py").write_text(dedent(text), encoding="utf-8")
    (finding,) = [f for f in in_helper([str(tmp_path / "helper.py")]) if f.rule == "TL301"]
    assert finding.severity is Severity.INFO
    assert "in programs that call this" in finding.message


@pytest.mark.parametrize("comment", ["noqa: TL301", "torchlint: ignore[TL301]", "noqa"])
def test_comments_suppress_them(tmp_path: Path, comment: str) -> None:
    paths = project(tmp_path, f"turned = out[:4].inverse()  # {comment}")
    run = session.run(paths, session.plan(Config()))
    assert [f for f in run.findings if f.path.endswith("helper.py")] == []
    assert run.suppressed == 1


def test_the_cache_gives_the_same(tmp_path: Path) -> None:
    paths = project(tmp_path, "turned = out[:4].inverse()")
    cold, warm = in_helper(paths, cached=True), in_helper(paths, cached=True)
    assert cold == warm
    assert cold


def test_they_move_with_their_lines(tmp_path: Path) -> None:
    paths = project(tmp_path, "turned = out[:4].inverse()")
    plan = session.plan(Config())
    tree = session.Tree(paths, plan)
    path = str(tmp_path / "helper.py")
    edited = b"# a comment\n" + tree.contents[path]
    before = [f.span.line for f in tree.analyses[path].result.findings]
    after = [f.span.line for f in tree.lint(path, edited, 60.0).result.findings]
    assert before
    assert after == [line + 1 for line in before]


def test_columns_count_characters(tmp_path: Path) -> None:
    (finding,) = in_helper(project(tmp_path, "größe = 'ä', out[:4].inverse()"))
    text = (tmp_path / "helper.py").read_text(encoding="utf-8").splitlines()[finding.span.line - 1]
    assert text[finding.span.column - 1 : finding.span.end_column - 1] == "out[:4].inverse()"


def test_what_serves_a_purpose_is_left_to_its_rule(tmp_path: Path) -> None:
    assert in_helper(project(tmp_path, "import torch; torch.cuda.synchronize()"), "TL301", "TL304") == []


@pytest.mark.parametrize("pin", [True, False])
def test_what_to_do_about_a_blocking_copy_depends_on_the_loader_of_another_file(tmp_path: Path, pin: bool) -> None:
    files = {
        "main": f"""
            import torch
            from torch.utils.data import DataLoader
            from helper import fit

            net = torch.nn.Linear(3, 2).cuda()
            fit(net, DataLoader(torch.randn(8, 3), num_workers=2, pin_memory={pin}), torch.device("cuda"))
        """,
        "helper": """
            def fit(net, loader, device):
                for x in loader:
                    net(x.to(device)).sum().backward()
        """,
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    (finding,) = in_helper([str(tmp_path / "helper.py"), str(tmp_path / "main.py")], "TL202")
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith("since the loader uses pinned memory") is pin


def test_a_field_of_a_batch_is_no_element_of_a_tensor(tmp_path: Path) -> None:
    assert in_helper(project(tmp_path, "self.entries['out'] = out")) == []


def test_every_form_is_proved_and_reported() -> None:
    rules = {rule.id for rule in registry.core()}
    assert len({form.key for form in FORMS}) == len(FORMS) > 30
    for form in FORMS:
        assert form.kind in (READ, WAIT, COPY, GRAPH, GROWTH, EARLY, LOADING), form
        assert ": " in form.source, form
        assert rules >= set(form.rules), form


def test_what_loops_inside_of_a_step_run_over_is_said(tmp_path: Path) -> None:
    (finding,) = in_helper(project(tmp_path, "for row in range(8): self.low = min(out[row].mean(), 1)"))
    assert "in every training step (the loop in " in finding.message
    assert finding.message.endswith("for each of `range(8)`: do this for all of them at once, and read one result")


def test_a_wait_right_behind_another_is_shown_with_it(tmp_path: Path) -> None:
    first, second = "low = min(out.mean(), out.sum())", "turned = out[:4].inverse()"
    together = in_helper(project(tmp_path, f"{first}\n            out = out * 2\n            {second}"))
    assert [(f.span.line, [e.line for e in f.evidence if not e.context]) for f in together] == [(7, [9])]
    apart = in_helper(project(tmp_path, f"{first}\n            out.sum().backward()\n            {second}"))
    assert [f.span.line for f in apart] == [7, 9]


DECODING = """
    import torch
    from model import Model

    model = Model().cuda()
    tokens = torch.zeros(1, 8, dtype=torch.long, device="cuda")
    with torch.no_grad():
        for at in range(100):
            {round}
"""


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ("logits = model(tokens); tokens = torch.cat([tokens, logits.argmax(-1)]); stop(tokens)", "warning"),
        ("logits = model(tokens[:, :at]); tokens[:, at] = logits.argmax(-1); stop(tokens)", "warning"),
        ("total = model(torch.zeros(1, 8).cuda()); stop(total)", "info"),
        ("for layer in [model, model]: tokens = layer(tokens); stop(tokens)", "info"),
    ],
    ids=["joined", "stored", "nothing is carried on", "layers"],
)
def test_a_wait_in_a_loop_that_makes_the_next_input_is_a_warning(tmp_path: Path, body: str, severity: str) -> None:
    files = {
        "program": DECODING.replace("model = Model", "from helper import stop\n    model = Model").format(round=body),
        "model": "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x.float()\n",
        "helper": "def stop(tokens):\n    if tokens.sum() > 3:\n        print('stop')\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    (finding,) = in_helper(sorted(map(str, tmp_path.glob("*.py"))))
    assert finding.severity.value == severity
    assert ("in every step of decoding or sampling" in finding.message) is (severity == "warning")


EVALUATING = """
    import torch
    from torch.utils.data import DataLoader
    from helper import choose

    model = torch.nn.Linear(8, 8).cuda()
    model.eval()
    with torch.no_grad():
        for x in DataLoader(torch.zeros(32, 8), pin_memory=True):
            choose(model(x.cuda(non_blocking=True)))
"""


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ("for at in range(80):\n        out = out[out > at]", "warning"),
        ("for at in range(80):\n        if out[at].sum() > 3: out = out * 2", "warning"),
        ("for at in range(80):\n        print(out[at].sum().item())", "info"),
        ("out = out[out > 3]", "warning"),
    ],
    ids=["masks", "conditions", "results", "a shape"],
)
def test_what_a_program_pays_for_that_only_infers(tmp_path: Path, body: str, severity: str) -> None:
    (tmp_path / "program.py").write_text(dedent(EVALUATING), encoding="utf-8")
    (tmp_path / "helper.py").write_text(f"def choose(out):\n    {body}\n", encoding="utf-8")
    found = in_helper(sorted(map(str, tmp_path.glob("*.py"))))
    assert {finding.severity.value for finding in found} == {severity}


TRAINING_TOO = """
    for epoch in range(10):
        for x in DataLoader(torch.zeros(32, 8), pin_memory=True):
            loss = model(x.cuda(non_blocking=True)).sum()
            loss.backward()
"""


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ("for at in range(80):\n        out = out[out > at]", "warning"),
        ("at = out.argmax().item()\n    print(names[at])", "warning"),
        ("labels = x.cuda()\n    kept.append(labels.cpu())", "warning"),
        ("kept.append(out.sum().item())", "info"),
        ("out = out[out > 3]", "info"),
        ("for part in x:\n        kept.append(part.cuda())", "info"),
    ],
    ids=["multiplied masks", "a position", "to and fro", "a result", "a shape", "parts of a batch"],
)
def test_what_a_program_pays_for_in_evaluations_beside_its_training(tmp_path: Path, body: str, severity: str) -> None:
    program = EVALUATING.replace(
        "choose(model(x.cuda(non_blocking=True)))", "choose(model(x.cuda(non_blocking=True)), x)"
    )
    (tmp_path / "program.py").write_text(dedent(program) + dedent(TRAINING_TOO), encoding="utf-8")
    helper = f"kept, names = [], ['a', 'b']\ndef choose(out, x):\n    {body}\n"
    (tmp_path / "helper.py").write_text(helper, encoding="utf-8")
    found = in_helper(sorted(map(str, tmp_path.glob("*.py"))))
    assert severity in {finding.severity.value for finding in found}
    assert (severity == "warning") is any(finding.severity.value == "warning" for finding in found)
    assert any("in every step of an evaluation" in finding.message for finding in found)


PREPARED = """
    import torch
    from accelerate import Accelerator
    from torch.utils.data import DataLoader
    from helper import look

    def collate(items):
        return dict(x=torch.stack(items))

    def make(kind, data):
        if kind == "sample":
            return DataLoader(data, batch_size=4, collate_fn=collate, pin_memory=True)
        return DataLoader(data, batch_sampler=kind, collate_fn=collate, pin_memory=True)

    def train(model, optimizer, kind, data):
        accelerator = Accelerator()
        loader = make(kind, data)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        late = accelerator.skip_first_batches(loader, num_batches=10)
        for number in range(10):
            for batch in late if number == 0 else loader:
                loss = model(look(batch["x"])).sum()
                accelerator.backward(loss)
                optimizer.step()

    model = torch.nn.Linear(8, 8)
    train(model, torch.optim.SGD(model.parameters()), open("kind").read(), torch.zeros(32, 8))
"""


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("return x.to('cuda')", []),
        (
            "if 'mask' not in CACHE:\n        CACHE['mask'] = torch.zeros(8).to(x.device)\n    return x",
            [],
        ),
        (
            "made = {}\n    if 'm' not in made:\n        made['m'] = torch.zeros(8).to(x.device)\n    return x",
            ["TL104"],
        ),
        ("b, n, device = *x.shape, x.device\n    return x + torch.arange(n, device=device)", []),
        ("b, n, device = *x.shape, x.sum()\n    return x + torch.arange(device.item(), device=x.device)", ["TL301"]),
        ("from lietorch import SE3\n    return SE3(x)[:, 0].inv()", []),
        ("return x.float().inverse()", ["TL301"]),
    ],
    ids=[
        "prepared loaders",
        "a cache of the module",
        "a new container",
        "sizes that are spread",
        "what follows them",
        "a method of no tensor",
        "one of tensors",
    ],
)
def test_batches_of_prepared_loaders_caches_and_sizes_are_told_from_what_costs(
    tmp_path: Path, body: str, rules: list[str]
) -> None:
    (tmp_path / "program.py").write_text(dedent(PREPARED), encoding="utf-8")
    (tmp_path / "helper.py").write_text(f"import torch\nCACHE = {{}}\ndef look(x):\n    {body}\n", encoding="utf-8")
    found = in_helper(sorted(map(str, tmp_path.glob("*.py"))))
    assert [finding.rule for finding in found if finding.severity.value == "warning"] == rules


SEVERAL_CALLS = """
    import numpy as np
    import torch
    from torch.utils.data import DataLoader
    from helper import distance

    table = np.load("table.npy")
    {first}
    model = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.SGD(model.parameters())
    for x in DataLoader(torch.zeros(32, 8), num_workers=2, pin_memory=True):
        loss = model(x.cuda(non_blocking=True)).sum() + distance({passed})
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("first", "passed", "rules"),
    [("", "table", ["TL205"]), ("distance(table)", "x.numpy()", ["TL202"])],
    ids=["the same in every step", "only before the steps"],
)
def test_what_one_of_several_calls_passes_is_not_the_same_in_every_step(
    tmp_path: Path, first: str, passed: str, rules: list[str]
) -> None:
    (tmp_path / "program.py").write_text(dedent(SEVERAL_CALLS).format(first=first, passed=passed), encoding="utf-8")
    (tmp_path / "helper.py").write_text(
        "import torch\ndef distance(x):\n    return torch.from_numpy(x).cuda().sum()\n", encoding="utf-8"
    )
    found = in_helper(sorted(map(str, tmp_path.glob("*.py"))))
    assert [finding.rule for finding in found if finding.severity.value == "warning"] == rules


FIRST_ROUND = """
    import torch
    from torch.utils.data import DataLoader
    from helper import look

    class Trainer:
        def __init__(self, model):
            self.model, self.count = model, 0

        def epoch(self, loader):
            fresh = True
            for x in loader:
                out = self.model(x.cuda(non_blocking=True))
                {condition}:
                    look(out)
                out.sum().backward()
                self.count += 1
                fresh = False

    model = torch.nn.Linear(8, 8).cuda()
    trainer = Trainer(model)
    for number in range(10):
        trainer.epoch(DataLoader(torch.zeros(32, 8), pin_memory=True))
"""


@pytest.mark.parametrize(
    ("condition", "finds"),
    [("if self.count == 0", 0), ("if fresh", 0), ("if self.count >= 0", 1), ("if not self.model.training", 0)],
)
def test_what_only_the_first_round_or_another_mode_does_is_no_part_of_a_step(
    tmp_path: Path, condition: str, finds: int
) -> None:
    (tmp_path / "program.py").write_text(dedent(FIRST_ROUND).format(condition=condition), encoding="utf-8")
    (tmp_path / "helper.py").write_text("def look(out):\n    print(out.sum().item())\n", encoding="utf-8")
    found = in_helper(sorted(map(str, tmp_path.glob("*.py"))))
    assert sum(finding.severity.value == "warning" for finding in found) == finds


REQUESTS = """
    import torch
    from helper import keep

    def generate(model, tokens):
        tokens = torch.cat([tokens, model(tokens).argmax(-1)])
        for at in range(100):
            tokens = torch.cat([tokens, model(tokens).argmax(-1)])
        return tokens

    model = torch.nn.Linear(8, 8).cuda()
    with torch.no_grad():
        for prompt in open("prompts.txt"):
            tokens = torch.zeros(1, 8, device="cuda")
            out = {call}
            for row in out:
                keep(row)
"""


@pytest.mark.parametrize(
    "call", ["generate(model, tokens)", "(model.generate(tokens), model(tokens))[1]", "model(tokens)"]
)
def test_what_happens_once_for_a_sequence_that_is_decoded_is_no_step(tmp_path: Path, call: str) -> None:
    (tmp_path / "program.py").write_text(dedent(REQUESTS).format(call=call), encoding="utf-8")
    (tmp_path / "helper.py").write_text("def keep(row):\n    return row[row > 3]\n", encoding="utf-8")
    (finding,) = in_helper(sorted(map(str, tmp_path.glob("*.py"))))
    decoded = "generate" in call
    assert finding.severity.value == ("info" if decoded else "warning")
    assert ("once for each input" in finding.message) is decoded


LAYERS = """
    import torch
    from torch.utils.data import DataLoader

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(4)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    model = Model().cuda().eval()
    with torch.no_grad():
        for x in DataLoader(torch.zeros(32, 8), pin_memory=True):
            model(x.cuda(non_blocking=True))
"""


def test_layers_are_part_of_a_step_and_not_steps() -> None:
    steps = solve({"program.py": dedent(LAYERS).encode()}).files["program.py"].steps
    loops = [dedent(LAYERS).splitlines()[step.line - 1].strip() for step in steps]
    assert [line.split(" in ")[0] for line in loops if line.startswith("for ")] == ["for x"]


def test_a_call_with_more_arguments_than_a_method_has_is_one_of_another(tmp_path: Path) -> None:
    text = """
        import torch
        from helper import Short, Long

        def made(vision):
            if vision:
                return Long().cuda()
            return Short().cuda()

        def run(vision, model):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(9):
                if vision:
                    loss = model(torch.zeros(1, device="cuda"), torch.ones(1, device="cuda"), 2)
                else:
                    loss = model(2)
                loss.sum().backward()
                optimizer.step()

        if __name__ == "__main__":
            vision = input()
            run(vision, made(vision))
    """
    helper = """
        import torch

        class Short(torch.nn.Module):
            def forward(self, size):
                return torch.zeros(4)[:size]

        class Long(torch.nn.Module):
            def forward(self, x, other, size):
                return x[:size]
    """
    (tmp_path / "program.py").write_text(dedent(text), encoding="utf-8")
    (tmp_path / "helper.py").write_text(dedent(helper), encoding="utf-8")
    assert not in_helper(sorted(map(str, tmp_path.glob("*.py"))))


def test_a_batch_that_a_model_decodes_is_a_step(tmp_path: Path) -> None:
    text = REQUESTS.replace('for prompt in open("prompts.txt"):', "for prompt in DataLoader(torch.zeros(32, 8)):")
    text = text.replace("import torch\n", "import torch\n    from torch.utils.data import DataLoader\n", 1)
    (tmp_path / "program.py").write_text(dedent(text).format(call="generate(model, tokens)"), encoding="utf-8")
    (tmp_path / "helper.py").write_text("def keep(row):\n    return row[row > 3]\n", encoding="utf-8")
    (finding,) = in_helper(sorted(map(str, tmp_path.glob("*.py"))))
    assert finding.severity.value == "warning"


@pytest.mark.parametrize(
    "told", ["type(x).__name__ != 'ndarray'", "not isinstance(x, np.ndarray)", "type(x) is not np.ndarray"]
)
def test_what_only_an_array_skips_turns_a_tensor_into_one(tmp_path: Path, told: str) -> None:
    (tmp_path / "program.py").write_text(dedent(EVALUATING), encoding="utf-8")
    loop = "for at in range(80):\n        if x[at].sum() > 3: print(at)"
    text = f"import numpy as np\ndef choose(x):\n    if {told}:\n        x = x.cpu().numpy()\n    {loop}\n"
    (tmp_path / "helper.py").write_text(text, encoding="utf-8")
    assert [f.span.line for f in in_helper(sorted(map(str, tmp_path.glob("*.py"))))] == [4]


@pytest.mark.parametrize(("device", "copies"), [("cuda", 1), ("cpu", 0)])
def test_the_type_of_another_tensor_moves_to_its_device(tmp_path: Path, device: str, copies: int) -> None:
    text = f"""
        import torch

        def positions(size, kind):
            return torch.arange(size).type(kind)

        other = torch.zeros(4, 8, device="{device}")
        model = torch.nn.Linear(8, 8).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(100):
            kind = other.type()
            loss = (model(torch.ones(4, 8, device="cuda")) + positions(8, kind)).mean()
            loss.backward()
            optimizer.step()
    """
    (tmp_path / "helper.py").write_text(dedent(text), encoding="utf-8")
    found = in_helper([str(tmp_path / "helper.py")], "TL202")
    assert [f.span.line for f in found if "create it on the device" in f.message] == [5] * copies


def test_a_wait_in_the_steps_of_a_function_that_no_program_gets_to_is_an_info(tmp_path: Path) -> None:
    unused = """
        import torch
        import train

        def fit(model, book):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(100):
                out = torch.randn(8, 4, device="cuda", requires_grad=True)
                train.Book(False).turn(out)
                model(out).mean().backward()
                optimizer.step()
    """
    method = (
        "pass\n            return out.mean()\n\n        def turn(self, out):\n            turned = out[:4].inverse()"
    )
    (finding,) = in_helper(project(tmp_path, method, unused=unused))
    assert (finding.rule, finding.severity) == ("TL301", Severity.INFO)
    assert finding.message.endswith("(in programs that call this)")
