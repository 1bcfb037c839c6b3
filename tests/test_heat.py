"""Heat: how often a line runs."""

from __future__ import annotations

import pytest

from tests.analysis_help import find, parse
from torchlint.model import Heat

HEADER = """import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader
from tqdm import tqdm
loader = DataLoader(ds)
"""
LOOP = "for i, x in enumerate(loader):\n"
SELDOM = f"{LOOP}    if i % 9 == 0:\n        "
METHOD = " def training_step(self, b, i):\n"
SELDOM_METHOD = f"{METHOD}  if i % 9 == 0:\n   "
STEP_METHOD = f"class M:\n{METHOD}"
CHOICE = "def f(log=False):\n    if log:\n        target()\n"


def heat(code: str) -> Heat:
    module = parse(HEADER + code)
    return module.heat(find(module, "target()"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("target()", Heat.ONCE),
        ("for epoch in range(9):\n    for x in loader:\n        pass\n    target()", Heat.EPOCH),
        ("for x in loader:\n    if i % 100 == 0:\n        target()", Heat.EPOCH),
        ("for x in loader:\n    try:\n        f()\n    except E:\n        target()", Heat.EPOCH),
        ("for x in loader:\n    target()", Heat.STEP),
        ("for i, x in enumerate(tqdm(loader)):\n    target()", Heat.STEP),
        ("def train(train_loader):\n    for x in train_loader:\n        target()", Heat.STEP),
        ("for step in range(100):\n    loss.backward()\n    target()", Heat.STEP),
        ("for x in loader:\n    for p in model.parameters():\n        target()", Heat.ELEMENT),
        ("for x in loader:\n    y = [target() for p in x]", Heat.ELEMENT),
        ("class D:\n    def __getitem__(self, i):\n        target()", Heat.STEP),
        ("def helper():\n    target()\nfor x in loader:\n    helper()", Heat.STEP),
        ("def helper():\n    target()\nhelper()", Heat.ONCE),
        # loops over batches, however they are spelled
        ("from itertools import islice\nfor x in islice(loader, 9):\n    target()", Heat.STEP),
        ("for x, w in zip(loader, weights):\n    target()", Heat.STEP),
        ("bar = tqdm(enumerate(loader))\nfor i, x in bar:\n    target()", Heat.STEP),
        ("for x in log.log_every(train_loader, 10):\n    target()", Heat.STEP),
        ("it = iter(loader)\nwhile True:\n    x = next(it)\n    target()", Heat.STEP),
        ("batches = iter(loader)\nfor i in range(9):\n    x = next(batches)\n    target()", Heat.STEP),
        ("def f(loaders):\n    for x in loaders['train']:\n        target()", Heat.STEP),
        ("for x in names:\n    target()", Heat.EPOCH),
        # loops that run once
        ("for x in loader:\n    target()\n    break", Heat.ONCE),
        ("def f():\n    for x in loader:\n        target()\n        return x", Heat.ONCE),
        ("for x in loader:\n    if c:\n        raise E\n    else:\n        target()\n        break", Heat.ONCE),
        ("for i in n:\n    for x in loader:\n        target()\n        break", Heat.STEP),
        ("for i in n:\n    for x in loader:\n        break\n    target()", Heat.STEP),
        ("for x in loader:\n    if c:\n        continue\n    target()\n    break", Heat.STEP),
        ("for x in loader:\n    target()\n    for y in x:\n        break", Heat.STEP),
        # steps
        ("for i in n:\n    accelerator.backward(loss)\n    target()", Heat.STEP),
        ("sgd = torch.optim.SGD(p, 0.1)\nfor i in n:\n    sgd.step()\n    target()", Heat.STEP),
        ("for i in n:\n    scheduler.step()\n    target()", Heat.EPOCH),
        ("def step():\n    loss.backward()\nfor i in n:\n    step()\n    target()", Heat.STEP),
        ("def train():\n    for x in loader:\n        pass\nfor epoch in n:\n    train()\n    target()", Heat.EPOCH),
        ("def update(x):\n    loss.backward()\n    optimizer.step()\n    target()\nupdate(1)", Heat.ONCE),
        ("class M:\n    def training_step(self, b):\n        target()", Heat.STEP),
        ("def test_backward():\n    loss.backward()\n    target()", Heat.ONCE),
        ("for epoch in n:\n    loss.backward()\n    target()", Heat.STEP),
        # throttling guards
        ("for i, x in enumerate(loader):\n    if not i % 9:\n        target()", Heat.EPOCH),
        ("for i, x in enumerate(loader):\n    if i % 9:\n        target()", Heat.STEP),
        ("for i, x in enumerate(loader):\n    if i % 9 != 0:\n        continue\n    target()", Heat.EPOCH),
        ("for i, x in enumerate(loader):\n    if i % 9 != 0:\n        pass\n    else:\n        target()", Heat.EPOCH),
        ("for i, x in enumerate(loader):\n    if rank == 0 and i % 9 == 0:\n        target()", Heat.EPOCH),
        ("for i, x in enumerate(loader):\n    if rank == 0:\n        target()", Heat.STEP),
        ("for i, x in enumerate(loader):\n    if i % 9 == 0 or fast:\n        target()", Heat.STEP),
        ("for i, x in enumerate(loader):\n    if i % 9 == 0 or i == 5:\n        target()", Heat.EPOCH),
        ("for i, x in enumerate(loader):\n    now = i % 9 == 0\n    if now:\n        target()", Heat.EPOCH),
        ("for i, x in enumerate(loader):\n    y = target() if i % 9 == 0 else None", Heat.EPOCH),
        ("for i, x in enumerate(loader):\n    i % 9 == 0 and target()", Heat.EPOCH),
        ("for step, x in enumerate(loader):\n    if step == 0:\n        target()", Heat.EPOCH),
        ("for x in loader:\n    if phase == 'train':\n        target()", Heat.STEP),
        ("for x in loader:\n    if args.verbose:\n        target()", Heat.EPOCH),
        ("for x in loader:\n    if self.should_log(step):\n        target()", Heat.EPOCH),
        ("import time\nfor x in loader:\n    if time.time() - t > 9:\n        target()", Heat.EPOCH),
        (
            "from math import inf\nfor x in loader:\n    if n == inf:\n        pass\n    else:\n        target()",
            Heat.STEP,
        ),
        ("for x in loader:\n    if norm_type != float('inf'):\n        target()", Heat.STEP),
        ("for x in loader:\n    if not torch.isfinite(x):\n        target()", Heat.EPOCH),
        ("for x in loader:\n    if '%d' % n == '3':\n        target()", Heat.STEP),
        (f"{STEP_METHOD}  if i % 9 == 0:\n   for p in ps:\n    target()", Heat.EPOCH),
        (f"{STEP_METHOD}  if i % 9:\n   return\n  y = [target() for p in ps]", Heat.EPOCH),
        (f"{STEP_METHOD}  if i % 9:\n   for p in ps:\n    target()", Heat.ELEMENT),
        (f"{CHOICE}{LOOP}    f(i % 9 == 0)", Heat.EPOCH),
        (f"{CHOICE}{LOOP}    f(log=i % 9 == 0)\n    f()", Heat.EPOCH),
        (f"{CHOICE}{LOOP}    f(i % 9 == 0)\n    f(log=True)", Heat.STEP),
        (f"{CHOICE}{LOOP}    f(*args)", Heat.STEP),
        (f"def f(log):\n    log = log or i % 9 == 0\n    if log:\n        target()\n{LOOP}    f(b)", Heat.STEP),
        ("class C(nn.Module):\n  def forward(self, x, log=False):\n    if log:\n      target()", Heat.STEP),
    ],
)
def test_heat_follows_loops_guards_and_calls(code: str, expected: Heat) -> None:
    assert heat(code) is expected


