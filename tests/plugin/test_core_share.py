"""The engine's thread and pytest's share a core while cells run; nothing else does, and not for longer."""

from __future__ import annotations

import json
import os
import threading

import pytest

from benchsuite_pytest.core_share import SharedCore

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two cores to choose from"
)


def test_a_thread_joins_one_core_and_leaves_for_all():
    seen = {}

    def work():
        core = SharedCore()
        before = os.sched_getaffinity(0)
        core.join()
        seen["joined"] = os.sched_getaffinity(0)
        core.leave()
        seen["left"] = os.sched_getaffinity(0)
        seen["before"] = before

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(seen["joined"]) == 1
    assert seen["joined"] < seen["before"] == seen["left"]


def test_the_loop_shares_the_core_of_the_tests_and_image_threads_do_not(project, endpoint):
    project.corpus(2)
    endpoint.script = lambda body: "value"
    project.pytester.makeconftest(
        """
        import asyncio, json, os, pathlib
        pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]
        seen = {"all": sorted(os.sched_getaffinity(0))}

        def pytest_bench_register(registry):
            class Look:
                version = "1"

                async def rank(self, query, items, k):
                    seen["loop"] = sorted(os.sched_getaffinity(0))
                    seen["image"] = sorted(await asyncio.to_thread(os.sched_getaffinity, 0))
                    return []

            registry.retriever("look", Look)

        def pytest_runtest_call(item):
            seen["test"] = sorted(os.sched_getaffinity(0))

        def pytest_sessionfinish(session):
            seen["end"] = sorted(os.sched_getaffinity(0))
            pathlib.Path("seen.json").write_text(json.dumps(seen))
        """
    )
    assert project.run("--bench-axis", "retrieval=look").ret == 0
    seen = json.loads((project.pytester.path / "seen.json").read_text())
    assert len(seen["loop"]) == 1
    assert seen["test"] == seen["loop"]
    assert seen["image"] == seen["end"] == seen["all"]
