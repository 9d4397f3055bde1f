"""The filler library: tasks of software engineering and machine learning, none of which touches what is planted.

Each task opens and closes in its own words; between, the user pastes what such work produces (logs, settings,
listings, tables), made by seeded forms, and the assistant answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from benchsuite.corpus.minis.mirage_gen.filler_topics import TOPICS, Topic
from benchsuite.corpus.minis.mirage_gen.numbers import Numbers
from benchsuite.corpus.minis.mirage_gen.specs import SEED
from benchsuite.corpus.script import FillerTask

Pair = tuple[str, str]


class Writer:
    """The sentences of one task: every cause and fix is said once."""

    def __init__(self, topic: Topic, numbers: Numbers) -> None:
        self.topic, self.n = topic, numbers
        self._said = {"cause": list(topic.causes), "fix": list(topic.fixes)}

    def cause(self) -> str:
        return self._said["cause"].pop(0)

    def fix(self) -> str:
        return self._said["fix"].pop(0)

    def part(self) -> str:
        return self.n.rng.choice(self.topic.parts)

    def call(self) -> str:
        return self.n.rng.choice(self.topic.calls)

    def knob(self) -> str:
        return self.n.rng.choice(self.topic.knobs)


def library(answers: Sequence[str]) -> list[FillerTask]:
    """The tasks; no number in them equals a number of ``answers``."""
    numbers = Numbers(Random(f"{SEED}:filler"), answers)
    return [_task(topic, numbers) for topic in TOPICS]


def _task(topic: Topic, numbers: Numbers) -> FillerTask:
    writer = Writer(topic, numbers)
    forms = list(FORMS)
    numbers.rng.shuffle(forms)
    turns = [topic.start, *(form(writer) for form in forms), topic.end]
    return FillerTask(topic.id, topic.title, tuple(turns))


def _log_line(w: Writer, second: int) -> str:
    n, pick = w.n, w.n.rng.randrange(6)
    head = f"{n.clock(second)} {n.rng.choice(('INFO ', 'INFO ', 'WARN ', 'DEBUG'))} {w.part()}"
    tail = (
        f"{w.call()} took {n.decimal(1, 900, 1)} ms",
        f"{w.knob()}={n.whole(2, 900)} from environment",
        f"queue depth {n.whole(3, 600)}, {n.whole(1, 90)} waiting",
        f"attempt {n.whole(2, 9)} of {w.call()} gave up after {n.whole(100, 5000)} ms",
        f"flushed {n.whole(200, 9000)} rows in {n.decimal(2, 80, 2)} s",
        f"worker {n.whole(1, 64)} joined with {n.digest()}",
    )[pick]
    return f"{head}: {tail}"


def log(w: Writer) -> Pair:
    second = w.n.rng.randrange(80_000)
    lines = []
    for _ in range(7):
        second += w.n.rng.randrange(1, 40)
        lines.append(_log_line(w, second))
    text = "\n".join(lines)
    asked = f"This is from {w.topic.service}, shortly before it went wrong. What do you make of it?\n\n{text}"
    return asked, f"{w.cause()} Look at what {w.part()} does just before the warning; the rest is normal traffic."


def settings(w: Writer) -> Pair:
    before = [(knob, w.n.whole(2, 950)) for knob in w.topic.knobs]
    text = "\n".join(f"  {knob}: {value}" for knob, value in before)
    asked = (
        f"Our settings of {w.topic.service} as deployed:\n\n{w.part()}:\n{text}\n  build: "
        f"{w.n.digest(9)}\n\nAnything odd?"
    )
    changed = "\n".join(f"  {knob}: {value} -> {w.n.whole(2, 950)}" for knob, value in before[:3])
    return asked, f"I would start with these three and leave the others alone:\n{changed}\n{w.fix()}"


def benchmark(w: Writer) -> Pair:
    metrics = w.topic.metrics
    names = [f"{w.part()}-{w.n.digest(4)}" for _ in range(5)]
    rows = [
        "| " + " | ".join([name, w.n.decimal(0.2, 99, 3), w.n.decimal(1, 800, 2), w.n.whole(40, 9000)]) + " |"
        for name in names
    ]
    table = "\n".join([f"| variant | {' | '.join(metrics)} |", "|---|---|---|---|", *rows])
    asked = f"I ran five variants of {w.call()} yesterday:\n\n{table}\n\nWhich one would you keep?"
    keep, other = w.n.rng.sample(names, 2)
    return asked, (
        f"{keep}: it is not first in {metrics[0]}, but it is steady. Repeat it against {other} with "
        f"{w.n.whole(5, 30)} seeds before we decide, and write down the machine that it ran on."
    )


def listing(w: Writer) -> Pair:
    first, second, part = w.call(), w.call(), w.part()
    bound, size = w.n.whole(50, 5000), w.n.whole(3, 900)
    asked = (
        f"Could you tidy this function of {part}? It grew by accident.\n\n"
        f"def {first}(batch, limit={bound}):\n    out = []\n    for i in range(0, len(batch)):\n"
        f"        item = batch[i]\n        if item is None:\n            continue\n"
        f"        if len(out) >= limit:\n            break\n        if item.size > {size}:\n"
        f"            out.append({second}(item))\n        else:\n            out.append(item)\n    return out"
    )
    reply = (
        f"The same in fewer moves:\n\nLARGE = {size}\n\ndef {first}(batch, limit={bound}):\n"
        f"    kept = (item for item in batch if item is not None)\n"
        f"    return [{second}(item) if item.size > LARGE else item for item in islice(kept, limit)]\n\n"
        f"A test of {first} with an empty batch is worth adding."
    )
    return asked, reply


def failing_test(w: Writer) -> Pair:
    part, call, line = w.part(), w.call(), w.n.whole(40, 700)
    got, wanted = w.n.whole(10, 990), w.n.whole(10, 990)
    asked = (
        f"One test of {w.topic.service} is red since commit {w.n.digest()}:\n\n"
        f"    def test_{call}_in_{part}():\n        ctx = make_context(seed={w.n.whole(1, 99)})\n"
        f">       assert {call}(ctx).total == {wanted}\nE       assert {got} == {wanted}\n"
        f"E        +  where {got} = Result(total={got}, skipped={w.n.whole(1, 60)}).total\n\n"
        f"tests/test_{part}.py:{line}: AssertionError\n{w.n.whole(100, 900)} passed, 1 failed in "
        f"{w.n.decimal(2, 90, 2)}s"
    )
    return (
        asked,
        f"{w.cause()} That also explains why it passes alone. {w.fix()} Then run it with {w.n.whole(20, 300)} seeds.",
    )


def trace(w: Writer) -> Pair:
    frames = "\n".join(
        f'  File "{w.topic.service}/{w.part()}.py", line {w.n.whole(12, 900)}, in {call}\n    return '
        f"{w.call()}(ctx, {w.n.whole(2, 64)})"
        for call in w.n.rng.sample(w.topic.calls, 3)
    )
    error = w.n.rng.choice(("TimeoutError", "RuntimeError", "ValueError", "KeyError"))
    asked = (
        f"Replica {w.n.whole(2, 40)} of {w.topic.service} died with this:\n\nTraceback (most recent call "
        f"last):\n{frames}\n"
        f"{error}: {w.knob()} exceeded after {w.n.whole(30, 9000)} ms"
    )
    return (
        asked,
        f"The last call only passes the error on. {w.cause()} I can prepare a patch for {w.part()} with a test.",
    )


def breakdown(w: Writer) -> Pair:
    steps = [*w.topic.calls, *w.topic.parts[:3]]
    rows = "\n".join(f"{step:<20}{w.n.decimal(0.5, 400, 2):>9} s{w.n.whole(2, 4000):>8} calls" for step in steps)
    asked = f"Where the time goes in {w.topic.service}, averaged over {w.n.whole(5, 90)} runs:\n\n{rows}\n\nWhat first?"
    return asked, (
        f"{steps[0]} and {steps[4]} together, since they wait for each other. Cutting the number of calls helps more "
        f"than making one call faster. I expect a gain of about {w.n.whole(12, 60)} percent; measure before and after."
    )


def review(w: Writer) -> Pair:
    notes = (
        f"{w.part()}.py:{w.n.whole(10, 400)} why is {w.knob()} read twice?",
        f"{w.part()}.py:{w.n.whole(10, 400)} please name this constant, {w.n.whole(100, 9000)} says nothing",
        f"{w.call()}: can this be None after a restart?",
        f"tests: nothing covers the branch where {w.call()} raises",
        f"docs: {w.knob()} is missing from the reference",
    )
    text = "\n".join(f"{place}. {note}" for place, note in enumerate(notes, 1))
    asked = (
        f"Comments on my pull request for {w.topic.title}, number {w.n.whole(1000, 9900)}:\n\n{text}\n\nHow do "
        f"I answer?"
    )
    return asked, (
        f"Agree with the first two and push them as one commit. For the third, a guard in {w.part()} and a line in the "
        f"docstring. The fourth needs a real test; I would raise from a fake {w.call()}. The last is a one-line change."
    )


def history(w: Writer) -> Pair:
    lines = "\n".join(
        f"{w.n.digest()} {verb} {name}"
        for verb, name in zip(
            ("fix race in", "extract", "bump timeout of", "revert change to", "document", "speed up", "drop"),
            w.n.rng.sample([*w.topic.parts, *w.topic.calls], 7),
            strict=True,
        )
    )
    asked = (
        f"Write release notes for {w.topic.service} {w.n.whole(2, 9)}.{w.n.whole(0, 30)}.{w.n.whole(0, 9)} "
        f"from these commits:\n\n{lines}"
    )
    return asked, (
        f"Fixed: a race that could stall {w.part()}.\nFaster: {w.call()} under load.\nChanged: longer default for "
        f"{w.knob()}; see the upgrade notes.\nRemoved: an unused entry point. No action is needed for most setups."
    )


def query(w: Writer) -> Pair:
    table = f"{w.part()}_events"
    rows = "\n".join(
        f"2026-0{w.n.rng.randrange(1, 7)}-{w.n.rng.randrange(10, 28)}  {w.n.whole(400, 99_000):>7}  "
        f"{w.n.decimal(0, 9, 3):>7}"
        for _ in range(6)
    )
    asked = (
        f"Is this the right way to count what {w.call()} did by day?\n\nSELECT day, count(*) AS n, avg(bytes_out) "
        f"AS mean_bytes\n"
        f"FROM {table}\nWHERE service = '{w.topic.service}' AND bytes_out < {w.n.whole(20, 900)}\nGROUP BY "
        f"day;\n\n{rows}"
    )
    return asked, (
        f"Nearly. Count distinct request ids, otherwise retries of {w.call()} are added up again, and filter on "
        f"day before "
        f"you group, so that the partition of {table} is used. {w.fix()}"
    )


def plan(w: Writer) -> Pair:
    asked = (
        f"Let us plan the rest of {w.topic.title}. I have {w.n.whole(3, 9)} days, one reviewer and a freeze at the "
        f"end. "
        f"What goes in, what waits?"
    )
    steps = "\n".join(
        f"Day {day}: {text}"
        for day, text in enumerate(
            (
                f"reproduce on {w.n.whole(2, 9)} machines and record a trace of {w.call()}",
                f"patch {w.part()} behind a switch, default off",
                f"soak at {w.n.whole(5, 40)} percent and watch {w.topic.metrics[0]}",
                f"switch on, then remove {w.knob()} from the settings",
            ),
            1,
        )
    )
    return asked, f"{steps}\nThe refactoring of {w.part()} waits until after the freeze. {w.cause()} {w.fix()}"


def shell(w: Writer) -> Pair:
    lines = "\n".join(
        f"{w.n.whole(1000, 32000):>6} {w.n.decimal(0, 99, 1):>5} {w.n.decimal(0, 30, 1):>5} {w.n.whole(40, 9000):>6}M "
        f"{state} {w.topic.service}/{part}"
        for state, part in zip("SDRSS", w.topic.parts, strict=True)
    )
    asked = (
        f"The machine under {w.topic.service} feels slow. I ran two commands on it:\n\n$ ps -o "
        f"pid,pcpu,pmem,rss,stat,args\n{lines}\n"
        f"$ cat /proc/loadavg\n{w.n.decimal(1, 40, 2)} {w.n.decimal(1, 40, 2)} {w.n.decimal(1, 40, 2)} "
        f"{w.n.whole(2, 9)}/{w.n.whole(300, 4000)} {w.n.whole(1000, 32000)}\n\nIs it the CPU or the disk?"
    )
    return asked, (
        f"A process marked D waits for the disk, and the load is above what the processors account for, so I would "
        f"look "
        f"at writes first. Trace {w.call()} for {w.n.whole(20, 90)} seconds; if {w.part()} syncs after every "
        f"record, that is it."
    )


def event(w: Writer) -> Pair:
    entries = ",\n".join(
        f'    {{"at": "{w.n.clock(w.n.rng.randrange(80_000))}", "call": "{w.call()}", "ms": {w.n.decimal(1, 900, 2)}, '
        f'"rows": {w.n.whole(10, 9000)}}}'
        for _ in range(5)
    )
    asked = (
        f'One event of {w.topic.service} as it reaches the collector:\n\n{{\n  "id": "{w.n.digest(12)}",\n'
        f'  "part": "{w.part()}",\n  "{w.knob()}": {w.n.whole(2, 900)},\n  "spans": [\n{entries}\n  ]\n}}\n\n'
        f"Which fields can we drop without losing the debugging value?"
    )
    return asked, (
        f"Keep id, part and the spans' calls with their times. The rows can be summed over the spans, and {w.knob()} "
        f"belongs into the start-up record, not into every event. That saves about {w.n.whole(20, 70)} percent of "
        f"the bytes."
    )


FORMS: tuple[Callable[[Writer], Pair], ...] = (
    log, settings, benchmark, listing, failing_test, trace, breakdown, review, history, query, plan, shell, event,
)  # fmt: skip
