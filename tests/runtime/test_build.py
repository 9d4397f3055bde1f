"""A checkpoint is built once, by whoever asks first; a build that was killed goes on."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchsuite.errors import ConfigError, DataError, EndpointError
from benchsuite.runtime.agent import ROUNDS
from benchsuite.runtime.checkpoint import CheckpointStore
from benchsuite.runtime.conversation import SUMMARY, TOOL

from .world import (
    CHART,
    GOLD,
    PROTOCOL,
    SUMMARISER,
    TINY,
    TURNS,
    WRITER,
    Teller,
    TinyCorpus,
    build_one,
    builder,
    called,
    play,
    roles,
    script,
    summing_up,
    text_of,
    wanted,
    written,
)

ROOT = Path(__file__).parents[2]


def start(folder, state, log, how="plain", *more):
    arguments = [folder, state, log, how, *more]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.runtime.build_one", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out.strip(), err


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


def nobody(n, request):
    raise AssertionError("nothing was to be asked")


# one flight


def test_of_several_processes_one_builds_and_all_get_the_same(tmp_path):
    log = tmp_path / "log"
    processes = [start(tmp_path / "cache", state, log, "slow") for state in ("S2", "S2", "S2-d20k", "S2", "S2-d20k")]
    ended = [finish(process) for process in processes]
    assert [code for code, _, _ in ended] == [0] * 5, ended
    assert Counter(name for _, name, _ in ended).most_common() == [(ended[0][1], 3), (ended[2][1], 2)]
    assert lines(log) == [SUMMARISER.name]
    assert len(list((tmp_path / "cache" / "checkpoint").glob("*.json"))) == 2


def test_without_the_lock_each_of_them_asks(tmp_path, monkeypatch):
    """What the test above would show if nobody waited for anybody: it can fail."""
    monkeypatch.setattr("benchsuite.runtime.build.fcntl.flock", lambda *a: None)
    tellers = [Teller(summing_up) for _ in range(3)]
    builders = [builder(tmp_path, teller) for teller in tellers]

    async def every():
        return await asyncio.gather(*(each.checkpoint(wanted("S2")) for each in builders))

    asyncio.run(every())
    assert sum(len(teller.asked) for teller in tellers) == 3


def test_inside_a_process_one_builds(tmp_path):
    teller = Teller(summing_up)
    made = builder(tmp_path, teller)

    async def every():
        return await asyncio.gather(*(made.checkpoint(wanted("S2")) for _ in range(64)))

    assert len({id(each) for each in asyncio.run(every())}) == 1
    assert len(teller.asked) == 1


def test_a_holder_of_the_lock_that_is_killed_frees_it(tmp_path):
    log, cache = tmp_path / "log", tmp_path / "cache"
    holder = start(cache, "S2", log, "hang")
    assert holder.stdout.readline() == "asked\n"
    waiting = start(cache, "S2", log, "plain")
    time.sleep(0.5)
    assert waiting.poll() is None
    assert len(lines(log)) == 1
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    code, name, err = finish(waiting)
    assert code == 0, err
    assert len(lines(log)) == 2
    assert CheckpointStore(cache).load(name).compactions == 1


def test_what_is_built_is_found_by_a_later_process(tmp_path):
    made = build_one(tmp_path, Teller(summing_up), wanted("S2"))
    assert build_one(tmp_path, Teller(nobody), wanted("S2")) == made


def test_an_error_is_that_of_all_who_want_it_and_a_later_run_asks_again(tmp_path):
    def fails(n, request):
        raise EndpointError("timeout", "sum", "no answer in time")

    teller = Teller(fails)
    made = builder(tmp_path, teller)

    async def every():
        return await asyncio.gather(*(made.checkpoint(wanted("S2")) for _ in range(8)), return_exceptions=True)

    assert {str(each) for each in asyncio.run(every())} == {"sum: no answer in time"}
    assert len(teller.asked) == 1
    assert build_one(tmp_path, Teller(summing_up), wanted("S2")).compactions == 1


# what a state depends on


def test_another_summariser_form_or_parameter_is_another_build(tmp_path):
    teller = Teller(lambda n, request: f"Summary {n} is this.")
    found = {}
    for name, changes in {
        "plain": {},
        "model": {"summariser": replace(SUMMARISER, model="sum-2")},
        "params": {"summariser": replace(SUMMARISER, params={"temperature": 1})},
        "form": {"summary": "free"},
        "recall": {"recall": "norecall"},
    }.items():
        found[name] = build_one(tmp_path, teller, wanted("S2", **changes))
    assert len({each.id for each in found.values()}) == 5
    assert found["recall"].spoken == found["plain"].spoken
    assert len(teller.asked) == 4


def test_before_a_compaction_no_summariser_matters(tmp_path):
    first = build_one(tmp_path, Teller(nobody), wanted("S1-d16k"))
    other = wanted("S1-d16k", summariser=replace(SUMMARISER, model="sum-2", params={}), summary="cited")
    assert build_one(tmp_path, Teller(nobody), other) is not first
    assert build_one(tmp_path, Teller(nobody), other) == first
    assert len(list((tmp_path / "checkpoint" / "keys").iterdir())) == 1


def test_two_names_of_one_place_share_a_file_and_keep_their_names(tmp_path):
    first, second = (build_one(tmp_path, Teller(nobody), wanted(state)) for state in ("S1-d0", "S1-d1k"))
    assert first.id == second.id
    assert (first.state, second.state) == ("S1-d0", "S1-d1k")
    again = [build_one(tmp_path, Teller(nobody), wanted(state)).state for state in ("S1-d1k", "S1-d0")]
    assert again == ["S1-d1k", "S1-d0"]
    assert len(list((tmp_path / "checkpoint").glob("*.json"))) == 1


def test_another_script_is_another_build(tmp_path):
    build_one(tmp_path, Teller(nobody), wanted("S1-d16k"))
    other = TinyCorpus(script(seed=4))
    assert build_one(tmp_path, Teller(nobody), wanted("S1-d16k"), other).spoken[6].id != "f0.task3.0u"


def test_a_corpus_without_a_script_and_a_length_that_it_has_not(tmp_path):
    with pytest.raises(ConfigError, match="mirage has no conversation states: its corpus has no script"):
        build_one(tmp_path, Teller(nobody), wanted(), TinyCorpus(None))
    with pytest.raises(ConfigError, match="tiny-bank: no scale 'paper'; there is: tiny"):
        build_one(tmp_path, Teller(nobody), wanted(length="paper"))


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "checkpoint").write_text("in the way")
    with pytest.raises(ConfigError, match=r"checkpoints .*checkpoint cannot be written: "):
        build_one(tmp_path, Teller(nobody), wanted())


# a trunk that a model writes


def says_written(n, request):
    return written(request) if request.tools else summing_up()


def test_a_model_writes_the_replies_and_the_user_stays_scripted(tmp_path):
    teller = Teller(says_written)
    found = build_one(tmp_path, teller, wanted("S1-d20k", writer=WRITER))
    plain = play("S1-d20k", tmp_path / "plain")
    said = [each.text for each in found.spoken if each.role == "user"]
    assert said == [each.text for each in plain.transcript if each.role == "user"][: len(said)]
    assert all(each.text.startswith("Reply ") for each in found.spoken if each.role == "assistant")
    assert found.writer == "inprocess/writer#writer-1"
    assert found.id != plain.id
    assert set(found.workspace) == set(plain.workspace)
    assert found.depth >= 200
    first = teller.asked[0]
    assert roles(first.messages) == ["system", "user"]
    assert roles(teller.asked[2].messages) == ["system", *["user", "assistant"] * 2, "user"]
    assert [len(request.images) for request in teller.asked[:3]] == [0, 1, 1]


def test_a_killed_build_goes_on_from_its_last_turn(tmp_path):
    log, cache = tmp_path / "log", tmp_path / "cache"
    code, _, err = finish(start(cache, "S1-d20k", log, "writing", 5))
    assert code == -signal.SIGKILL, err
    assert len(lines(log)) == 5
    teller = Teller(says_written)
    found = build_one(cache, teller, wanted("S1-d20k", writer=WRITER))
    assert len(teller.asked) == found.step - 4  # the fifth reply was lost with the process
    assert found == build_one(tmp_path / "whole", Teller(says_written), wanted("S1-d20k", writer=WRITER))
    more = Teller(says_written)
    deeper = build_one(cache, more, wanted("S1-d29k", writer=WRITER))
    assert len(more.asked) == deeper.step - found.step


def test_a_last_line_that_was_cut_is_written_again(tmp_path):
    first = Teller(says_written)
    found = build_one(tmp_path, first, wanted("S1-d16k", writer=WRITER))
    [journal] = (tmp_path / "checkpoint" / "trunks").iterdir()
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-20])
    for file in (tmp_path / "checkpoint" / "keys").iterdir():
        file.unlink()
    again = Teller(says_written)
    assert build_one(tmp_path, again, wanted("S1-d16k", writer=WRITER)) == found
    assert len(again.asked) == 1
    assert journal.read_bytes() == whole


def test_a_reply_belongs_to_what_was_shown_and_not_to_its_number(tmp_path):
    """After compactions by two summarisers the same turn is two turns."""
    teller = Teller(lambda n, request: written(request) if request.tools else f"Summary {n} of it.")
    first, second = (
        build_one(tmp_path, teller, wanted("S2-d22k", writer=WRITER, summariser=replace(SUMMARISER, model=model)))
        for model in ("sum-1", "sum-2")
    )
    tail = [[each.text for each in found.spoken if each.kind != SUMMARY][2 * TINY.kept :] for found in (first, second)]
    assert tail[0]
    assert not set(tail[0][1::2]) & set(tail[1][1::2])
    assert first.transcript[:20] == second.transcript[:20]


def test_tool_calls_of_the_writer_stay_in_the_conversation(tmp_path):
    def says(n, request):
        if n == 3:
            return called("artifact_recall", json.dumps({"query": CHART}))
        return written(request)

    teller = Teller(says)
    found = build_one(tmp_path, teller, wanted("S1-d20k", writer=WRITER))
    turn = [each for each in found.spoken if each.id.startswith("t3")]
    assert [(each.role, each.kind) for each in turn] == [
        ("user", "text"),
        ("assistant", "text"),
        ("tool", TOOL),
        ("user", TOOL),
        ("assistant", "text"),
    ]
    assert GOLD in turn[2].text
    assert turn[3].images == TURNS[2].images
    later = teller.asked[4]  # renders the turn as it was sent when it happened
    assert roles(later.messages)[5:] == ["user", "assistant", "tool", "user", "assistant", "user"]
    assert [m.digest for m in later.messages[:9]] == [m.digest for m in teller.asked[3].messages]
    assert [item.id for item in CheckpointStore(tmp_path).items(found) if item.id.startswith("t3")] == [
        "t3",
        "t3.reply",
    ]
    assert found.captured[-1] == found.context[-2]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (lambda: "  ", "returned nothing"),
        (lambda: called("memory_search", '{"query": "ferry"}'), "goes on calling tools"),
    ],
)
def test_a_writer_that_says_nothing_is_one_line(tmp_path, reply, words):
    teller = Teller(lambda n, request: reply())
    with pytest.raises(DataError, match=f"tiny-bank: item tiny: t1: the trunk's writer writer .* {words}"):
        build_one(tmp_path, teller, wanted(writer=WRITER))
    assert len(teller.asked) == (1 if words == "returned nothing" else ROUNDS)


def test_another_wording_writes_another_trunk(tmp_path):
    build_one(tmp_path, Teller(says_written), wanted("S1-d11k", writer=WRITER))
    teller = Teller(says_written)
    other = builder(tmp_path, teller, protocol=replace(PROTOCOL, system=PROTOCOL.system + " Be kind."))
    asyncio.run(other.checkpoint(wanted("S1-d11k", writer=WRITER)))
    assert "Be kind." in text_of(teller.asked[0])
