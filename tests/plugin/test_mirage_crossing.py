"""Deliveries, retrievals, retention and recall crossed with conversation states, and audits of all that is sent."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import Counter

import pytest
from PIL import Image as PillowImage

from benchsuite.corpus.mirage import MINI_FOLDER

from .mirage_lab import (
    NOTHING,
    asked,
    bank_json,
    images_in,
    is_capture,
    is_probe,
    is_summary,
    often,
    pictures,
    playing,
    rows_of,
    run,
    said,
    text_of,
    tool_call,
    use_cases,
    words,
    write_bank,
)

STORED = {hashlib.sha256(file.read_bytes()).hexdigest() for file in (MINI_FOLDER / "images").iterdir()}
HEAD = "Messages from earlier in this conversation:"
STUB = "[A picture was shown here; it is no longer in view."
MAIN = bank_json()["splits"]["main"]
TEXTS = {each["id"]: each["question"] for each in MAIN["probes"]}
PLANTED = {f"t{number}" for number, turn in enumerate(MAIN["turns"], 1) if "artifact" in turn}
LIMIT = ("--bench-limit", "4")


def axis(**values: str) -> list[str]:
    return [part for name, value in values.items() for part in ("--bench-axis", f"{name}={value}")]


@pytest.fixture
def states(project):
    use_cases(project, "test_states")
    project.endpoint.script = playing(lambda body: NOTHING)
    return project


def ask(project, *args: str, workers: int = 0, **axes: str) -> list[dict]:
    """The probes that a run sends, a request of a cell each."""
    before = len(project.endpoint.bodies)
    result = run(project, *LIMIT, *axis(**axes), *args, workers=workers)
    assert result.ret == 0, result.stdout.str()
    return list(filter(is_probe, project.endpoint.bodies[before:]))


def memory_and_context(body) -> tuple[dict, list[dict]]:
    """The probe's own message, and all before it."""
    return body["messages"][-1], body["messages"][:-1]


def digests(images) -> list[str]:
    return [hashlib.sha256(data).hexdigest() for data in images]


# --- deliveries, with memory from a retrieval ---


@pytest.mark.parametrize(
    "delivery",
    [
        *("direct+noimg", "deployed"),
        *often("direct", "pixels", "noimg", "stored", "pixels+caption", "pixels+s384"),
    ],
)
def test_a_delivery_at_a_state_is_that_of_context_and_memory(states, delivery):
    """The oracle brings back the gold turn of what can be answered, among three; they stand before the question."""
    bodies = ask(states, state="S1-d50k", delivery=delivery, retrieval="oracle", k="3")
    rows = {TEXTS[row["question"]]: row for row in rows_of(states)}
    assert len(bodies) == 4
    assert {row["answerable"] for row in rows.values()} == {True, False}
    for body in bodies:
        row = rows[asked(body)]
        last, context = memory_and_context(body)
        shown = [data for message in context for data in pictures(message)]
        memory = pictures(last)
        assert row["n_images"] == len(shown) + len(memory)
        assert row["n_items"] == len(row["items"]) == 3
        text = text_of(last)
        assert text.startswith(HEAD)
        assert text.index(HEAD) < text.index("Question: ")
        if row["answerable"]:
            (gold,) = [turn["text"] for turn in MAIN["turns"] if turn.get("artifact") == row["cluster"]]
            assert gold in text
        before = "\n".join(map(text_of, context))
        assert HEAD not in before
        count = sum(name in PLANTED for name in row["items"])
        assert count >= row["answerable"]
        assert ("carry the tag M" in before, "carry the tag M" in text) == (False, delivery == "deployed" and count > 0)
        if delivery in ("noimg", "direct+noimg", "pixels+caption"):
            captions = [found.count("[Picture ") for found in (before, text)]
            assert captions == ([6, count] if delivery == "pixels+caption" else [0, 0])
            assert images_in(body) == []
            continue
        assert len(shown) == 6
        assert len(memory) == count
        if delivery in ("direct", "stored"):
            assert set(digests(shown + memory)) <= STORED
        sides = [max(PillowImage.open(io.BytesIO(data)).size) for data in shown + memory]
        assert max(sides) <= (384 if delivery == "pixels+s384" else 768)
        if delivery == "deployed":  # a tag is in the pixels of what was retrieved, and of nothing else
            assert set(digests(memory)).isdisjoint(STORED)
            assert set(digests(memory)).isdisjoint(digests(shown))