CLASS = "class T(nn.Module):\n def __init__(self):\n  self.x = None\n  self.c = {}\n def forward(self, b):\n"
STEP = "class Adam(Optimizer):\n def step(self):\n  for group in self.param_groups:\n"


@pytest.mark.parametrize(
    "code",
    [
        f"{CLASS}  if self.x is None:\n   self.x = target()",
        f"{CLASS}  if None is not self.x and self.y:\n   pass\n  if self.x is None:\n   self.x = target()",
        f"{CLASS}  if self.x is not None:\n   return self.x\n  self.x = target()",
        f"{CLASS}  if self.x is None:\n   self.build(b)\n def build(self, b):\n  self.x = target()",
        f"{CLASS}  if 'n' not in self.c:\n   self.c['n'] = target()",
        f"{CLASS}  if 'n' not in self.c[self.kind]:\n   self.c[self.kind]['n'] = target()",
        f"{CLASS}  if 'n' in self.c:\n   return self.c['n']\n  self.c['n'] = target()",
        f"{CLASS}  key = (b.dtype, b.device)\n  if key not in self.c:\n   self.c[key] = target()",
        f"{CLASS}  if not hasattr(self, 'm'):\n   self.m = target()",
        f"{CLASS}  if not hasattr(self, 'm'):\n   self.register_buffer('m', target())",
        f"{CLASS}  if getattr(self, 'm', None) is None:\n   self.m = target()",
        f"{CLASS}  if not self.ready:\n   target()\n   self.ready = True",
        f"{CLASS}  if self.first:\n   self.first = False\n   target()",
        f"{CLASS}  if len(self.c) == 0:\n   self.c['n'] = target()",
        f"{CLASS}  if b.shape[1] > self.longest:\n   self.longest = b.shape[1]\n   target()",
        f"{CLASS}  n = b.size(1)\n  if n > self.x:\n   self.build(n)\n def build(self, n):\n  self.x = n\n  target()",
        "x = None\ndef collate(b):\n global x\n if x is None:\n  x = target()\n return x",
        "cache = {}\ndef collate(b):\n    if b.dtype not in cache:\n        cache[b.dtype] = target()",
        f"{STEP}   for p in group['params']:\n    state = self.state[p]\n    if not state:\n     state['a'] = target()",
        f"{STEP}   s = self.state[0]\n   if len(s) == 0:\n    self.new(s)\n def new(self, s):\n  s['a'] = target()",
        "seen = set()\nfor x in loader:\n    if x.dtype not in seen:\n        seen.add(x.dtype)\n        target()",
        "mean = None\nfor x in loader:\n if mean is None:\n  mean = target()\n else:\n  mean = 0.9 * mean",
        "first = True\nfor x in loader:\n    if first:\n        target()\n        first = False",
    ],
)
def test_what_fills_a_cache_or_the_state_of_an_optimizer_runs_once(code: str) -> None:
    assert heat(code) in (Heat.ONCE, Heat.EPOCH)


