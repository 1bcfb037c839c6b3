"""Steps and phases: small training loops of all kinds, run with nothing but the boundaries of steps watched."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.companion_help import confirmed, warm_run, write

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader  # noqa: E402

from torchlint.runtime.patches import Patches  # noqa: E402
from torchlint.runtime.recorder import Recorder  # noqa: E402
from torchlint.runtime.sites import NOWHERE  # noqa: E402
from torchlint.runtime.steps import Enough, Steps  # noqa: E402

Note = Callable[[str], None]
Program = Callable[[Note], Any]


class Seen:
    """What was recorded of a program: its steps, and its events by kind and phase."""

    def __init__(self, program: Program, limit: int | None = None) -> None:
        recorder, patches = Recorder(), Patches()
        steps = Steps(limit, recorder.ledger)
        steps.install(patches)
        try:
            program(lambda kind: recorder.add(kind, NOWHERE))
        except Enough:
            pass
        finally:
            patches.restore()
            steps.remove()
        steps.finish()
        self.steps = steps.written()
        self.events = {event["kind"]: event for event in recorder.written()}

    def counted(self, phase: str) -> tuple[int, str | None]:
        """The number of steps of a phase, and what they are."""
        found = self.steps["phases"][phase]
        return found["count"], found["unit"]

    def rate(self, kind: str) -> float:
        """Events for each step of training but the first."""
        return float(self.events[kind]["steady"][0] / self.steps["phases"]["training"]["steady"])

    def phases(self, kind: str) -> dict[str, int]:
        """The number of events in each phase."""
        return {phase: figures[0] for phase, figures in self.events[kind]["phases"].items()}


def net() -> Any:
    return torch.nn.Linear(4, 4)


def sgd(*nets: Any) -> Any:
    return torch.optim.SGD([parameter for each in nets for parameter in each.parameters()], 0.1)


def batches(count: int) -> Any:
    return DataLoader(torch.randn(count * 2, 4), batch_size=2)


def x() -> Any:
    return torch.randn(2, 4)


def train(model: Any, optimizer: Any, loader: Iterable[Any], note: Note) -> None:
    for batch in loader:
        note("upload")
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
        note("read")


def evaluate(model: Any, loader: Iterable[Any], note: Note) -> None:
    with torch.no_grad():
        for batch in loader:
            note("evaluated upload")
            model(batch)
            note("evaluated read")


# -- training --------------------------------------------------------------------------------------


def test_epochs_with_an_evaluation_after_each() -> None:
    def program(note: Note) -> None:
        model = net()
        optimizer = sgd(model)
        for _ in range(3):
            train(model, optimizer, batches(8), note)
            evaluate(model, batches(3), note)
            note("save")

    seen = Seen(program)
    assert (seen.counted("training"), seen.counted("evaluation")) == ((24, "optimizer step"), (9, "batch"))
    assert (seen.rate("upload"), seen.rate("read")) == (1, 1)
    assert seen.phases("evaluated upload") == seen.phases("evaluated read") == {"evaluation": 9}
    assert seen.phases("save") == {"training": 2, "after": 1}
    assert (seen.steps["count"], seen.steps["trainings"]) == (24, 1)
    assert [phase for _, phase, _ in seen.steps["durations"]].count("evaluation") == 9


def test_evaluation_before_training() -> None:
    def program(note: Note) -> None:
        model = net()
        optimizer = sgd(model)
        evaluate(model, batches(5), note)
        train(model, optimizer, batches(8), note)

    for limit, steps in ((None, 8), (3, 3)):
        seen = Seen(program, limit)
        assert (seen.counted("training"), seen.counted("evaluation")) == ((steps, "optimizer step"), (5, "batch"))
        assert seen.rate("upload") == 1


class _Scaled:
    """Examples that a module transforms when they are fetched, as those of torchvision do."""

    transform = torch.nn.Identity()

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        return self.transform(torch.ones(4))


def test_transforms_that_a_loader_without_workers_calls_are_no_steps() -> None:
    def program(note: Note) -> None:
        loader = DataLoader(_Scaled(), batch_size=4)
        next(iter(loader))  # to look at one
        note("setup")
        model = net()
        optimizer = sgd(model)
        for _ in range(2):
            train(model, optimizer, loader, note)
            evaluate(model, loader, note)

    seen = Seen(program)
    assert seen.counted("training") == (6, "optimizer step")
    assert seen.counted("evaluation") == (6, "batch")
    assert seen.rate("setup") == 0


def test_evaluation_without_a_loader_is_counted_by_calls_of_the_model() -> None:
    def program(note: Note) -> None:
        model = net()
        optimizer = sgd(model)
        for iteration in range(20):
            if iteration % 5 == 0:
                with torch.no_grad():
                    for _ in range(10):
                        model(x())
                        note("evaluated read")
            for _ in range(2):
                model(x()).sum().backward()
                note("accumulated")
            optimizer.step()

    seen = Seen(program)
    assert (seen.counted("training"), seen.counted("evaluation")) == ((20, "optimizer step"), (40, "forward pass"))
    assert seen.phases("evaluated read") == {"evaluation": 40}
    assert seen.rate("accumulated") == 2


def test_accumulated_gradients_are_one_step() -> None:
    def program(note: Note) -> None:
        model = net()
        optimizer = sgd(model)
        for number, batch in enumerate(batches(16)):
            note("upload")
            model(batch).sum().backward()
            if number % 4 == 3:
                optimizer.step()

    seen = Seen(program)
    assert (seen.counted("training"), seen.rate("upload")) == ((4, "optimizer step"), 4)
    assert seen.counted("evaluation")[0] == 0


@pytest.mark.parametrize("alive", [False, True])
def test_several_trainings_are_added_up(alive: bool) -> None:
    """K-fold, or a test suite: with models that are made for each, or all before."""

    def program(note: Note) -> None:
        models = [net() for _ in range(4)]
        optimizers = [sgd(model) for model in models] if alive else None
        for number, model in enumerate(models):
            note("move")
            optimizer = optimizers[number] if optimizers else sgd(model)
            train(model, optimizer, batches(4), note)

    seen = Seen(program)
    assert (seen.counted("training"), seen.steps["trainings"]) == ((16, "optimizer step"), 4)
    assert seen.rate("upload") == 1
    assert "steady" not in seen.phases("move")
    assert seen.events["move"]["steady"][0] == 0


def test_trainings_of_one_step_each() -> None:
    def program(note: Note) -> None:
        for _ in range(5):
            model = net()
            train(model, sgd(model), batches(1), note)

    seen = Seen(program)
    assert (seen.counted("training"), seen.steps["phases"]["training"]["steady"]) == ((5, "optimizer step"), 0)


def test_bursts_of_another_optimizer_are_no_trainings_of_their_own() -> None:
    """A soft actor-critic: every second step updates the actor and the temperature twice."""

    def program(_note: Note) -> None:
        critic, actor, temperature = (torch.optim.SGD(net().parameters(), lr=0.1) for _ in range(3))
        for step in range(20):
            critic.step()
            for _ in range(2 if step % 2 else 0):
                actor.step()
                temperature.step()

    seen = Seen(program)
    assert seen.steps["trainings"] == 1
    count, unit = seen.counted("training")
    assert unit == "optimizer step"
    assert 20 <= count <= 22  # the first burst looks like another training until the critic is back


def test_two_optimizers_that_take_turns_are_one_step() -> None:
    def program(note: Note) -> None:
        generator, critic = net(), net()
        first, second = sgd(critic), sgd(generator)
        for batch in batches(6):
            critic(batch).sum().backward()
            first.step()
            note("critic")
            generator(batch).sum().backward()
            second.step()

    seen = Seen(program)
    assert (seen.counted("training"), seen.rate("critic")) == ((6, "optimizer step"), 1)


@pytest.mark.parametrize("loader", [False, True])
def test_an_evaluation_after_the_second_optimizer_is_no_part_of_training(*, loader: bool) -> None:
    def program(note: Note) -> None:
        actor, critic = net(), net()
        first, second = sgd(critic), sgd(actor)
        for _ in range(3):
            for _ in range(5):
                critic(x()).sum().backward()
                first.step()
                actor(x()).sum().backward()
                second.step()
            with torch.no_grad():
                for batch in batches(8) if loader else [x() for _ in range(8)]:
                    actor(batch)
                    note("read")

    seen = Seen(program)
    assert seen.counted("training") == (15, "optimizer step")
    assert seen.counted("evaluation") == (24, "batch" if loader else "forward pass")
    assert seen.rate("read") == 0
    assert seen.phases("read") == {"evaluation": 24}


def test_an_agent_with_two_optimizers_acts_and_looks_ahead_in_its_steps() -> None:
    """The same network is called several times before the loss, at places of their own."""

    def program(note: Note) -> None:
        actor, critic = net(), net()
        target, first, second = copy.deepcopy(critic), sgd(critic), sgd(actor)

        def chosen() -> None:
            actor(x())
            note("choice")

        for _ in range(20):
            with torch.no_grad():
                chosen()
            with torch.no_grad():
                chosen()
                target(x())
            critic(x()).sum().backward()
            first.step()
            critic(actor(x())).sum().backward()
            second.step()

    seen = Seen(program)
    assert (seen.counted("training"), seen.counted("evaluation")[0]) == ((20, "optimizer step"), 0)
    assert seen.rate("choice") == 2


def test_an_optimizer_for_each_parameter() -> None:
    def program(_note: Note) -> None:
        model = torch.nn.Sequential(net(), net())
        optimizers = [torch.optim.SGD([parameter], 0.1) for parameter in model.parameters()]
        for batch in batches(6):
            model(batch).sum().backward()
            for optimizer in optimizers:
                optimizer.step()

    assert Seen(program).counted("training") == (6, "optimizer step")


def test_calls_without_gradients_in_a_step_are_part_of_it() -> None:
    def program(note: Note) -> None:
        student, teacher = net(), net()
        optimizer = sgd(student)
        for batch in batches(6):
            with torch.no_grad():
                teacher(batch)
            student(batch).sum().backward()
            optimizer.step()
            with torch.no_grad():
                student(batch)
                note("metric")

    seen = Seen(program)
    assert (seen.counted("training"), seen.counted("evaluation")[0], seen.rate("metric")) == (
        (6, "optimizer step"),
        0,
        1,
    )


def test_an_agent_that_acts_before_it_learns() -> None:
    def program(note: Note) -> None:
        policy = net()
        target, optimizer = copy.deepcopy(policy), sgd(policy)
        for step in range(20):
            with torch.no_grad():
                policy(x())
            note("action")
            if step >= 4:
                loss = policy(x()).sum()
                with torch.no_grad():
                    target(x())
                loss.backward()
                optimizer.step()

    seen = Seen(program)
    assert (seen.counted("training"), seen.counted("evaluation")) == ((16, "optimizer step"), (5, "forward pass"))
    assert seen.rate("action") == 1


def test_several_loaders_are_iterated_together() -> None:
    def program(note: Note) -> None:
        model = net()
        optimizer = sgd(model)
        for first, _, _ in zip(batches(6), batches(6), batches(6), strict=True):
            note("upload")
            model(first).sum().backward()
            optimizer.step()

    seen = Seen(program)
    assert (seen.counted("training"), seen.counted("evaluation")[0]) == ((6, "optimizer step"), 0)


def test_a_batch_that_is_fetched_in_advance() -> None:
    def ahead(loader: Any) -> Iterator[Any]:
        iterator = iter(loader)
        following = next(iterator)
        for batch in iterator:
            yield following
            following = batch
        yield following

    def program(note: Note) -> None:
        model = net()
        optimizer = sgd(model)
        for _ in range(2):
            train(model, optimizer, ahead(batches(6)), note)
            evaluate(model, ahead(batches(3)), note)

    seen = Seen(program)
    assert (seen.counted("training"), seen.counted("evaluation")) == ((12, "optimizer step"), (6, "batch"))
    assert seen.rate("upload") == 1


# -- programs without an optimizer -----------------------------------------------------------------


def test_a_program_that_updates_its_parameters_itself() -> None:
    def program(note: Note) -> None:
        model = net()
        for batch in batches(6):
            model(batch).sum().backward()
            note("update")
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(parameter.grad, alpha=0.1)
                    parameter.grad = None

    seen = Seen(program)
    assert (seen.counted("training"), seen.rate("update")) == ((6, "backward pass"), 1)


def test_a_program_that_only_predicts() -> None:
    def by_batch(note: Note) -> None:
        evaluate(net(), batches(7), note)

    def by_call(_note: Note) -> None:
        model = net()
        with torch.no_grad():
            for _ in range(7):
                model(x())

    for program, unit in ((by_batch, "batch"), (by_call, "forward pass")):
        for limit, steps in ((None, 7), (3, 3)):
            seen = Seen(program, limit)
            assert (seen.steps["count"], seen.steps["unit"]) == (steps, unit)
            assert seen.counted("evaluation") == (steps, unit)


def test_a_program_that_only_predicts_need_not_disable_gradients() -> None:
    def program(note: Note) -> None:
        model = net()
        for _ in range(7):
            model(x())
            note("read")

    for limit, steps in ((None, 7), (3, 3)):
        seen = Seen(program, limit)
        assert (seen.counted("training"), seen.counted("evaluation")) == ((0, None), (steps, "forward pass"))
    assert seen.phases("read") == {"evaluation": 3}


@pytest.mark.parametrize("gradients", [True, False])
def test_requests_that_are_answered_in_threads_are_steps(*, gradients: bool) -> None:
    def program(note: Note) -> None:
        model, loss = net(), torch.nn.MSELoss()

        def answer() -> None:
            with torch.set_grad_enabled(gradients):
                loss(model(x()), torch.zeros(2, 4))
                note("read")

        for _ in range(7):
            request = threading.Thread(target=answer)
            request.start()
            request.join()

    seen = Seen(program)
    assert seen.counted("evaluation") == (7, "forward pass")
    assert seen.phases("read") == {"evaluation": 7}


def test_calls_in_other_threads_of_a_program_that_trains_are_no_steps() -> None:
    def program(note: Note) -> None:
        model, teacher = net(), net()
        optimizer = sgd(model)

        def teach() -> None:
            with torch.no_grad():
                teacher(x())

        for _ in range(6):
            model(x()).sum().backward()
            optimizer.step()
            for _ in range(3):
                other = threading.Thread(target=teach)
                other.start()
                other.join()
            note("read")

    seen = Seen(program)
    assert (seen.counted("training"), seen.counted("evaluation")) == ((6, "optimizer step"), (0, None))
    assert seen.rate("read") == 1


def test_a_model_may_have_methods_by_the_names_of_those_of_modules() -> None:
    Model = type("Model", (torch.nn.Linear,), {"parameters": lambda _, group: [group]})  # noqa: N806 - a class

    def program(note: Note) -> None:
        model = Model(4, 2)
        with torch.no_grad():
            for _ in range(6):
                model(torch.ones(3, 4))
                note("read")

    assert Seen(program).counted("evaluation") == (6, "forward pass")


def test_transforms_are_no_forward_passes() -> None:
    def program(note: Note) -> None:
        model, resize = net(), torch.nn.Upsample(4)
        optimizer = sgd(model)
        for _ in range(3):
            train(model, optimizer, batches(4), note)
            with torch.no_grad():
                for _ in range(5):
                    model(resize(torch.randn(1, 2, 2))[0])
                    note("evaluated read")
                for _ in range(10):
                    resize(torch.randn(1, 2, 2))

    seen = Seen(program)
    assert seen.counted("evaluation") == (15, "forward pass")
    assert seen.rate("read") == 1


def test_a_model_may_keep_its_weights_elsewhere_than_in_parameters() -> None:
    stored = {"get_extra_state": lambda _: torch.ones(4), "forward": lambda _, data: data * 2}
    Stored = type("Stored", (torch.nn.Module,), stored)  # noqa: N806 - a class, as those of quantized weights

    def program(_note: Note) -> None:
        model = Stored()
        for _ in range(5):
            model(x())

    assert Seen(program).counted("evaluation") == (5, "forward pass")


def test_what_interrupts_the_end_of_a_step_may_call_a_model() -> None:
    model, patches = net(), Patches()

    class Interrupted(Steps):
        def called(self, module: Any, *, place: int | None) -> None:
            super().called(module, place=place)
            if module is model:
                net()(x())  # as a handler of a signal does that saves a last evaluation

    def program() -> None:
        steps = Interrupted(None)
        steps.install(patches)
        try:
            model(x())
        finally:
            steps.remove()

    running = threading.Thread(target=program, daemon=True)
    running.start()
    running.join(30)
    patches.restore()
    assert not running.is_alive()


def test_a_program_that_only_loads() -> None:
    def program(_note: Note) -> None:
        for count in (5, 2, 1):
            for _ in batches(count):
                pass

    assert Seen(program).counted("evaluation") == (8, "batch")


# -- reports ---------------------------------------------------------------------------------------

FITS = """
import torch
from torch.utils.data import DataLoader

