"""How often what a program does happens, and in which phase: solved on the graph of the frames that were followed.

A training step is the innermost loop through which ``backward`` is reached, or the loop over a loader around it,
through any number of calls; loops around are epochs. A loop that takes a batch by ``next`` counts as one over a loader.
A loop over a loader, or a loop that calls a model, that does not reach ``backward`` is a step of an evaluation or of
inference. In the forward pass of a module a loop is part of the step, unless it decodes or samples.
"""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from torchlint.engine.frames import CHOICE, TRAINING, Call, Frame, Region, callees

_GOING_BACK = ("backward", "step")
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


class Phase(Enum):
    """What a step is part of."""

    TRAINING = "training"
    INFERENCE = "inference"  # an evaluation, or the work of a program that does not train
    NONE = "none"


class Often(NamedTuple):
    """How often something happens: the phase whose steps it is part of, and what makes it rarer than them.

    ``evaluates``: the branch of a loop that also trains in which it only evaluates.
    """

    phase: Phase = Phase.NONE
    in_loop: bool = False  # around steps, such as once per epoch
    rare: bool = False
    option: str | None = None
    assumed: bool = False
    evaluates: bool = False
    hot: bool = False  # in a step that the configuration declares

    def beside(self, aside: bool) -> Often:
        """The state of a branch, if it is one that evaluates beside the training."""
        return self._replace(phase=Phase.INFERENCE, evaluates=True) if aside and self.phase is Phase.TRAINING else self

    @property
    def rank(self) -> tuple[bool, bool, int, bool, bool, bool, bool]:
        """Larger for what happens more often; what programs do counts more than what is assumed."""
        order = (Phase.NONE, Phase.INFERENCE, Phase.TRAINING)
        at, real = order.index(self.phase), not self.assumed
        return at > 0, real and at > 0, at, not self.rare, self.option is None, self.hot, self.in_loop