@pytest.mark.parametrize(
    "code",
    [
        f"{CLASS}  if self.x is None:\n   y = target()",
        f"{CLASS}  if b.x is None:\n   b.x = target()",
        f"{CLASS}  if 'n' not in b:\n   b['n'] = target()",
        f"{CLASS}  if 'n' not in self.c:\n   self.d['n'] = target()",
        f"{CLASS}  if not hasattr(b, 'm'):\n   b.m = target()",
        f"{CLASS}  if b.shape[1] > self.longest:\n   target()",
        f"{CLASS}  if len(b) > self.x:\n   self.g(b)\n  self.g(0)\n def g(self, b):\n  self.x = 0\n  target()",
        f"{CLASS}  if b.shape[1] < self.x:\n   self.x = b.shape[1]\n  else:\n   target()",
        f"{CLASS}  n = len(b)\n  longest = 0\n  if n > longest:\n   longest = n\n   target()",
        "x = None\ndef make():\n x = target()\ndef collate(b):\n if x is None:\n  make()\n  target()",
        f"{CLASS}  out = {{}}\n  if 'n' not in out:\n   out['n'] = target()",
        "for i, x in enumerate(loader):\n    seen = {}\n    if i not in seen:\n        seen[i] = target()",
        "seen = {}\nfor number, x in enumerate(loader):\n    if number not in seen:\n        seen[number] = target()",
        "for x in loader:\n    if 'n' not in x:\n        x['n'] = target()",
        "for x in loader:\n    mean = None\n    if mean is None:\n        mean = target()",
        "mean = None\nfor x in loader:\n    mean = f(x)\n    if mean is None:\n        mean = target()",
        "class L(Loss):\n    def forward(self, x, mask=None):\n        if mask is None:\n            mask = target()",
    ],
)
def test_what_only_looks_like_a_cache_runs_in_every_step(code: str) -> None:
    assert heat(code).rank >= Heat.STEP.rank


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("for x in loader:\n    target()\n    loss.backward()", True),
        ("with torch.no_grad():\n    for x in loader:\n        target()", False),
        ("@torch.no_grad()\ndef f():\n    for x in loader:\n        target()", False),
        ("for x in loader:\n    with torch.inference_mode():\n        target()", False),
        ("def evaluate():\n    for x in loader:\n        target()", False),
        ("def validate():\n    for x in loader:\n        target()\n        loss.backward()", True),
        ("for epoch in n:\n    target()", False),
    ],
)
def test_a_step_that_only_evaluates_is_told_from_one_that_trains(code: str, expected: bool) -> None:
    module = parse(HEADER + code)
    assert module.every_step(find(module, "target()")) is expected
