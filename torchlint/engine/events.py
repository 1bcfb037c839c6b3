"""The reads, waits and copies of a project, each with the state in which it happens most often."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from torchlint.engine.drained import Drained
from torchlint.engine.frames import Event, Frame, Region
from torchlint.engine.frequency import Frequency, Often, Phase
from torchlint.engine.gradients import quiet_frames
from torchlint.engine.grown import counts_elements, gathers
from torchlint.engine.source import Source, iterated
from torchlint.engine.state import State
from torchlint.engine.values import Origin
from torchlint.engine.ways import Ways
from torchlint.knowledge import forms
from torchlint.program.modules import Module
from torchlint.project.followed import (
    ASSUMED,
    EVALUATION,
    FOREIGN,
    HOT,
    ONCE,
    OWN,
    REQUEST,
    SAME,
    SAMPLING,
    SELDOM,
    UNCALLED,
    FollowedEvent,
    range_of,
)

_FROZEN = re.compile(rb"\.requires_grad(_\(False|\s*=\s*False)")  # a file that says which parameters need gradients


class Occurrence(NamedTuple):
    """What happens at a place, and where in the program it happens most often."""

    event: Event
    state: Often
    frame: Frame
    region: Region

    @property
    def returns_at_once(self) -> bool:
        """Whether it copies to the device what the same expression has read from there."""
        origin = self.event.origin
        reads = self.event.form.kind == forms.COPY and origin is not None and origin.kind == "read"
        inner = ast.walk(self.event.node) if reads and origin is not None and origin.node is not self.event.node else ()
        return any(part is origin.node for part in inner)  # type: ignore[union-attr]

    @property
    def is_action(self) -> bool:
        """Whether the host reads in a loop in which it acts in an environment."""
        loop = self.region.loop()
        return self.event.form is forms.READ_METHOD and loop is not None and loop.acts

    @property
    def hands_on(self) -> bool:
        """Whether a loop gets each step from a generator, and hands on what it has made of it, such as its text."""
        loop = self.region.loop()
        calls = self.frame.calls if loop is not None and loop.yields else ()
        return any(call.kind == "generator" and call.region is loop for call in calls)

    def origin(self, frequency: Frequency, state: State) -> str:
        """What is copied, as :class:`~torchlint.project.followed.FollowedEvent` names it."""
        origin = self.event.origin
        if origin is not None and self._is_same(origin, frequency, state):
            return SAME
        if self.event.form in forms.ANYWHERE and origin is not None:
            return origin.kind
        if origin is not None and origin.kind == "batch" and origin.pins is not None:
            return "pinned" if origin.pins else "pageable"
        if origin is None or origin.kind not in (*OWN, "read"):
            return origin.kind if origin is not None else ""
        if origin.node in state.involved:
            return FOREIGN if origin.node in state.foreign else ""
        in_step = frequency.of(origin.frame, origin.region).phase is not Phase.NONE
        return origin.kind if in_step and not _is_kept(origin.frame) else "constant"

    def _is_same(self, origin: Origin, frequency: Frequency, state: State) -> bool:
        """Whether a step copies what was made before it, and is the same as in the step before."""
        if self.state.phase is Phase.NONE or self.state.rare:
            return False
        if self.event.form.kind != forms.COPY or origin.varies or origin.kind in ("batch", "computed"):
            return False
        altered = state.altered.get(origin.node, ())
        changes = any(at is None or frequency.of(*at).phase is not Phase.NONE for at in altered)
        made = origin.frame, origin.region
        outside = frequency.of(*made).phase is Phase.NONE and not _is_kept(origin.frame)
        return outside and not changes and (origin.frame is self.frame or not self._may_be_passed(frequency))

    def _may_be_passed(self, frequency: Frequency) -> bool:
        """Whether several calls may pass what is copied, of which only one is known here."""
        copied = getattr(getattr(self.event.node, "func", None), "value", None)
        held = _held(copied) if isinstance(copied, ast.expr) else None
        return not isinstance(held, ast.Attribute) and len(frequency.callers(self.frame)) > 1

    def other(self, ways: Ways, loaders: Collection[ast.AST]) -> tuple[str, int]:
        """Another place that belongs to it, as :class:`~torchlint.project.followed.FollowedEvent` names it."""
        origin = self.event.origin
        if origin is None or origin.frame.module.library:
            return "", 0
        form = self.event.form
        of_loader = form is forms.BLOCKING and origin.kind == "batch" and origin.node in loaders
        if origin.kind != _OPPOSITE.get(form.kind) and form not in forms.ANYWHERE and not of_loader:
            return "", 0
        own, others = (ways.step_of(*at) for at in ((self.frame, self.region), (origin.frame, origin.region)))
        if origin.kind == "read" and own is not others:
            return "", 0  # what an earlier loop has gathered
        path = origin.frame.module.path
        return path if path != self.event.path else "", getattr(origin.node, "lineno", 0)

    def what(self, origin: str) -> str:
        """What happens, with the name of what makes the content that is copied."""
        made, copied = getattr(self.event.origin, "node", None), getattr(self.event.node, "func", None)
        if origin == SAME and isinstance(copied, ast.Attribute):
            return f"`{ast.unparse(_held(copied.value))}`"
        if self.event.form is forms.PAGEABLE:
            return ast.unparse(getattr(made, "func", made)) if made is not None else ""
        if self.event.form is not forms.BLOCKING or origin not in OWN or not isinstance(made, ast.Call):
            return self.event.what
        return f"a copy of what `{ast.unparse(made.func)}` makes on the host"


def _held(node: ast.expr) -> ast.expr:
    """The variable or attribute of which an expression is a view."""
    while isinstance(node, (ast.Call, ast.Subscript)):
        function = node.func if isinstance(node, ast.Call) else None
        wraps = isinstance(node, ast.Call) and node.args and ast.unparse(node.func).startswith(_WRAPPING)
        node = node.args[0] if wraps else getattr(function or node, "value", ast.Name("it"))  # type: ignore[union-attr]
    return node


_WRAPPING = ("torch.", "np.", "numpy.", "Variable")


def _is_kept(frame: Frame) -> bool:
    """Whether what a function gives is kept for later calls, as by ``functools.lru_cache``."""
    decorators = getattr(frame.function.node, "decorator_list", ()) if frame.function is not None else ()
    return any("cache" in ast.unparse(each) for each in decorators)


_DOWNLOADS = frozenset({forms.READ_METHOD, forms.MOVED_TO_HOST})
_OPPOSITE = {forms.COPY: "read", forms.READ: "uploaded"}  # what a copy of each kind takes back


def occurrences(frequency: Frequency) -> Iterator[Occurrence]:
    """Everything that happens, each place and form once."""
    best: dict[tuple[str, int, int, str, str], Occurrence] = {}
    for frame in frequency.frames:
        for (kind, place), event in frame.events.items():
            state = frequency.of(frame, place.region)
            key = (event.path, place.line, place.column, kind, event.what)
            if key not in best or (not state.rare, state.rank) > (not best[key].state.rare, best[key].state.rank):
                best[key] = Occurrence(event, state, frame, place.region)
    yield from best.values()


def _recorded(
    happened: Iterable[Occurrence], ways: Ways, modules: Mapping[str, Module], *, only_reached: bool
) -> set[Occurrence]:
    """The first call of a model in each step that only evaluates, of those that autograd records."""
    quiet = quiet_frames(ways.frequency.frames)
    found: dict[object, Occurrence] = {}
    calls = [one for one in happened if one.event.form is forms.RECORDED]
    for one in sorted(calls, key=lambda each: (each.event.path, getattr(each.event.node, "lineno", 0))):
        state, spot = one.state, (one.frame, one.region)
        off = one.frame in quiet or one.region.is_quiet or state.option or (only_reached and state.assumed)
        off = off or _FROZEN.search(modules[one.event.path].content) is not None
        if state.phase is Phase.INFERENCE and not off and not ways.feeds_backward(*spot):
            found.setdefault(next(iter(ways.way(*spot)), spot), one)
    return set(found.values())


def _growth(one: Occurrence, ways: Ways, grown: Mapping[ast.AST, Collection[ast.AST]]) -> str:
    """What a tensor is that grows: see :class:`~torchlint.project.followed.FollowedEvent`; empty if not in steps."""
    loops, step = grown.get(one.event.node, ()), ways.step_of(one.frame, one.region)
    own = step.node if step is not None and ways.frequency.step(one.frame, one.region) is step else None
    if any(gathers(loop, one.event.node) for loop in loops if loop is own or counts_elements(loop)):
        return "result"
    if own is not None or step is None or step.node not in loops:
        return ""
    return one.event.origin.kind if one.event.origin is not None else "other"


def _of_inference(one: Occurrence, ways: Ways) -> str:
    """The phase of a step that does not train."""
    if ways.samples(one.frame, one.region):
        return SAMPLING
    if one.state.hot:
        return HOT
    if ways.decodes(one.frame, one.region):
        return REQUEST
    return EVALUATION if one.state.evaluates or ways.is_beside_training(one.frame) else Phase.INFERENCE.value


def _use(one: Occurrence, source: Source, front: Event | None) -> str:
    """What becomes of a value that is read, as :class:`~torchlint.project.followed.FollowedEvent` names it."""
    if one.event.form.kind != forms.READ:
        return ""
    if front is not None and front.path == one.event.path and _serves(front, source):
        return "measured"
    return source.use(one.event.node) if not one.hands_on else "handed on"


def _place(front: Event | None, path: str) -> tuple[str, int]:
    """The path of a wait, if it is another one, and its line."""
    if front is None:
        return "", 0
    return front.path if front.path != path else "", getattr(front.node, "lineno", 0)


def _serves(event: Event, source: Source) -> bool:
    """Whether a wait is there on purpose, or a copy from memory that is not pinned is read at once."""
    explicit = event.form in forms.EXPLICIT and source.needs(event.node, event.form)
    return explicit or (event.form is forms.PAGEABLE and source.is_read(event.node))


def events_of_files(
    happened: Collection[Occurrence],
    ways: Ways,
    modules: Mapping[str, Module],
    reached: Collection[ast.AST] | None,
    followed: State,
) -> dict[str, set[FollowedEvent]]:
    """What happens in every step, by file; ``reached`` are the functions that programs get to, if they make steps.

    ``followed`` knows the places that make content which the host uses itself, and what grows in which loops.
    """
    sources: dict[str, Source] = {}
    found: dict[str, set[FollowedEvent]] = defaultdict(set)
    recorded = _recorded(happened, ways, modules, only_reached=reached is not None)
    drained, loaders = Drained(ways.frequency), {node for node, _ in followed.loaders}
    for one in happened:
        state, node, path, form = one.state, one.event.node, one.event.path, one.event.form
        anywhere = form in forms.ANYWHERE or (one.returns_at_once and not state.rare)
        seldom = state.phase is Phase.NONE or state.rare
        if one.is_action or (seldom and not anywhere) or not isinstance(node, (ast.expr, ast.stmt)):
            continue
        if (form is forms.RECORDED and one not in recorded) or (state.assumed and state.phase is Phase.INFERENCE):
            continue  # or what only evaluates, if anything calls it
        source = sources.get(path) or sources.setdefault(path, Source(modules[path].tree))
        if _serves(one.event, source):
            continue
        grows = form is forms.GROWN
        place = range_of(node)
        origin = _growth(one, ways, followed.grown) if grows else one.origin(ways.frequency, followed)
        if (grows and not origin) or (origin == SAME and _is_kept(one.frame)):
            continue
        if origin == SAME and source.sets_later(node):
            origin = "constant" if form is not forms.PAGEABLE else "data"
        assumed = (state.assumed and not anywhere) or modules[path].cannot_run
        offered = ways.frequency.is_library and state.phase is Phase.TRAINING and not followed.left_out
        if reached is not None and not offered:
            assumed = assumed or not ways.is_within(one.frame, one.region, reached)
        phase = ASSUMED if assumed else state.phase.value
        option = state.option or (UNCALLED if seldom and assumed else "")
        if seldom:
            phase = SELDOM if state.rare else ONCE
        elif phase == Phase.INFERENCE.value:
            phase = _of_inference(one, ways)
        front = drained.by(one.event, one.frame, one.region) if not seldom else None
        found[path].add(
            FollowedEvent(
                place,
                form.key,
                one.what(origin),
                phase,
                option,
                origin,
                source.statement(place),
                tuple(ways.way(one.frame, one.region)),
                tuple(map(iterated, ways.loops(one.frame, one.region))),
                _use(one, source, front),
                other=one.other(ways, loaders),
                only=source.reduced(node) if form in _DOWNLOADS else "",
                behind=_place(front, path),
            )
        )
    return found
