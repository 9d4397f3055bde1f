"""pytest-xdist: whole prefix groups on one worker, small windows, shards that outlive a crashed worker."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from xdist.workermanage import parse_tx_spec_config

from benchsuite_pytest.planned import Planned, shards

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

    from benchsuite_pytest.session import BenchSession

WINDOW = 8  # items handed to a worker at a time: enough to keep it busy, few to lose with it


class ShardScheduling:
    """The scheduler of ``--dist load``: every worker gets exactly the shard that its engine runs ahead of."""

    def __init__(self, config: pytest.Config, bridge: Bridge, count: int) -> None:
        self.config = config  # pytest-rerunfailures reads it
        self.collection: list[str] | None = None
        self._bridge = bridge
        self._count = count
        self._pending: dict[WorkerController, list[int]] = {}
        self._collections: dict[WorkerController, list[str]] = {}
        self._queues: list[deque[int]] = [deque() for _ in range(count)]
        self._shard_of: dict[int, int] = {}

    @property
    def nodes(self) -> list[WorkerController]:
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        return self.collection is not None or len(self._collections) >= self._count

    @property
    def has_pending(self) -> bool:
        return any(self._queues) or any(self._pending.values())

    @property
    def tests_finished(self) -> bool:
        # a worker runs its last item only when it is told to shut down
        return (
            self.collection is not None
            and not any(self._queues)
            and all(len(pending) < 2 for pending in self._pending.values())
        )

    def add_node(self, node: WorkerController) -> None:
        self._pending[node] = []

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        self._collections[node] = list(collection)

    def schedule(self) -> None:
        if self.collection is None:
            collections = list(self._collections.values())
            self._check_same(collections)
            self.collection = collections[0]
            assert self._bridge.planned is not None
            for shard, indices in enumerate(shards(self._bridge.planned, self._count)):
                self._queues[shard].extend(indices)
                self._shard_of.update((index, shard) for index in indices)
        else:
            self._check_same([self.collection, *self._collections.values()])
        for node in self.nodes:
            if node in self._collections:
                self._feed(node)

    def _check_same(self, collections: Sequence[list[str]]) -> None:
        for other in collections[1:]:
            if other != collections[0]:
                first = next(
                    (pair for pair in zip(collections[0], other, strict=False) if pair[0] != pair[1]),
                    (f"{len(collections[0])} items", f"{len(other)} items"),
                )
                raise pytest.UsageError(f"workers collected different tests: {first[0]} against {first[1]}")

    def _feed(self, node: WorkerController) -> None:
        if node.shutting_down:
            return
        queue, pending = self._queues[node.workerinput["bench_shard"]], self._pending[node]
        send = [queue.popleft() for _ in range(min(len(queue), WINDOW - len(pending)))]
        if send:
            pending.extend(send)
            node.send_runtest_some(send)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        self._pending[node].remove(item_index)
        self._bridge.done.add(item_index)
        self._feed(node)

    def mark_test_pending(self, item: str) -> None:
        """Put a crashed item back, first in its shard's queue; the worker that adopts the shard gets it."""
        assert self.collection is not None
        index = self.collection.index(item)
        self._queues[self._shard_of[index]].appendleft(index)

    def remove_pending_tests_from_node(self, node: WorkerController, indices: Sequence[int]) -> None:
        raise NotImplementedError("nothing is ever stolen from a worker")

    def remove_node(self, node: WorkerController) -> str | None:
        pending = self._pending.pop(node)
        self._collections.pop(node, None)
        shard = node.workerinput["bench_shard"]
        if not pending:
            return None
        assert self.collection is not None
        self._queues[shard].extendleft(reversed(pending[1:]))
        return self.collection[pending[0]]


class Bridge:
    """Registered in the controller of a distributed session only."""

    def __init__(self, session: BenchSession) -> None:
        self.done: set[int] = set()
        self.orphans: list[int] = []
        self.planned: Planned | None = None
        self._session = session
        self._next = 0
        self._crashes: Counter[str] = Counter()

    def pytest_configure_node(self, node: WorkerController) -> None:
        """Give a worker its shard; the replacement of a crashed one inherits its shard and what is done."""
        if self.orphans:
            shard = self.orphans.pop(0)
        else:
            shard, self._next = self._next, self._next + 1
        node.workerinput.update(
            self._session.for_workers(),
            bench_shard=shard,
            bench_done=sorted(self.done),
            bench_writes_items=shard == 0 and self.planned is None,
            bench_prefetch=self._schedules,
        )

    def pytest_testnodedown(self, node: WorkerController, error: object) -> None:
        """A crashed worker is replaced right after this: its shard goes first. It may have died at any point."""
        self.orphans.insert(0, node.workerinput["bench_shard"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Cut short: workers and servers end now, not when pytest-xdist has waited long enough."""
        if session.exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR):
            self._session.close_broker()

    @property
    def _schedules(self) -> bool:
        return self._session.is_bench_project and self._session.config.getoption("dist") == "load"

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> ShardScheduling | None:
        if not self._schedules:
            if self._session.is_bench_project and self._session.progress is not None:
                self._session.progress.note(f"--dist {config.getoption('dist')}: no cell is asked ahead of its test")
            return None
        return ShardScheduling(config, self, len(parse_tx_spec_config(config)))

    def pytest_xdist_node_collection_finished(self, node: WorkerController, ids: Sequence[str]) -> None:
        """The first worker has said what its items are: open the run they belong to."""
        if self.planned is None and (planned := self._session.read_items()) is not None:
            self.planned = planned
            self._session.open_run(planned)

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """The first crash of a cell is retried; the second is its failure."""
        self._crashes[crashitem] += 1
        if self._crashes[crashitem] == 1 and isinstance(sched, ShardScheduling):
            sched.mark_test_pending(crashitem)
            report.outcome = "rerun"  # type: ignore[assignment]  # as pytest-rerunfailures does
            report.longrepr = None
        elif isinstance(sched, ShardScheduling) and sched.collection is not None:
            self.done.add(sched.collection.index(crashitem))  # its request is not sent once more either
