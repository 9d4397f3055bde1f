"""Where a trunk's milestones are, what stands in the workspace there, and what a compaction leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchsuite.corpus.codec import history_of
from benchsuite.corpus.model import Session
from benchsuite.errors import BenchError, ConfigError, DataError, EndpointError
from benchsuite.models.wire import Reply

from .world import (
    ARTIFACTS,
    CHART,
    FILLER,
    GOLD,
    MEMO,
    START,
    TINY,
    TURNS,
    Teller,
    picture,
    play,
    script,
    stage,
    summing_up,
    text_of,
    tokens_of,
)

PLANTED = [turn.id for turn in TURNS]


def before_last_exchange(checkpoint):
    """Tokens of the context one turn earlier; every turn of the tiny trunk is a pair."""
    return tokens_of(checkpoint.spoken[:-2])


def test_the_first_state_is_the_end_of_the_planting(tmp_path):
    found = play("S1-d0", tmp_path)
    assert [each.id for each in found.spoken] == PLANTED
    assert (found.step, found.compactions, found.summary, found.summariser) == (3, 0, "", "")
    assert found.depth == found.active == tokens_of(found.spoken) > START


@pytest.mark.parametrize("depth", [11, 16, 20, 25, 29])
def test_a_depth_is_the_first_turn_boundary_at_or_above_it(tmp_path, depth):
    found = play(f"S1-d{depth}k", tmp_path)
    assert before_last_exchange(found) < depth * TINY.per_k <= found.depth == tokens_of(found.spoken)
    assert found.spoken[-1].role == "assistant"


def test_a_boundary_exactly_at_the_depth_counts(tmp_path):
    at = play("S1-d20k", tmp_path).depth
    exact = replace(TINY, per_k=1)
    assert play(f"S1-d{at}k", tmp_path, exact).depth == at
    assert play(f"S1-d{at + 1}k", tmp_path, exact).depth > at


def test_a_depth_below_the_planting_is_the_end_of_the_planting(tmp_path):
    assert play("S1-d1k", tmp_path).id == play("S1-d0", tmp_path).id


def test_nothing_of_the_filler_stands_before_the_planting_unless_the_scale_wants_it(tmp_path):
    scale = replace(TINY, planted=200)
    found = play("S1-d0", tmp_path, scale)
    ids = [each.id for each in found.spoken]
    assert ids[-6:] == PLANTED
    assert ids[0].startswith("f0.")
    assert found.depth >= 200
    assert tokens_of(found.spoken[2:]) < 200  # one filler turn less would not do


def test_filler_goes_on_where_the_lead_in_stopped(tmp_path):
    ids = [each.id for each in play("S1-d29k", tmp_path, replace(TINY, planted=200)).spoken]
    at = ids.index("t1")
    filler = ids[:at] + ids[at + 6 :]
    assert len(set(filler)) == len(filler) == len(ids) - 6
    assert filler == [each.id for each in play("S1-d29k", tmp_path).spoken][6:][: len(filler)]


def test_all_tasks_of_a_round_come_before_the_next_and_in_another_order(tmp_path):
    found = play("S1-d45k", tmp_path, replace(TINY, compaction=500))
    users = [each.id for each in found.transcript if each.id.startswith("f") and each.role == "user"]
    assert len(users) > 2 * 8
    rounds = [[name.split(".")[1] for name in users[at : at + 8]] for at in (0, 8)]
    assert [set(tasks) for tasks in rounds] == [{task.id for task in FILLER}] * 2
    assert rounds[0] != rounds[1]
    other = play("S1-d25k", tmp_path, on=replace(stage(), script=script(seed=4)))
    assert [each.id for each in other.spoken][6:] != [each.id for each in play("S1-d25k", tmp_path).spoken][6:]


def test_files_appear_after_their_turn(tmp_path):
    scale = replace(TINY, planted=120)
    long = stage(scale)
    seen = {}

    async def write(context, exchange, workspace):
        seen[exchange[0].id] = {path for path, _ in workspace.files()}
        return exchange

    play("S1-d0", tmp_path, on=replace(long, write=write))
    chart, table = f"artifacts/{CHART}.png", f"records/{CHART}_table.csv"
    for name, files in seen.items():
        assert "notes/start.md" in files
        assert (chart in files) == (table in files) == (name == "t3"), name
        assert not {"memory/2026-03-04.md", f"artifacts/{MEMO}.txt", "notes/after.md"} & files
    found = play("S1-d0", tmp_path, scale)
    assert set(found.workspace) == {
        "notes/start.md",
        "notes/after.md",
        *(path for artifact in ARTIFACTS for path in artifact.paths),
    }
    assert found.workspace[table].about == found.workspace["memory/2026-03-04.md"].about == CHART
    assert found.workspace[chart].image == TURNS[2].images[0]
    assert found.workspace["notes/start.md"].about == ""


def test_pictures_of_the_transcript_are_kept_as_blobs_whoever_they_are_of(tmp_path):
    plain = picture(77)
    turns = (replace(TURNS[0], images=(plain,)), *TURNS[1:])
    play("S1-d0", tmp_path, on=replace(stage(), history=history_of([Session("s1", "", turns)])))
    for image in (plain, TURNS[2].images[0]):
        assert len(list((tmp_path / "blobs").glob(f"*/{image.sha256}"))) == 1


def test_the_second_regime_is_right_after_the_compaction(tmp_path):
    teller = Teller(summing_up)
    found = play("S2", tmp_path, teller=teller)
    assert len(teller.asked) == found.compactions == 1
    ids = [each.id for each in found.spoken]
    assert ids[:2] == ["c1", "c1a"]
    assert len(ids) == 2 + 2 * TINY.kept
    assert ids[2:] == [each.id for each in found.transcript if each.kind == "text"][-2 * TINY.kept :]
    assert summing_up() in found.spoken[0].text
    assert found.depth >= TINY.compaction > found.active == tokens_of(found.spoken)
    assert found.workspace["memory/compaction-1.md"].about == ""
    assert (found.summary, found.summariser) == ("verbatim", "sum")
    before = play("S1-d29k", tmp_path)
    assert found.step == before.step + 1  # the turn that passed the compaction is the capture
    assert f"artifacts/{CHART}.png" in found.workspace


def test_the_summariser_sees_all_but_the_kept_turns_and_no_picture(tmp_path):
    teller = Teller(summing_up)
    found = play("S2", tmp_path, teller=teller)
    [request] = teller.asked
    told, kept = text_of(request), found.spoken[2:]
    assert request.images == []
    assert request.tools == ()
    assert all(each.text in told for each in found.transcript[:6])
    # filler texts come back in each round: the kept turns themselves are the last of what was said
    assert told.count("user: ") == sum(each.role == "user" and each.kind == "text" for each in found.transcript) - 2
    assert kept[0].text not in told.splitlines()[-1]
    assert "at most 40 words" in told


def test_depths_after_a_compaction_and_a_third_regime(tmp_path):
    teller = Teller(lambda n, request: f"Summary number {n} of the work.")
    second, deeper = play("S2", tmp_path, teller=teller), play("S2-d20k", tmp_path, teller=teller)
    assert second.active < 200 <= deeper.depth == deeper.active == tokens_of(deeper.spoken)
    assert before_last_exchange(deeper) < 200
    assert deeper.compactions == 1
    assert play("S2-d1k", tmp_path, teller=teller).id == second.id
    third = play("S3", tmp_path, teller=teller)
    assert third.compactions == 2
    assert [each.id for each in third.spoken][:2] == ["c2", "c2a"]
    assert "Summary number 1 of the work." in text_of(teller.asked[-1])
    assert {"memory/compaction-1.md", "memory/compaction-2.md"} <= set(third.workspace)


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_the_newest_turns_stay(tmp_path, kept):
    found = play("S2", tmp_path, replace(TINY, kept=kept))
    assert len(found.spoken) == 2 + 2 * kept


@pytest.mark.parametrize("kept", [14, 16, 50])
def test_a_compaction_of_kept_turns_alone_is_no_compaction(tmp_path, kept):
    """The fourteenth turn passes the threshold; a bound above the number of turns must not wrap around."""
    with pytest.raises(DataError, match="never reached: summary and kept turns alone are past the compaction"):
        play("S2", tmp_path, replace(TINY, kept=kept))


def test_what_the_last_request_showed_is_kept_beside_what_the_model_sees_now(tmp_path):
    found = play("S1-d16k", tmp_path)
    assert found.captured == found.context[:-1]  # all but the reply
    found = play("S2", tmp_path)
    captured = [found.transcript[at].id for at in found.captured]
    assert captured[:6] == PLANTED
    assert captured[-1] == found.spoken[-2].id


def test_two_messages_of_the_user_in_a_row_were_both_in_the_last_request(tmp_path):
    turns = (*TURNS[:4], replace(TURNS[1], id="t3b", role="user", text="One more."), *TURNS[4:])
    made = replace(stage(), history=history_of([Session("s1", "", turns)]))
    found = play("S1-d0", tmp_path, on=made)
    assert [found.transcript[at].id for at in found.captured] == [*PLANTED[:4], "t3b", "t3"]


def test_the_same_conversation_has_the_same_ids_wherever_it_is_built(tmp_path):
    for state in ("S1-d0", "S1-d25k", "S2", "S3-d20k"):
        first, second = play(state, tmp_path / "a"), play(state, tmp_path / "b")
        assert first == second
        assert first.id == second.id


def test_a_depth_past_the_compaction_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="state S1-d30k is never reached: it is at 300 tokens"):
        play("S1-d30k", tmp_path)


def test_filler_that_ends_too_early_is_one_line(tmp_path):
    with pytest.raises(DataError) as caught:
        play("S1-d29k", tmp_path, replace(TINY, rounds=1))
    text = str(caught.value)
    assert text.startswith("tiny-bank: item tiny: state S1-d29k: is never reached: the filler ends at ")
    assert text.endswith("after 1 rounds of 4 tasks")
    with pytest.raises(DataError, match="the filler ends at"):
        play("S1-d0", tmp_path, replace(TINY, planted=290, rounds=1))


def test_planting_past_the_compaction_is_one_line(tmp_path):
    with pytest.raises(DataError, match=r"state S1-d0: is never reached: the planting is not over at \d+ tokens"):
        play("S1-d0", tmp_path, replace(TINY, compaction=80))
    with pytest.raises(DataError, match="the planting is not over at"):
        play("S2", tmp_path, replace(TINY, compaction=80))


def test_a_summary_that_does_not_shorten_anything_is_one_line(tmp_path):
    with pytest.raises(DataError, match="never reached: summary and kept turns alone are past the compaction"):
        play("S3", tmp_path, teller=Teller(lambda n, request: "word " * 400))


def test_a_compaction_that_fails_is_no_state(tmp_path):
    def fails(n, request):
        raise EndpointError("http", "sum", "no capacity", 503)

    with pytest.raises(EndpointError, match="sum: HTTP 503: no capacity"):
        play("S2", tmp_path, teller=Teller(fails))
    assert not (tmp_path / "summaries").exists()
    assert play("S1-d29k", tmp_path, teller=Teller(fails)).compactions == 0


@pytest.mark.parametrize("text", ["", "  \n", "<think>what to say</think> "])
def test_a_summariser_that_returns_nothing_is_one_line(tmp_path, text):
    with pytest.raises(BenchError, match=r"compaction: .* returned no summary \(finish: length\)") as caught:
        play("S2", tmp_path, teller=Teller(lambda n, request: Reply(text, finish="length")))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "summaries").exists()


def test_a_summary_is_asked_for_once_and_kept(tmp_path):
    teller = Teller(lambda n, request: f"Summary number {n}.")
    first = play("S2", tmp_path, teller=teller)
    assert play("S2", tmp_path, teller=teller) == first
    assert len(teller.asked) == 1
    play("S3", tmp_path, teller=teller)
    assert len(teller.asked) == 2
    assert play("S2", tmp_path / "other", teller=teller).id != first.id  # another summary, another state


@pytest.mark.parametrize("form", ["free", "cited"])
def test_a_form_rewrites_the_same_summary(tmp_path, form):
    teller = Teller(lambda n, request: f"Draft {n} with {GOLD}.")
    play("S2", tmp_path, teller=teller)
    found = play("S2", tmp_path, teller=teller, summary=form)
    assert len(teller.asked) == 2  # the draft was there
    assert f"Draft 1 with {GOLD}." in text_of(teller.asked[1])
    assert "user: " not in text_of(teller.asked[1])
    assert f"Draft 2 with {GOLD}." in found.spoken[0].text
    assert found.summary == form


def test_reasoning_is_no_part_of_a_summary(tmp_path):
    found = play("S2", tmp_path, teller=Teller(lambda n, request: "<think>hm</think>\nThe chart {of} June."))
    assert "hm" not in found.spoken[0].text
    assert "The chart {of} June." in found.spoken[0].text
