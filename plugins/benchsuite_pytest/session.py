"""The state of one pytest process, controller or worker. Hooks delegate here; nothing is global."""

from __future__ import annotations

import gc
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchsuite.delivery.spec import parse_delivery
from benchsuite.errors import ConfigError
from benchsuite.files import write_atomic
from benchsuite.models.cache import open_cache
from benchsuite.models.launch import LaunchedServer, launch_server
from benchsuite.models.spec import ModelSpec, endpoint_limits
from benchsuite.models.wire import sha256_json
from benchsuite.outcome import Outcome
from benchsuite.plan import Cell
from benchsuite.registry import Registry, component_parameters
from benchsuite.runs import RunStore
from benchsuite.scoring.judge import JUDGE
from benchsuite_pytest.broker import Broker, BrokerClient
from benchsuite_pytest.cells import Experiment
from benchsuite_pytest.core_share import SharedCore
from benchsuite_pytest.ending import end_with_controller, exit_on_sigterm
from benchsuite_pytest.engine import Engine
from benchsuite_pytest.gate import Gatekeeper
from benchsuite_pytest.lane import BenchLane, Place
from benchsuite_pytest.options import Settings, check_dry_run
from benchsuite_pytest.planned import ITEM_CELL, ITEMS_FILE, RUN_FILE, Planned, shards
from benchsuite_pytest.preflight import PreflightError, Prepared, prepare, prepare_controller
from benchsuite_pytest.tables import Reported, make_tables
from benchsuite_pytest.terminal import Pace, Progress

if TYPE_CHECKING:
    from benchsuite.runtime.checkpoint import Checkpoint
    from benchsuite.scoring.answers import Score

SESSION = pytest.StashKey["BenchSession"]()
EXIT_INCOMPLETE = 11