@pytest.mark.parametrize("state", [*often("S1-d0"), "S2"])
@pytest.mark.parametrize(("retrieval", "count"), [("recency", 3), *often(("random", 3), ("full", 0)), ("none", 0)])
def test_a_retrieval_at_a_state_stands_before_the_question(states, retrieval, count, state):
    """After a compaction it brings back what the summary replaced; what the compaction wrote is no memory."""
    bodies = ask(states, state=state, retrieval=retrieval, delivery="pixels", k="3")
    rows = {TEXTS[row["question"]]: row for row in rows_of(states)}
    for body in bodies:
        row = rows[asked(body)]
        last, context = memory_and_context(body)
        text = text_of(last)
        if retrieval == "none":
            assert (HEAD in text, row["n_items"]) == (False, 0)
            assert text.startswith("Question: ")
            continue
        assert text.startswith(HEAD)
        assert text.index(HEAD) < text.index("Question: ")
        memory = text.partition("Question: ")[0]
        assert "Summary of our conversation" not in memory
        assert row["n_items"] == len(row["items"]) > 0
        if count:
            assert row["n_items"] == count
        else:
            assert all(turn["text"] in memory for turn in MAIN["turns"])
            assert len(pictures(last)) == 6
        if state == "S2":
            assert not [data for message in context for data in pictures(message)]


def test_deliveries_at_a_state_are_a_contrast_of_matched_pairs(states):
    case = states.pytester.path / "cases" / "test_states.py"
    text = case.read_text()
    case.write_text(
        re.sub(
            r"contrasts=\[.*?\]", 'contrasts=["delivery: direct+noimg -> direct", "retrieval: none -> recency"]', text
        )
    )
    result = run(
        states, *LIMIT, *axis(state="S1-d50k,S2", delivery="direct+noimg,direct", retrieval="none,recency", k="3")
    )
    assert result.ret == 0, result.stdout.str()
    (line,) = [line for line in result.stdout.lines if line.startswith("pairs of requests: ")]
    found = re.search(r"matched (\d+)/(\d+)", line)
    assert found is not None, line
    assert found[1] == found[2] != "0"
    table = json.loads((states.runs[0] / "tables" / "contrasts.json").read_text())
    names = [row[0] for block in table["blocks"] for row in block["rows"]]
    assert any(name.startswith("delivery direct+noimg -> direct") for name in names)
    assert any(name.startswith("retrieval none -> recency") for name in names)
    for block in table["blocks"]:
        for row in block["rows"]:
            done, of = row[8].split("/")
            assert done == of != "0", row


@pytest.mark.parametrize(("retention", "shown"), [*often(("all", 6), ("none", 0)), ("recent3", 2)])
def test_pictures_that_are_not_retained_leave_a_stub(states, retention, shown):
    """At S1-d0 the planting has just ended; three turns back two or three of its six pictures stand."""
    bodies = ask(states, state="S1-d0", retention=retention)
    assert len(bodies) == 4
    for body in bodies:
        held = len(images_in(body))
        stubs = "\n".join(words(body)).count(STUB)
        assert held + stubs == 6
        assert held == shown if retention != "recent3" else 0 < held <= 3
    for row in rows_of(states):
        assert row["n_images"] == len(images_in(bodies[0]))


@pytest.mark.parametrize("recall", ["intact", *often("compacted", "norecall")])
@pytest.mark.parametrize("delivery", [*often("direct"), "direct+noimg"])
def test_what_tools_bring_back_is_that_of_recall_and_delivery(states, endpoint, recall, delivery):
    artifact = MAIN["artifacts"][0]["id"]

    def probe(body):
        if any(message["role"] == "tool" for message in body["messages"]):
            return NOTHING
        return said(None, None, [tool_call("artifact_recall", json.dumps({"query": artifact}))])

    endpoint.script = playing(probe)
    bodies = ask(states, state="S2", recall=recall, delivery=delivery, condition="Cm")
    after = [body for body in bodies if any(message["role"] == "tool" for message in body["messages"])]
    assert len(after) == 4
    for body in after:
        (result,) = [text_of(message) for message in body["messages"] if message["role"] == "tool"]
        assert (artifact in result) == (recall == "intact")
        shown = images_in(body)
        assert len(shown) == (1 if recall == "intact" and delivery == "direct" else 0)
        if shown:
            assert text_of(body["messages"][-1]).startswith("Pictures returned by artifact_recall:")
            assert set(digests(shown)) <= STORED
    for row in rows_of(states):
        assert row["scores.tool"] == 1
        assert row["scores.recall_hits"] == (1 if recall == "intact" else row["scores.recall_hits"])
        assert row["scores.gold_pixels"] <= (recall == "intact")


# --- audits ---


@pytest.fixture
def both(project):
    """Both splits, with a model that calls every tool before it answers."""
    use_cases(project, "test_states", "test_extension")

    def probe(body):
        made = sum(message["role"] == "tool" for message in body["messages"])
        question = asked(body) if not is_capture(body) else ""
        calls = [("artifact_recall", "query"), ("memory_search", "query")]
        if is_capture(body) or made >= len(calls):
            return NOTHING
        name, argument = calls[made]
        return said(None, None, [tool_call(name, json.dumps({argument: question}))])

    project.endpoint.script = playing(probe)
    return project


BOTH = axis(state="S1-d0,S2", retrieval="none")


def bodies_of(project, *args: str, bank: str = "mirage-mini", workers: int = 0, limit: str = "24") -> list[dict]:
    before = len(project.endpoint.bodies)
    result = run(project, "--bench-limit", limit, *BOTH, *args, bank=bank, workers=workers)
    assert result.ret == 0, result.stdout.str()
    return project.endpoint.bodies[before:]