class Frequency:
    """Solves the frequency of every frame."""

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.frames = list(dict.fromkeys(frames))
        self._callers: dict[Frame, list[tuple[Frame, Region]]] = defaultdict(list)
        for frame in self.frames:
            for call in frame.calls:
                self._callers[call.callee].append((frame, call.region))
        self.exposed: set[Frame] = set()  # that go backward outside of their own loops
        self._computing: set[Frame] = set()  # that call a model outside of their own loops
        self._streaming: set[Frame] = set()  # generators that call a model in the loops in which they yield
        self._loading: set[Frame] = set()  # with loops over a loader that are steps
        self._states = {frame: Often() for frame in self.frames}
        self._compared: dict[Frame, dict[str, set[object]]] = defaultdict(dict)  # by guards that train
        self._training: set[str] = set()  # options without which nothing goes backward
        self.reached_by: dict[Frame, tuple[Frame, Region, int]] = {}
        self.is_library = False  # no program trains: what its users train with is in functions
        self._known: dict[Region, tuple[Often, Region | None]] = {}
        self._is_solved = False
        self._mark_backward()
        self._mark_steps()
        self._spread()
        self._is_solved = True

    def callers(self, frame: Frame) -> list[tuple[Frame, Region]]:
        """The frames that call a frame, with the regions in which they do."""
        return self._callers[frame]

    # -- steps -------------------------------------------------------------------------------------

    def closure(self, start: Iterable[Frame], through: Callable[[Region], bool]) -> set[Frame]:
        """Frames, and those that call them in regions that a predicate accepts."""
        found = set(start)
        todo = list(found)
        while todo:
            for caller, region in self._callers[todo.pop()]:
                if caller not in found and through(region):
                    found.add(caller)
                    todo.append(caller)
        return found

    def _mark_backward(self) -> None:
        """The regions from which ``backward`` is reached."""
        marked = [(frame, region) for frame in self.frames for kind, region in frame.marks if kind in _GOING_BACK]
        for region in self._reaching(marked):
            region.backward = True
        self._mark_training()
        guards = (region for frame in self.frames for region in frame.regions.values() if region.trains)
        self._training = {r.option for r in guards if r.option is not None and r.kind != CHOICE}
        outside = (frame for frame, region in marked if region.loop() is None)
        self.exposed = self.closure(outside, lambda region: region.loop() is None)
        for region in [region for _, region in marked] + [r for f in self.exposed for _, r in self._callers[f]]:
            _set_directly(region)
        models = (f for f in self.frames for kind, region in f.marks if kind == "model" and region.loop() is None)
        self._computing = self.closure(models, lambda region: region.loop() is None)
        streams = [f for f in self.frames if any(_yields(r) and self.infers(f, r) for r in f.regions.values())]
        self._streaming = self.closure(streams, lambda region: (loop := region.loop()) is not None and _yields(loop))

    def _reaching(self, marked: list[tuple[Frame, Region]]) -> Iterator[Region]:
        """The regions around marked ones, and those around calls through which these are reached."""
        regions = [region for _, region in marked]
        for frame in self.closure((frame for frame, _ in marked), anywhere):
            regions += [region for _, region in self._callers[frame]]
        for region in regions:
            yield from region.around()

    def _mark_training(self) -> None:
        """The guards within which something goes backward, as opposed to those of an evaluation in the same loop."""
        marked = [(frame, region) for frame in self.frames for kind, region in frame.marks if kind == "backward"]
        for region in self._reaching(marked):
            region.trains = True
        for frame in self.frames:
            for region in frame.regions.values():
                if region.trains and region.equals is not None:
                    what, constant = region.equals
                    self._compared[frame].setdefault(what, set()).add(constant)

    def _evaluates(self, frame: Frame, guard: Region) -> bool:
        """Whether this is the branch of a loop that does not train, beside one that does."""
        if guard.trains:
            return False
        if guard.equals == (TRAINING, False):
            return True
        if guard.equals is not None:
            what, constant = guard.equals
            return constant not in self._compared[frame].get(what, {constant})
        others = (frame.regions.get((guard.up, guard.node, "guard", tag)) for tag in (0, 1))
        return any(other is not None and other.trains for other in others)

    def _mark_steps(self) -> None:
        for frame in self.frames:
            spots = [region for kind, region in frame.marks if kind in _GOING_BACK]
            spots += [call.region for call in frame.calls if call.callee in self.exposed]
            for region in spots:
                loop = region.loop()
                if loop is not None:
                    loop.is_step = True
            for region in frame.regions.values():
                if region.kind == "loop" and region.over_batches and region.backward:
                    region.is_step = True
        self._mark_fetching()
        loading = [f for f in self.frames if any(r.over_batches and r.is_step for r in f.regions.values())]
        for frame in loading:
            for region in frame.regions.values():
                if region.over_batches and region.is_step:
                    _are_epochs(region.up)
        self._loading = self.closure(loading, _is_usual)
        for frame in self._loading:
            for _, region in self._callers[frame]:
                if _is_usual(region):
                    _are_epochs(region)

    def _mark_fetching(self) -> None:
        """Loops that go backward and take a batch by ``next`` are steps, unless what they repeat takes batches too."""
        marked = [(frame, region) for frame in self.frames for kind, region in frame.marks if kind == "fetch"]
        outside = self.closure((f for f, region in marked if region.loop() is None), lambda r: r.loop() is None)
        marked += [caller for frame in outside for caller in self._callers[frame]]
        fetching = {loop for _, region in marked if (loop := _always_in(region)) is not None and loop.backward}
        inner = [(f, r) for f in self.frames for r in f.regions.values() if r in fetching or _is_loading(r)]
        around = {r for _, loop in inner for r in loop.up.around()}  # type: ignore[union-attr]
        for frame in self.closure((frame for frame, _ in inner), anywhere):
            around.update(r for _, region in self._callers[frame] for r in region.around())
        for loop in fetching - around:
            loop.is_step = True

    def infers(self, frame: Frame, region: Region) -> bool:
        """Whether a loop without ``backward`` is a step: over a loader, or around calls of a model."""
        return region.over_batches or self.computes(frame, region)

    def computes(self, frame: Frame, region: Region) -> bool:
        """Whether a loop calls a model."""
        models = any(kind == "model" and place.loop() is region for kind, place in frame.marks)
        calls = (call for call in frame.calls if call.region.loop() is region)
        return models or any(call.callee in self._computing or self._streams(call) for call in calls)

    def _streams(self, call: Call) -> bool:
        """Whether this consumes a generator that computes what it yields, one round of the loop after the other."""
        return call.kind == "generator" and call.callee in self._streaming

    # -- frequency ---------------------------------------------------------------------------------

    def of(self, frame: Frame, region: Region) -> Often:
        """How often a region of a frame runs."""
        return self._solved_region(frame, region)[0]

    def step(self, frame: Frame, region: Region) -> Region | None:
        """The loop of the frame whose iterations are the steps that a region is part of."""
        return self._solved_region(frame, region)[1]

    def is_step(self, frame: Frame, loop: Region) -> bool:
        """Whether each iteration of a loop is a step."""
        return self.step(frame, loop) is loop

    def _solved_region(self, frame: Frame, region: Region) -> tuple[Often, Region | None]:
        """What :meth:`_in_region` gives; kept once the states of all frames are known."""
        found = self._known.get(region)
        if found is None:
            found = self._in_region(frame, region)
            if self._is_solved:
                self._known[region] = found
        return found

    def _in_region(self, frame: Frame, region: Region) -> tuple[Often, Region | None]:
        """The state of a region, and the loop that is its step if that is in the frame."""
        rare, option, aside, base = False, None, False, self._states[frame]
        for around in region.around():
            if around.kind == "guard" and not _belongs_to_training(around):
                trains = base.phase is Phase.INFERENCE and around.equals == (TRAINING, True)
                rare = rare or around.rare or trains or _is_skipped(around)
                option = option or (around.option if around.option not in self._training else None)
                aside = aside or self._evaluates(frame, around)
            elif around.kind == CHOICE:
                option = option or (around.option if around.option not in self._training else None)
            elif around.kind == "loop":
                phase = self._phase(frame, around, base)
                if phase is not Phase.NONE:
                    within = base.option if base.phase is Phase.TRAINING else None  # of a step around this one
                    return Often(phase, True, rare, option or within, base.assumed).beside(aside), around
        in_loop = base.in_loop or any(around.kind == "loop" for around in region.around())
        found = Often(
            base.phase, in_loop, rare or base.rare, option or base.option, base.assumed, base.evaluates, base.hot
        )
        return found.beside(aside), None

    def _phase(self, frame: Frame, loop: Region, base: Often) -> Phase:
        """The phase of a loop that is a step."""
        if loop.is_step:
            return Phase.TRAINING
        around = list(loop.up.around()) if loop.up is not None else []
        trained = base.in_loop or any(region.kind == "loop" and region.backward for region in around)
        if loop.acts and trained:
            return Phase.TRAINING  # a rollout
        if (base.phase is Phase.TRAINING and not base.rare) or base.hot or loop.backward:
            return Phase.NONE
        if not loop.over_batches and any(region.is_step for region in around):
            return Phase.NONE  # part of a step of training
        if frame.in_model and base.phase is Phase.INFERENCE and not (loop.over_batches or loop.carries):
            return Phase.NONE  # layers are part of a step
        fetches = any(kind == "fetch" and place.loop() is loop for kind, place in frame.marks)
        return Phase.INFERENCE if fetches or self.infers(frame, loop) else Phase.NONE

    def _spread(self) -> None:
        """From callers to callees, until nothing happens more often."""
        todo = deque(self.frames)
        known = callees(frame for frame in self.frames if not frame.guessed and not self._callers[frame])
        self._states.update({frame: Often(assumed=True) for frame in self.frames if frame not in known})
        real = callees(frame for frame in self.frames if not (self._callers[frame] or frame.guessed or frame.assumed))
        self.is_library = not any(region.is_step for frame in real for region in frame.regions.values())
        for frame in self.frames:
            if frame.assumed:
                self._states[frame] = self._assumed(frame)
            elif frame.hot:
                self._states[frame] = Often(Phase.TRAINING if frame in self.exposed else Phase.INFERENCE, hot=True)
        while todo:
            frame = todo.popleft()
            for call, line in frame.calls.items():
                loop = call.region.loop() if self._streams(call) else None  # of which the generator is all rounds
                region = loop.up if loop is not None and loop.up is not None else call.region
                state = self.of(frame, region)
                if state.rank > self._states[call.callee].rank:
                    self._states[call.callee] = state
                    self.reached_by[call.callee] = frame, region, line
                    todo.append(call.callee)

    def _assumed(self, frame: Frame) -> Often:
        return Often(Phase(frame.assumes_step), assumed=True)