class BenchSession:
    """One process of a run. A worker is told by the controller where to find corpora, broker and shard."""

    def __init__(self, config: pytest.Config, settings: Settings, registry: Registry) -> None:
        self.config = config
        self.settings = settings
        self.registry = registry
        self.workerinput: Mapping[str, Any] | None = getattr(config, "workerinput", None)
        self.folder: Path | None = None
        self.broker: Broker | None = None
        self.store: RunStore | None = None
        self.pace = Pace()
        self.progress: Progress | None = None
        self.experiments: dict[str, Experiment] = {}
        self.request: pytest.FixtureRequest | None = None  # of the `outcome` that is being set up
        self._views: dict[tuple[str, str], object] = {}
        self.missing: list[str] = []
        self.refused = False  # a declared experiment cannot be planned
        self._words: dict[str, str] = {}
        self._prepared: Prepared | None = None
        self._engine: Engine | None = None
        self._core: SharedCore | None = None
        self.gatekeeper: Gatekeeper | None = None
        self.gate_failed = False
        self._restore_sigterm: Callable[[], None] = lambda: None
        self._watched = False

    @property
    def is_worker(self) -> bool:
        return self.workerinput is not None

    @property
    def is_bench_project(self) -> bool:
        """Whether this is a project of cases, not just one that has the plugin installed."""
        return bool(self.config.pluginmanager.hasplugin("benchsuite_pytest.fixtures"))

    @property
    def prepared(self) -> Prepared:
        """Corpora, models, protocols and planner. Raises PreflightError in a controller that cannot go on."""
        if self._prepared is None:
            if self.workerinput is not None:
                folders = json.loads(self.workerinput["bench_corpora"])
                self._prepared = prepare(
                    self.settings, self.registry, {suite: Path(folder) for suite, folder in folders.items()}
                )
            else:
                known = self.registry.corpora
                suites = [suite for suite in known if self.is_bench_project or suite in self.settings.corpora]
                expression = (self.config.option.markexpr or "") if self.is_bench_project else ""
                self._prepared = prepare_controller(self.settings, self.registry, suites, expression)
        return self._prepared

    def check(self) -> None:
        """Find out now, in the controller, what cannot work. Raises PreflightError."""
        if self.is_worker:
            return
        self.gatekeeper, problems = Gatekeeper.of(self.settings, self.prepared.planner)
        if problems:
            raise PreflightError(problems)
        if self.settings.dry_run:
            check_dry_run(self.config, self.settings)
        if self.is_bench_project and self.config.getoption("dist", "no") == "each":
            raise ConfigError("--dist each would answer every cell once per worker; use --dist load")

    # --- the controller's side ---

    def start_broker(self) -> Broker:
        """Open the pool of slots and the way to launched servers; no server is started yet."""
        if self.broker is None:
            self._restore_sigterm = exit_on_sigterm()
            self.folder = Path(tempfile.mkdtemp(prefix="benchsuite-"))
            specs = [*self.prepared.models.values(), *(encoder.server for encoder in self.prepared.encoders.values())]
            self.broker = Broker(self._launch, self.settings.concurrency, endpoint_limits(specs))
        return self.broker

    def for_workers(self) -> dict[str, Any]:
        """What every worker is told, as builtins."""
        broker = self.start_broker()
        return {
            "bench_corpora": json.dumps({suite: str(path) for suite, path in self.prepared.folders.items()}),
            "bench_broker": str(broker.path),
            "bench_folder": str(self.folder),
        }

    def _launch(self, spec: ModelSpec) -> LaunchedServer:
        if self.progress is not None:
            self.progress.note(f"starting {spec.endpoint}")
        given: LaunchedServer | None = self.config.hook.pytest_bench_launch_model(config=self.config, spec=spec)
        if given is not None:
            return given
        assert self.folder is not None
        folder = self.store.path if self.store is not None else self.folder
        name = spec.name if spec.launch == "encoder" else spec.launch  # one file for each server
        return launch_server(spec, folder / f"server-{name}.log")

    def read_items(self) -> Planned | None:
        """What the first worker wrote of its items; None until it has."""
        path = self.folder / ITEMS_FILE if self.folder is not None else None
        if path is None or not path.exists():
            return None
        content = json.loads(path.read_text())
        return Planned([tuple(item) for item in content["items"]], content["experiments"])

    def open_run(self, planned: Planned) -> None:
        """Open the run of these items, if any of them asks a model, and tell the workers where it is."""
        if not planned.uses_bench or self.store is not None or self.config.getoption("setupplan"):
            return
        cache = open_cache(
            self.settings.folder / "cache", self.settings.cache, replay=self.settings.replay, create=True
        )
        if cache is not None:
            cache.close()
        plan = planned.cells
        info = {**self._info(), "experiments": planned.experiments}
        self.store = RunStore.open(self.settings.folder, self.settings.save, plan, info, self.settings.root)
        self.pace.planned = len({cell for cells in plan.values() for cell in cells})
        if self.progress is not None and plan:
            state = "continuing" if self.store.continued else "run"
            self.progress.note(f"{state} {os.path.relpath(self.store.path)}: {self.pace.planned} cells")
            self.progress.start()
        assert self.folder is not None
        write_atomic(self.folder / RUN_FILE, str(self.store.path))

    def _info(self) -> dict[str, Any]:
        prepared = self.prepared
        corpora = {
            c.digest: {"suite": c.suite, "name": c.name, "bundled": c.bundled, "files": dict(c.files)}
            for c in prepared.corpora.values()
        }
        models = {
            name: {
                "model": spec.model,
                "family": spec.family,
                "params": dict(spec.params),
                **({"context_window": spec.context_window} if spec.context_window else {}),
            }
            for name, spec in prepared.models.items()
        }
        packages = ("benchsuite", "pytest", "pytest-xdist", "torch", "transformers", "rapidocr", "numpy", "scipy")
        return {
            "argv": list(self.config.invocation_params.args),
            "versions": {"python": platform.python_version(), **{name: _version(name) for name in packages}},
            "corpora": corpora,
            "digests": {
                "corpora": sorted(corpora),
                "protocols": {suite: sha256_json(asdict(each)) for suite, each in prepared.protocols.items()},
                "scorers": {
                    s.suite: s.version for s in self.registry.scorers.values() if s.mode == self.settings.scoring
                },
                "models": sha256_json(models),
                "encoders": {channel: encoder.identity for channel, encoder in prepared.encoders.items()},
                "trunk": prepared.settings.trunk,
                "judge": [JUDGE, self.settings.judge, self.settings.judge_votes],
            },
            "protocols": {suite: each.label for suite, each in prepared.protocols.items()},
            "models": models,
            "encoders": {
                channel: {"name": each.name, "checkpoint": each.checkpoint, "identity": each.identity}
                for channel, each in prepared.encoders.items()
            },
            "embedded_models": [name for name, spec in prepared.models.items() if spec.launch == "embedded"],
            "components": component_parameters(self.registry),
            "deliveries": {name: asdict(preset) for name, preset in self.registry.deliveries.items()},
            "seeds": {"questions": "sha256 of question text, date and history content"},
        }

    def receive(self, line: str) -> None:
        """Store one outcome row, given as JSON, and count its word. A cell that two experiments show counts once."""
        assert self.store is not None
        row = json.loads(line)
        before = self._words.get(row["cell"])
        if self.store.append(row, line) and not is_direct(row):
            if before is not None:
                self.pace.words[before] -= 1
            self.pace.words[row["word"]] += 1
            self._words[row["cell"]] = row["word"]

    # --- the engine, in either ---

    def end_with_controller(self) -> None:
        """Let this worker outlive no controller, not even one that was killed."""
        if self.workerinput is not None and not self._watched:
            self._watched = True
            end_with_controller(Path(self.workerinput["bench_broker"]), self.stop_engine)

    def engine(self, session: pytest.Session) -> Engine:
        """The engine of this process, started at its first use."""
        if self._engine is None:
            cells = [item.stash[ITEM_CELL] for item in self._own_items(session) if ITEM_CELL in item.stash]
            if self.workerinput is None:
                broker = self.start_broker()
                self.open_run(Planned.of(session.items))
            self.end_with_controller()
            place = self._place()
            gc.freeze()  # items and cells live as long as the session: do not walk them for every answer

            def make_lane() -> BenchLane:
                if self.workerinput is None:
                    return BenchLane(self.prepared, place, broker.slots, broker)
                client = BrokerClient(Path(self.workerinput["bench_broker"]))
                return BenchLane(self.prepared, place, client, client)

            if self.workerinput is None:
                self._core = SharedCore()
            self._engine = Engine(make_lane, cells, self._width, self._core)
            if self._core is not None:
                self._core.join()
        return self._engine

    @property
    def _width(self) -> int:
        return self.settings.concurrency + 4  # a few episodes get ready while all slots are taken

    def ask_again(self, cells: Sequence[Cell]) -> list[dict[str, Any]]:
        """The rows of cells that nobody planned, asked by the controller when all else is done; they are stored."""
        assert self.store is not None
        broker, place = self.start_broker(), Place("again", self.store.path)
        engine = Engine(lambda: BenchLane(self.prepared, place, broker.slots, broker), cells, self._width)
        rows = []
        try:
            for cell in cells:
                row = self._scored(cell, engine.get(cell)).to_row()
                self.store.append(row)
                rows.append(row)
        finally:
            engine.close()
        return rows

    def _place(self) -> Place:
        if self.workerinput is None:
            assert self.store is not None
            return Place("main", self.store.path)
        run = Path((Path(self.workerinput["bench_folder"]) / RUN_FILE).read_text())
        return Place(self.workerinput["workerid"], run, self.workerinput["bench_shard"])

    def _own_items(self, session: pytest.Session) -> list[pytest.Item]:
        """The items this process will run: all, or a worker's shard without what is done already."""
        if self.workerinput is None:
            return list(session.items)
        if not self.workerinput["bench_prefetch"]:  # another scheduler decides: nothing is known ahead
            return []
        own = shards(Planned.of(session.items), self.workerinput["workercount"])[self.workerinput["bench_shard"]]
        done = set(self.workerinput["bench_done"])
        return [session.items[index] for index in own if index not in done]

    def write_items(self, session: pytest.Session) -> None:
        """The first worker tells the controller, which collects nothing, what every item is."""
        if self.workerinput is not None and self.workerinput["bench_writes_items"]:
            planned = Planned.of(session.items)
            path = Path(self.workerinput["bench_folder"]) / ITEMS_FILE
            write_atomic(path, json.dumps({"items": planned.items, "experiments": planned.experiments}))

    def outcome(self, session: pytest.Session, cell: Cell) -> Outcome:
        """Wait for a cell's outcome and let third parties score it."""
        return self._scored(cell, self.engine(session).get(cell))

    def _scored(self, cell: Cell, outcome: Outcome) -> Outcome:
        if outcome.answered and outcome.answer is not None:
            score: Score | None = self.config.hook.pytest_bench_score_cell(cell=cell, answer=outcome.answer)
            if score is not None:
                outcome = replace(
                    outcome,
                    status="unparsed" if score.score is None else "scored",
                    word=score.word,
                    refused=score.refused,
                    metric=score.metric,
                    score=score.score,
                    scorer=score.scorer,
                    scores={} if score.score is None else {**outcome.scores, score.metric: score.score, **score.extra},
                )
        return outcome

    def view(self, name: str, cell: Cell, session: pytest.Session) -> object:
        """The object that the engine uses for a cell, for reading: probe, retriever, delivery, model, checkpoint."""
        if (name, cell.id) not in self._views:
            prepared = self.prepared
            makers: dict[str, Callable[[], object]] = {
                "probe": lambda: (
                    prepared.corpora[cell.suite].question(cell.arm.text("length"), cell.outline.id).query()
                ),
                "retriever": lambda: self.registry.retrievals[cell.arm.text("retrieval")],
                "delivery": lambda: parse_delivery(cell.arm.text("delivery"), self.registry.deliveries),
                "model": lambda: prepared.models[cell.arm.text("model")],
                "checkpoint": lambda: self._checkpoint(cell, session),
            }
            self._views[name, cell.id] = makers[name]()
        return self._views[name, cell.id]

    def _checkpoint(self, cell: Cell, session: pytest.Session) -> Checkpoint:
        engine = self.engine(session)
        lane = engine.lane
        assert isinstance(lane, BenchLane)
        return engine.submit(lane.checkpoint(cell)).result()

    def stop_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()
        if self._core is not None:
            self._core.leave()

    # --- the end ---

    def nothing_planned(self, session: pytest.Session) -> list[str]:
        """Why no test was there to run, where options left no suite a cell."""
        if not self.is_bench_project or self.refused or session.testscollected:
            return []
        return self.prepared.planner.left_out()

    def complete(self, interrupted: bool) -> None:
        """Find planned cells without a row; a run that was cut short by its user is left open to be continued."""
        if self.store is not None and not interrupted:
            self.missing = self.store.missing()

    def report(self, rows: Sequence[Mapping[str, Any]]) -> Reported:
        """Write the tables and figures that the run's experiments name."""
        if self.store is None:
            return Reported()
        return make_tables(self.store, [row for row in rows if not is_direct(row)], self.prepared, self.registry)

    @property
    def run_path(self) -> str:
        return os.path.relpath(self.store.path) if self.store is not None else ""

    def finish(self, exit_code: int, interrupted: bool) -> None:
        """Close the run; one that was cut short stays open, and the same command continues it."""
        if self.store is not None:
            if interrupted:
                self.store.close()
            else:
                self.store.finish(exit_code)

    def close_broker(self) -> None:
        """End the servers, and with the broker's socket the workers that are still there."""
        if self.broker is not None:
            self.broker.close()

    def shut_down(self) -> None:
        """End engine, servers and threads of this process."""
        self.stop_engine()
        self.close_broker()
        if self.progress is not None:
            self.progress.close()
        if self.folder is not None and not self.is_worker:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._restore_sigterm()


def is_direct(row: Mapping[str, Any]) -> bool:
    """Whether a row came from ``bench.ask``: such rows stand in no table."""
    return bool(row["run"].get("direct"))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