def test_nothing_is_sent_that_tells_what_is_asked_or_where_it_lies(both):
    bodies = bodies_of(both)
    splits = bank_json()["splits"]
    probes = [probe for split in splits.values() for probe in split["probes"]]
    by_text = {probe["question"]: probe for probe in probes}
    rows = rows_of(both)
    assert {row["split"] for row in rows} == {"main", "extension"}
    secret = {probe["id"] for probe in probes}
    secret |= {probe["family"] for probe in probes} | {probe["pair"] for probe in probes}
    secret |= {label for row in rows for label in row["labels"]}
    secret |= {row["cell"] for row in rows} | {row["corpus"] for row in rows}
    secret |= {str(MINI_FOLDER), "mirage_mini", "mirage-mini", str(both.pytester.path)}
    secret |= {"mirage", 'answerable":', "S1-d0", "evidence"}
    for body in bodies:
        text = json.dumps({**body, "messages": [words(body), body["messages"][-1]["role"]]})
        assert not re.search(r"\bm[qp]_[0-9a-f]{8}\b", text)
        assert not [word for word in secret if word in text]
        assert not re.search(r"\b(lookup|comparison|layout|lexical)\b|\bsplit\b.{0,3}(main|extension)", text)
    seen = Counter()
    for body in filter(is_probe, bodies):
        last = body["messages"][-1]
        if last["role"] != "user" or not text_of(last).startswith("Question: "):
            continue
        probe = by_text[asked(body)]
        seen[probe["answerable"]] += 1
        if probe["answerable"]:
            assert probe["answer"].casefold() not in text_of(last).casefold()
    assert min(seen[True], seen[False]) > 10


def renamed(bank: dict) -> dict:
    """The bank with other probe ids and other names of the picture files."""
    for split in bank["splits"].values():
        for probe in split["probes"]:
            digest = hashlib.sha256(f"other {probe['id']}".encode()).hexdigest()
            probe["id"], probe["pair"] = (
                f"mq_{digest[:8]}",
                f"mp_{hashlib.sha256(probe['pair'].encode()).hexdigest()[:8]}",
            )
        for artifact in split["artifacts"]:
            if artifact.get("images"):
                artifact["images"] = [other_name(name) for name in artifact["images"]]
    return bank


def other(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def other_name(name: str) -> str:
    return f"picture_{other(name)}.png"


def test_other_probe_ids_and_file_names_send_the_same_bytes(both):
    """Every question is asked, since which ones a limit takes is drawn from their ids."""
    folder = both.pytester.path
    small = bank_json()
    for split in small["splits"].values():  # a pair of each object, to be quick
        pairs = list(dict.fromkeys((p["artifact"], p["pair"]) for p in split["probes"]))
        kept = {pair for _, pair in {artifact: (artifact, pair) for artifact, pair in pairs}.values()}
        split["probes"] = [probe for probe in split["probes"] if probe["pair"] in kept]
    first = write_bank(folder / "one" / "bank", small)
    second = write_bank(folder / "two" / "other", renamed(json.loads(json.dumps(small))), other_name)
    before = bodies_of(both, "--bench-cache", "off", bank=str(first), limit="1000")
    after = bodies_of(both, "--bench-cache", "off", bank=str(second), limit="1000")
    sent = [Counter(json.dumps(body) for body in bodies if not is_summary(body)) for bodies in (before, after)]
    assert sent[0] == sent[1]
    assert sum(map(is_probe, before)) > 100
    assert {row["question"] for row in rows_of(both, 0)}.isdisjoint(row["question"] for row in rows_of(both, 1))


@pytest.mark.parametrize("workers", [0, 2])
def test_no_probe_sees_what_another_was_told(both, endpoint, workers):
    """Every reply carries a word of its own; it comes back in the requests of its own cell and in no other."""
    given: dict[str, str] = {}  # word: question of the cell it was said to
    endpoint.delay_s = 0.05

    def probe(body):
        if is_capture(body):
            return NOTHING
        word = f"canary{len(given):05d}x"
        state = "S2" if "Summary of our conversation" in "".join(words(body)) else "S1"
        given[word] = f"{state} {asked(body)}"
        if any(message["role"] == "tool" for message in body["messages"]):
            return f"{NOTHING} {word}"
        return said(f"I look: {word}", None, [tool_call("artifact_recall", json.dumps({"query": word}))])

    endpoint.script = playing(probe, lambda body: "We spoke of several things.")
    bodies = bodies_of(both, "--bench-concurrency", "64", workers=workers, limit="32")
    assert endpoint.peak >= 32
    found = 0
    for body in filter(is_probe, bodies):
        text = json.dumps(body)
        state = "S2" if "Summary of our conversation" in text else "S1"
        for word in set(re.findall(r"canary\d{5}x", text)):
            assert given[word] == f"{state} {asked(body)}"
            found += 1
    assert found == len(rows_of(both)) == 2 * 2 * 32
    for body in bodies:
        if not is_probe(body):
            assert "canary" not in json.dumps(body)
