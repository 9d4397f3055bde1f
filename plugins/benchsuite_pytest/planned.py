"""What every collected item is, and which worker runs it: the same answer in every process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from benchsuite.plan import Cell
from benchsuite_pytest.cells import Experiment

ITEM_CELL = pytest.StashKey[Cell]()
ITEM_EXPERIMENT = pytest.StashKey[Experiment]()
ITEMS_FILE = "items.json"  # written by the first worker, read by the controller
RUN_FILE = "run"  # written by the controller: the path of the run's folder
DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class Planned:
    """The items of a session in order: prefix group, cell id ('' for none) and experiment of each."""

    items: Sequence[tuple[str, str, str]]
    experiments: Mapping[str, Mapping[str, object]]

    @classmethod
    def of(cls, items: Sequence[pytest.Item]) -> Planned:
        experiments = {
            e.nodeid: e.facts() for e in dict.fromkeys(i.stash[ITEM_EXPERIMENT] for i in items if ITEM_CELL in i.stash)
        }
        return cls([_facts(item) for item in items], experiments)

    @property
    def groups(self) -> list[str]:
        return [group for group, _, _ in self.items]

    @property
    def cells(self) -> dict[str, list[str]]:
        """Cell ids by experiment."""
        plan: dict[str, list[str]] = {}
        for _, cell, experiment in self.items:
            if cell:
                plan.setdefault(experiment, []).append(cell)
        return plan

    @property
    def uses_bench(self) -> bool:
        """Whether any item asks a model."""
        return any(experiment for _, _, experiment in self.items)


def _facts(item: pytest.Item) -> tuple[str, str, str]:
    cell = item.stash.get(ITEM_CELL, None)
    if cell is not None:
        return cell.group, cell.id, item.stash[ITEM_EXPERIMENT].nodeid
    return item.nodeid.partition("::")[0], "", DIRECT if uses_bench(item) else ""


def uses_bench(item: pytest.Item) -> bool:
    """Whether a test names our `bench`, itself or by its fixtures, and not one of its own project."""
    if "bench" not in getattr(item, "fixturenames", ()):
        return False
    for each in reversed(item.session._fixturemanager.getfixturedefs("bench", item) or ()):
        if ours(each) or "bench" not in each.argnames:  # an override may build upon ours
            return ours(each)
    return False


def ours(fixture: pytest.FixtureDef[Any]) -> bool:
    """Whether the plugin made a fixture; projects that only have the plugin installed may use the same names."""
    return bool(fixture.func.__module__.partition(".")[0] == __package__)


def regroup(items: list[pytest.Item]) -> None:
    """Put the cells of one history next to each other, at the place of the first, and a cell shown twice together."""
    first: dict[str, int] = {}
    keys = []
    for index, item in enumerate(items):
        cell = item.stash.get(ITEM_CELL, None)
        if cell is None:
            keys.append((index, index))
        else:
            keys.append((first.setdefault(f"group {cell.group}", index), first.setdefault(cell.id, index)))
    order = sorted(range(len(items)), key=lambda index: (keys[index], index))
    items[:] = [items[index] for index in order]


def shards(planned: Planned, count: int) -> list[list[int]]:
    """Item indices per shard: groups in first-seen order, each to the least loaded shard (ties: the first).

    A group larger than its share is cut into contiguous chunks, so that no worker is left without work; items of
    one cell stay together, since only one process then asks it.
    """
    members: dict[str, list[int]] = {}
    for index, group in enumerate(planned.groups):
        members.setdefault(group, []).append(index)
    share = max(1, -(-len(planned.items) // count))
    loads: list[list[int]] = [[] for _ in range(count)]
    for indices in members.values():
        start = 0
        while start < len(indices):
            end = start + share
            while end < len(indices) and planned.items[indices[end]][1] == planned.items[indices[end - 1]][1] != "":
                end += 1
            min(loads, key=len).extend(indices[start:end])
            start = end
    return [sorted(load) for load in loads]
