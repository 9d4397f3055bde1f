"""One asyncio loop in one thread per process: episodes run ahead of the tests that wait for them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from benchsuite.errors import BenchError
from benchsuite.outcome import Outcome
from benchsuite.plan import Cell
from benchsuite_pytest.core_share import SharedCore

T = TypeVar("T")


class Lane(Protocol):
    """What an engine drives. Every method is called on the engine's own loop."""

    async def open(self) -> None: ...
    async def run(self, cell: Cell) -> Outcome: ...
    async def close(self) -> None: ...


class Engine:
    """Starts at its first use and works through ``cells`` in their order, ``width`` episodes at a time.

    A body is built when its episode runs, so 50,000 planned cells hold ``width`` bodies. A fault in one episode
    lands on that cell's future alone; a dead loop fails every open future at once.
    """

    def __init__(
        self, lane: Callable[[], Lane], cells: Sequence[Cell], width: int, core: SharedCore | None = None
    ) -> None:
        self._make_lane = lane
        self._lane: Lane | None = None
        self._cells = list(dict.fromkeys(cells))
        self._width = max(1, width)
        self._core = core
        self._futures: dict[str, Future[Outcome]] = {cell.id: Future() for cell in self._cells}
        self._left = Counter(cell.id for cell in cells)  # tests that will ask for it
        self._given: set[str] = set()
        self._loop = asyncio.new_event_loop()
        self._opened: Future[None] = Future()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopped = False
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._main, name="bench-engine", daemon=True)
        self._thread.start()

    def get(self, cell: Cell) -> Outcome:
        """Wait for one cell. One that is not planned here, or whose error was given out before, is asked now.

        An outcome that no planned test asks for any more is let go: its row is written.
        """
        future = self._futures.get(cell.id)
        if future is None or (cell.id in self._given and self._failed(future)):
            future = self._futures[cell.id] = self.submit(self._run(cell))
        self._given.add(cell.id)
        outcome = future.result()
        self._left[cell.id] -= 1
        if self._left[cell.id] <= 0:
            self._futures.pop(cell.id, None)
        return outcome

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop."""
        if self._stopped:
            work.close()
            raise BenchError("the engine has stopped")
        self._opened.result()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    @property
    def lane(self) -> Lane:
        self._opened.result()
        assert self._lane is not None
        return self._lane

    def close(self) -> None:
        """Cancel what is outstanding; what has landed is in the cache."""
        if not self._stopped:
            self._stopped = True
            self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join(timeout=10)

    def _failed(self, future: Future[Outcome]) -> bool:
        try:
            return not future.result().answered
        except (Exception, CancelledError):
            return True

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        if self._core is not None:
            self._core.join()
            # image work leaves the interpreter alone and should have the other cores
            self._loop.set_default_executor(ThreadPoolExecutor(initializer=self._core.leave))
        reason: BaseException = BenchError("the engine has stopped")
        try:
            self._loop.run_until_complete(self._drive())
        except BaseException as error:
            reason = error
        finally:
            waiting: list[Future[Any]] = [self._opened, *self._futures.values()]
            for future in waiting:
                if not future.done():
                    future.set_exception(reason)
            self._loop.close()

    async def _drive(self) -> None:
        lane = self._make_lane()
        try:
            await lane.open()
            self._lane = lane
            self._opened.set_result(None)
            queue = iter(self._cells)
            for _ in range(min(self._width, len(self._cells))):
                task = asyncio.ensure_future(self._work(queue))
                self._tasks.add(task)
            await self._stop.wait()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        finally:
            await lane.close()
            rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
            await self._loop.shutdown_default_executor()

    async def _work(self, queue: Any) -> None:
        for cell in queue:
            future = self._futures[cell.id]
            try:
                outcome = await self._run(cell)
            except asyncio.CancelledError:
                future.cancel()
                raise
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(outcome)

    async def _run(self, cell: Cell) -> Outcome:
        assert self._lane is not None
        return await self._lane.run(cell)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._stop.set()
