"""Generates programs: from Python's grammar with Hypothesmith, and from a small grammar of PyTorch programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

_NAMES = "x y z self model loader batch device torch np nn F data loss step optimizer i f cls".split()
_ATTRIBUTES = (
    "cuda cpu to item numpy float mean detach device shape T data grad backward step zero_grad no_grad zeros ones "
    "tensor as_tensor from_numpy arange eye stack cat array load utils DataLoader backends cudnn benchmark "
    "deterministic enabled flags "
    "manual_seed use_deterministic_algorithms pin_memory is_available nn Linear Conv2d x y append train eval"
).split()
_VALUES = "None True False ... 0 1 -1 1e9 3j 'cuda' 'cpu' 'cuda:0' b'' '' f'{x}' [] {} () [0]*4".split()
_HEAD = "import torch, numpy as np\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n"


def programs(seed: int, *, lawful: bool = True) -> Iterator[bytes]:
    """Endless programs, mostly from the small grammar, in which rules find something."""
    random = Random(seed)
    drawn = _hypothesmith(random) if lawful else None
    while True:
        if drawn is not None and random.random() < 0.2:
            yield (_HEAD + drawn()).encode("utf-8", "surrogatepass")
        yield (_HEAD + _block(random, 0)).encode()


def _hypothesmith(random: Random) -> Callable[[], str] | None:
    """A generator of programs from Python's grammar; None if Hypothesmith is not installed."""
    try:
        import hypothesmith
    except ImportError:
        return None
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    waiting: list[str] = []

    def draw() -> str:
        if not waiting:

            @seeded(random.getrandbits(32))
            @settings(
                max_examples=50,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(hypothesmith.from_grammar() | hypothesmith.from_node())
            def collect(text: str) -> None:
                waiting.append(text)

            collect()
        return waiting.pop()

    return draw


def _block(random: Random, depth: int) -> str:
    lines = [_statement(random, depth) for _ in range(random.randint(1, 6 if depth < 2 else 2))]
    return "".join("    " * depth + line + "\n" for line in lines)


def _statement(random: Random, depth: int) -> str:
    if depth < 5 and random.random() < 0.35:
        head = random.choice(_COMPOUND)(random)
        return head + "\n" + _block(random, depth + 1).rstrip("\n")
    return random.choice(_SIMPLE)(random)


def _expression(random: Random, depth: int = 0) -> str:
    if depth > 3 or random.random() < 0.2:
        return random.choice(_NAMES if random.random() < 0.7 else _VALUES)

    def inner() -> str:
        return _expression(random, depth + 1)

    form = random.choice(_FORMS)
    return form(random, inner)


_FORMS: tuple[Callable[[Random, Callable[[], str]], str], ...] = (
    *[lambda r, e: f"{e()}.{r.choice(_ATTRIBUTES)}"] * 5,
    *[lambda r, e: f"{e()}.{r.choice(_ATTRIBUTES)}({e()})"] * 5,
    *[lambda r, e: f"torch.{r.choice(_ATTRIBUTES)}({e()}, {r.choice(('device', 'dtype', 'non_blocking'))}={e()})"] * 4,
    lambda _, e: f"{e()}({e()}, *{e()}, **{e()})",
    lambda _, e: f"{e()}[{e()}:{e()}, {e()}]",
    lambda r, e: f"({e()} {r.choice(('+', '@', '//', 'and', 'or', 'is not', 'in', '<', '**'))} {e()})",
    lambda _, e: f"({e()} if {e()} else {e()})",
    lambda r, e: f"[{e()} for {r.choice(_NAMES)} in {e()} if {e()}]",
    lambda r, e: f"({e()} async for {r.choice(_NAMES)}, y in {e()})",
    lambda _, e: f"{{{e()}: {e()}, **{e()}}}",
    lambda r, e: f"(lambda {r.choice(_NAMES)}, *, k={e()}: {e()})",
    lambda r, e: f"({r.choice(_NAMES)} := {e()})",
    lambda _, e: f"str({e()})",
    lambda _, e: f"(not {e()}, -{e()}, *{e()})",
)
_SIMPLE: tuple[Callable[[Random], str], ...] = (
    *[lambda r: f"{r.choice(_NAMES)} = {_expression(r)}"] * 5,
    lambda r: f"{_expression(r, 2)}",
    lambda r: f"{r.choice(_NAMES)}, *y = {_expression(r)}",
    lambda r: f"{r.choice(_NAMES)} += {_expression(r)}",
    lambda r: f"{r.choice(_NAMES)}: {_expression(r, 2)} = {_expression(r)}",
    lambda r: f"torch.backends.cudnn.{r.choice(('benchmark', 'deterministic', 'enabled'))} = {_expression(r, 2)}",
    lambda r: f"assert {_expression(r)}, {_expression(r, 2)}",
    lambda r: f"del {r.choice(_NAMES)}",
    lambda r: f"import torch.{r.choice(_ATTRIBUTES)} as {r.choice(_NAMES)}",
    lambda r: f"from torch.{r.choice(_ATTRIBUTES)} import {r.choice(_ATTRIBUTES)} as {r.choice(_NAMES)}",
    lambda r: f"{_expression(r)}  # noqa: TL101, {r.choice(('TL999', 'E501', 'torchlint: ignore[TL2'))}",
    lambda _: "pass",
)
_COMPOUND: tuple[Callable[[Random], str], ...] = (
    *[lambda r: f"for {r.choice(_NAMES)} in {_expression(r)}:"] * 4,
    *[lambda r: f"def {r.choice(_NAMES)}(self, x: torch.Tensor, *a, k={_expression(r, 2)}, **b) -> torch.Tensor:"] * 3,
    lambda r: f"class {r.choice(_NAMES)}({_expression(r, 2)}):",
    lambda r: f"if {_expression(r)}:",
    lambda r: f"while {_expression(r)}:",
    lambda r: f"with {_expression(r)} as {r.choice(_NAMES)}, {_expression(r, 2)}:",
)  # fmt: skip