def fit(steps):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = torch.nn.Linear(8, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for x in DataLoader(torch.randn(4 * steps, 8), batch_size=4):
        loss = model(x.to(device)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_tests_that_train_are_trainings(tmp_path: Path, workers: tuple[str, ...]) -> None:
    write(tmp_path, FITS, "training.py")
    tests = "".join(f"def test_{n}():\n    fit({n})\n\n" for n in (6, 5, 3, 2))
    write(tmp_path, f"from training import fit\n\n{tests}", "test_it.py")
    write(tmp_path, "[tool.torchlint.budget]\nsynchronizations = 2\nuploads = 1\n", "pyproject.toml")
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
    done = warm_run(tmp_path, *command, *workers, "--torchlint-confirm")
    assert done.returncode == 0, done.stdout
    assert "16 optimizer steps in 4 trainings" in done.stdout
    assert "TL301 sync-in-hot-loop: 1 a step" in done.stdout


@pytest.mark.slow
def test_a_report_tells_training_from_evaluation(tmp_path: Path) -> None:
    source = """
        import torch

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = torch.nn.Linear(8, 2).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        @torch.no_grad()
        def estimate(losses=0.0):
            for batch in range(6):
                losses += model(torch.ones(4, 8).to(device)).mean().item()
            return losses

        for step in range(10):
            if step % 5 == 0:
                estimate()
            loss = model(torch.ones(4, 8, device=device)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    write(tmp_path, source)
    write(tmp_path, "synchronizations = 0\nuploads = 0\n", "budget.toml")
    document = confirmed(tmp_path, "--budget", "budget.toml", "--fail-on", "never", "--", "program.py")
    assert document["status"] == 0, document["stderr"]
    run = document["run"]
    assert (run["steps"], run["unit"], run["phases"]["evaluation"]["count"]) == (10, "optimizer step", 12)
    assert document["totals"]["synchronizations"] == 0
    assert document["evaluation"]["synchronizations"] == pytest.approx(2, abs=0.1)
    verdicts = [finding["verdict"] for finding in document["findings"] if finding["line"] == 10]
    assert verdicts
    assert {verdict["phase"] for verdict in verdicts} == {"evaluation"}
    assert all(verdict["per_step"] == pytest.approx(1, abs=0.1) for verdict in verdicts)


@pytest.mark.slow
def test_a_report_says_what_a_step_is_without_an_optimizer(tmp_path: Path) -> None:
    source = """
        import torch

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = torch.nn.Linear(8, 2).to(device)
        with torch.no_grad():
            for _ in range(6):
                print(model(torch.ones(4, 8, device=device)).sum().item())
        """
    write(tmp_path, source)
    done = warm_run(tmp_path, "-m", "torchlint", "confirm", "--isolated", "--on", "sim", "--", "program.py")
    assert "6 forward passes, each taken as a step, since nothing was trained" in done.stderr


WORKERS = """
import torch
from torch.utils.data import DataLoader, Dataset

class Halves(torch.nn.Module):
    def forward(self, x):
        return x / 2

class Images(Dataset):
    def __init__(self):
        self.transform = Halves()

    def __len__(self):
        return 40

    def __getitem__(self, index):
        with torch.no_grad():
            return self.transform(torch.full((8,), float(index)))

model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in DataLoader(Images(), batch_size=4, num_workers=1):
    model(x).sum().backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_transforms_in_workers_of_loaders_are_no_steps(tmp_path: Path) -> None:
    write(tmp_path, WORKERS)
    run = confirmed(tmp_path, "--steps", "6", "program.py", on="cpu")["run"]
    assert (run["steps"], run["phases"]["evaluation"]["count"]) == (6, 0)