def _set_directly(region: Region) -> None:
    for around in region.around():
        if around.kind == "loop":
            return
        around.directly = True


def _always_in(region: Region) -> Region | None:
    """The innermost loop around a region that gets there in each iteration."""
    for around in region.around():
        if around.kind == "loop" or around.rare or around.option is not None:
            return around if around.kind == "loop" else None
    return None


def _is_loading(region: Region) -> bool:
    """Whether a loop over a loader makes steps of training."""
    return region.over_batches and region.is_step


def _belongs_to_training(guard: Region) -> bool:
    """Whether a guard decides whether a step goes backward, or whether there are such steps at all.

    What has steps of its own inside of a step of training is something else, such as the refinement of a result.
    """
    steps = (around.kind == "loop" and around.is_step for around in guard.around())
    return guard.directly or (guard.backward and not any(steps))


def _is_skipped(guard: Region) -> bool:
    """Whether this is what follows ``if count < limit: continue`` in a step that has gone backward before."""
    loop, node = guard.loop(), guard.node
    if guard.tag != "after" or guard.backward or loop is None or not (loop.is_step and loop.backward):
        return False
    if not isinstance(node, ast.If) or not isinstance(node.body[-1], ast.Continue):
        return False
    return any(isinstance(each, _ORDERED) for each in ast.walk(node.test))


def _is_usual(region: Region) -> bool:
    """Whether a normal run gets there: no option that is off guards it."""
    return all(around.option is None for around in region.around())


def _are_epochs(region: Region | None) -> None:
    """Loops around a loop over a loader are no steps."""
    for around in region.around() if region is not None else ():
        if around.kind == "loop" and (around.named or not around.over_batches):
            around.is_step = False


def _yields(loop: Region) -> bool:
    return loop.kind == "loop" and loop.yields


def anywhere(_: Region) -> bool:
    """Any region, as a predicate."""
    return True


def inside(region: Region, loop: Region) -> bool:
    """Whether a region is in a loop."""
    return any(around is loop for around in region.around())
