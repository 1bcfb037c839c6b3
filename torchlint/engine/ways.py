"""The ways from steps to what happens in them: which loop makes the steps, and through which calls and loops."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.engine.frequency import anywhere, inside

if TYPE_CHECKING:
    import ast

    from torchlint.engine.frames import Frame, Region
    from torchlint.engine.frequency import Frequency


class Ways:
    """Answers about regions of frames, once their frequency is known."""

    def __init__(self, frequency: Frequency) -> None:
        self.frequency = frequency

    def way(self, frame: Frame, region: Region) -> list[tuple[str, int, str]]:
        """The loop that is the step, and the calls from there: path, line, and the name of the function."""
        found: list[tuple[str, int, str]] = []
        for here, _, loop in self._outwards(frame, region):
            if loop is not None:
                found.append((*_place(here, getattr(loop.node, "lineno", 0)), "step"))
            elif here in self.frequency.reached_by:
                caller, _, line = self.frequency.reached_by[here]
                if not caller.assumed and not here.module.library:
                    found.append((*_place(caller, line), caller.hot or here.name))
        return found[::-1]

    def is_within(self, frame: Frame, region: Region, functions: Collection[ast.AST]) -> bool:
        """Whether all that leads from the step to a region is in these functions, and in bodies of modules."""
        frames = (here for here, *_ in self._outwards(frame, region))
        return all(here.function is None or here.function.node in functions for here in frames)

    def feeds_backward(self, frame: Frame, region: Region) -> bool:
        """Whether a function on the way from the step goes backward outside of its loops, or uses gradients."""
        return any(
            here in self.frequency.exposed or here in self._differentiating
            for here, *_ in self._outwards(frame, region)
        )

    @cached_property
    def _differentiating(self) -> set[Frame]:
        """Frames that compute gradients without training."""
        return self._leading_to("grad")

    def is_beside_training(self, frame: Frame) -> bool:
        """Whether a program that calls a function trains, too."""
        seen: set[Frame] = set()
        while frame not in seen:
            seen.add(frame)
            frame, *_ = self.frequency.reached_by.get(frame, (frame,))
        return not seen.isdisjoint(self._training)

    @cached_property
    def _training(self) -> set[Frame]:
        """Frames that get to ``backward``."""
        return self._leading_to("backward")

    def _leading_to(self, mark: str) -> set[Frame]:
        """Frames with a mark, and those that call them."""
        marked = (f for f in self.frequency.frames if any(kind == mark for kind, _ in f.marks))
        return self.frequency.closure(marked, anywhere)

    def samples(self, frame: Frame, region: Region) -> bool:
        """Whether the step decodes or samples: each makes the tensor of the next one."""
        step = self.step_of(frame, region)
        return step is not None and _samples(step)

    def decodes(self, frame: Frame, region: Region) -> bool:
        """Whether a function on the way from the step, or the step itself, decodes or samples a whole sequence."""
        *inner, (here, _, step) = self._outwards(frame, region)
        loops = self._loops_inside(frame, region)
        if step is None or step.over_batches or any(self.frequency.infers(*each) for each in loops):
            return False  # a loop that calls the model is what decodes
        if any(called in self._sampling for called, *_ in inner):
            return True
        others = (other for other in here.regions.values() if other is not step and _samples(other))
        calls = (call.region for call in here.calls if call.callee in self._sampling)
        marked = (place for kind, place in here.marks if kind == "decode")
        return any(inside(place, step) for place in (*others, *calls, *marked))

    @cached_property
    def _sampling(self) -> set[Frame]:
        """Frames that decode or sample a whole sequence."""
        solved = self.frequency
        loops = (f for f in solved.frames if any(_samples(r) and solved.is_step(f, r) for r in f.regions.values()))
        return solved.closure(loops, anywhere) | self._leading_to("decode")

    def computes(self, frame: Frame, region: Region) -> bool:
        """Whether a model is called in the loop that makes the steps in which a region runs."""
        steps = ((here, loop) for here, _, loop in self._outwards(frame, region) if loop is not None)
        return any(self.frequency.computes(*step) for step in steps)

    def step_of(self, frame: Frame, region: Region) -> Region | None:
        """The loop that makes the steps in which a region of a frame runs."""
        return next((loop for *_, loop in self._outwards(frame, region) if loop is not None), None)

    def loops(self, frame: Frame, region: Region) -> list[ast.AST]:
        """The loops around a region inside of the step, outermost first."""
        loops = self._loops_inside(frame, region)
        return [loop.node for here, loop in loops if loop.node is not None and not here.module.library][::-1]

    def _loops_inside(self, frame: Frame, region: Region) -> Iterator[tuple[Frame, Region]]:
        for here, inner, step in self._outwards(frame, region):
            for around in inner.around():
                if around is step:
                    break
                if around.kind == "loop":
                    yield here, around

    def _outwards(self, frame: Frame, region: Region) -> Iterator[tuple[Frame, Region, Region | None]]:
        """A region, and those that its frame is called from, as far as the loop that is the step."""
        seen: set[Frame] = set()
        while frame not in seen:
            seen.add(frame)
            loop = self.frequency.step(frame, region)
            yield frame, region, loop
            if loop is not None or frame not in self.frequency.reached_by:
                return
            frame, region, _ = self.frequency.reached_by[frame]


def _place(frame: Frame, line: int) -> tuple[str, int]:
    """The path and a line of a frame; for one of a stub, where the project calls the library."""
    return frame.entry if frame.entry is not None else (frame.module.path, line)


def _samples(loop: Region) -> bool:
    """Whether a loop decodes or samples, if it is a step."""
    return loop.carries and not loop.over_batches
