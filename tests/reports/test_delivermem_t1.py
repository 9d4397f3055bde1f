"""DeliverMem Table 1 from rows: against the published table, against hand counts, and what it refuses."""

import itertools

import pytest

from benchsuite.errors import BenchError
from benchsuite.outcome import Outcome
from benchsuite_reports.delivermem_t1 import TABLE, build
from benchsuite_reports.formats import as_text
from benchsuite_reports.table import CorpusFacts, RunFacts

ARMS = [("oracle", "pixels"), ("oracle", "noimg"), ("text", "pixels"), ("text", "noimg")]
DIGEST = "ab" * 32
MINI = RunFacts({DIGEST: CorpusFacts("memlens-mini", bundled=True)}, frozenset({"embedded"}), "0007_nogit_run")
REAL = RunFacts({DIGEST: CorpusFacts("memlens-32k.json", bundled=False)})


def row(question, arm, score, *, length="32k", model="qwen", axes=None, **changes):
    status, word = {None: ("unparsed", "unparsed"), "error": ("error", "error")}.get(
        score, ("scored", "right" if score else "wrong")
    )
    axes = {
        "length": length,
        "state": "none",
        "method": "none",
        "retrieval": arm[0],
        "k": 10,
        "delivery": arm[1],
        "model": model,
        "judge": "none",
        "repeat": 0,
        **(axes or {}),
    }
    values = {
        "cell": f"memlens:{length}-{arm[0]}-{arm[1]}-{model}-{question}",
        "suite": "memlens",
        "corpus": DIGEST,
        "question": question,
        "type": "t",
        "split": "eval",
        "answerable": True,
        "arm": axes,
        "status": status,
        "word": word,
        "refused": False,
        "metric": "subem",
        "score": score if status == "scored" else None,
        "scorer": "subem/1",
        "protocol": "memlens/1",
        "renderer": "chat/1",
        "model_served": f"{model}-served",
    }
    if status == "error":
        values.update(error_kind="timeout", error_message="late", model_served="", refused=None)
    return Outcome(**{**values, **changes}).to_row()


def grid(*patterns, **changes):
    """Rows of questions q0, q1, ...: one score for each arm, in the order of ARMS."""
    return [
        row(f"q{i}", arm, score, **changes)
        for i, pattern in enumerate(patterns)
        for arm, score in zip(ARMS, pattern, strict=True)
    ]


def cells(table, block=0):
    return {line[0]: line[1:] for line in table.blocks[block].rows}


def facts(table, block=0):
    return dict(table.blocks[block].facts)


# A joint distribution over (oracle pixels, oracle withheld, text pixels, text withheld) that has every marginal,
# every W/L and both signs of the interaction that the paper prints for its 173 questions.
PUBLISHED = {
    "0000": 75,
    "0001": 3,
    "0010": 7,
    "0011": 5,
    "0100": 6,
    "0111": 1,
    "1000": 6,
    "1001": 1,
    "1010": 23,
    "1011": 1,
    "1100": 9,
    "1101": 1,
    "1111": 35,
}


def test_it_prints_the_published_table_for_rows_that_have_its_counts():
    patterns = [tuple(map(float, key)) for key, count in PUBLISHED.items() for _ in range(count)]
    table = build(grid(*patterns), REAL)
    assert table.columns == ("Retrieved set", "Pixels delivered", "Pixels withheld", "Delta_D", "W/L", "p")
    assert table.blocks[0].rows == (
        ("Gold messages (oracle)", "43.93", "30.06", "+13.87", "31/7", "1.2e-4"),
        ("Text channel (text)", "41.62", "27.17", "+14.45", "30/5", "2.2e-5"),
        ("Delta_R", "+2.31", "+2.89", "interaction -0.58", "12/14", "0.85"),
        ("Delta_R W/L, p", "17/13, 0.58", "15/10, 0.42", "", "", ""),
    )
    values = table.blocks[0].values
    assert values["n"] == 173
    assert values["accuracy.oracle.pixels"] == 76 / 173
    assert (values["interaction.wins"], values["interaction.losses"]) == (12, 14)
    assert values["interaction"] == pytest.approx(-1 / 173)
    assert facts(table)["n"] == "173 answerable questions answered in all four arms"


def test_a_planted_effect_of_pixels_alone_and_its_null():
    # 3 of 8 questions flip with the pixels, whatever is retrieved
    planted = build(grid(*[(1.0, 0.0, 1.0, 0.0)] * 3, *[(0.0, 0.0, 0.0, 0.0)] * 5), REAL)
    assert cells(planted)["Gold messages (oracle)"] == ("37.50", "0.00", "+37.50", "3/0", "0.25")
    assert cells(planted)["Text channel (text)"] == ("37.50", "0.00", "+37.50", "3/0", "0.25")
    assert cells(planted)["Delta_R"] == ("+0.00", "+0.00", "interaction +0.00", "0/0", "1.0")
    assert cells(planted)["Delta_R W/L, p"][:2] == ("0/0, 1.0", "0/0, 1.0")


def test_errors_are_left_out_by_name_and_unparsed_answers_are_not_correct():
    rows = grid((1.0, 0.0, 1.0, 0.0), ("error", 0.0, 1.0, 0.0), (None, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0))
    rows.append(row("q9", ARMS[0], 1.0))
    table = build(rows, REAL)
    assert facts(table)["n"].startswith("3 ")
    assert dict(table.blocks[0].left_out) == {
        "q1": "timeout error in oracle-pixels",
        "q9": "no row in oracle-noimg; no row in text-pixels; no row in text-noimg",
    }
    assert facts(table)["errors"] == "oracle-pixels 1"
    assert facts(table)["unparsed, counted as not correct"] == "oracle-pixels 1"
    # q0 win, q2 unparsed against right: loss, q3 tie
    assert cells(table)["Gold messages (oracle)"] == ("66.67", "66.67", "+0.00", "1/1", "1.0")
    assert cells(table)["Text channel (text)"] == ("100.00", "66.67", "+33.33", "1/0", "1.0")


def test_errors_bound_every_contrast_and_a_sign_that_is_open_is_marked():
    clean = build(grid((1.0, 0.0, 1.0, 0.0)), REAL)
    assert not [label for label in facts(clean) if label.startswith("worst case")]
    table = build(grid((1.0, 0.0, 1.0, 0.0), (1.0, "error", 0.0, 0.0)), REAL)
    (line,) = [text for label, text in facts(table).items() if label.startswith("worst case")]
    assert line.split("; ") == [
        "oracle-noimg 0.00 to 50.00",
        "Delta_D oracle +50.00 to +100.00",
        "Delta_R noimg +0.00 to +50.00",
        "interaction +0.00 to +50.00",
    ]
    opened = build(grid((1.0, 0.0, 1.0, 0.0), (1.0, 1.0, "error", 0.0), (1.0, "error", 0.0, 1.0)), REAL)
    (line,) = [text for label, text in facts(opened).items() if label.startswith("worst case")]
    assert line.endswith("interaction +0.00 to +66.67")
    assert "Delta_D text +0.00 to +33.33" in line
    worse = build(grid((0.0, "error", 1.0, 0.0), (1.0, "error", 1.0, 0.0)), REAL)
    (line,) = [text for label, text in facts(worse).items() if label.startswith("worst case")]
    assert "Delta_D oracle -50.00 to +50.00 (sign open)" in line


def test_unanswerable_questions_are_not_in_n_but_their_refusals_are_noted():
    rows = grid((1.0, 0.0, 1.0, 0.0))
    for i, refused in enumerate([True, True, False]):
        rows.append(row(f"u{i}", ARMS[0], float(refused), answerable=False, refused=refused, word="refused"))
    rows.append(row("u3", ARMS[0], "error", answerable=False))
    table = build(rows, REAL)
    assert facts(table)["n"].startswith("1 ")
    assert facts(table)["errors"] == "oracle-pixels 1"
    assert table.blocks[0].notes == ("Refused among answered unanswerable questions (not in n): oracle-pixels 2/3.",)


@pytest.mark.parametrize("absent", [arms for n in (1, 2, 3) for arms in itertools.combinations(ARMS, n)])
def test_missing_arms_are_named_and_what_is_left_is_still_shown(absent):
    rows = [
        each
        for each in grid((1.0, 0.0, 1.0, 1.0), (1.0, 1.0, 0.0, 0.0))
        if (each["arm.retrieval"], each["arm.delivery"]) not in absent
    ]
    table = build(rows, REAL)
    assert facts(table)["missing arms"] == ", ".join("-".join(arm) for arm in ARMS if arm in absent)
    assert facts(table)["n"] == f"2 answerable questions answered in the {4 - len(absent)} of 4 arms that were run"
    assert cells(table)["Delta_R"][2:] == ("interaction n/a", "n/a", "n/a")
    shown = cells(table)["Gold messages (oracle)"][:2] + cells(table)["Text channel (text)"][:2]
    assert [text == "n/a" for text in shown] == [arm in absent for arm in ARMS]
    if absent == (("text", "pixels"),):
        assert cells(table)["Gold messages (oracle)"][2:] == ("+50.00", "1/0", "1.0")
    as_text(table)


def test_nothing_answered_at_all_is_a_table_of_gaps():
    table = build(grid(("error",) * 4), REAL)
    assert facts(table)["n"].startswith("0 ")
    assert facts(table)["model as served"] == "n/a"
    assert cells(table)["Gold messages (oracle)"] == ("n/a",) * 5


def test_one_block_for_each_length_model_and_judge_shortest_length_first():
    rows = [
        *grid((1.0, 0.0, 1.0, 0.0), length="128k"),
        *grid((1.0, 0.0, 1.0, 0.0), length="32k"),
        *grid((0.0, 0.0, 0.0, 0.0), length="32k", model="alpha"),
        *grid((1.0, 0.0, 1.0, 0.0), axes={"judge": "gpt"}, metric="judge", scorer="judge/1"),
        *grid((1.0, 0.0, 1.0, 0.0), axes={"condition": "C0"}),
    ]
    headings = [
        "length 32k, model alpha",
        "length 32k, model qwen, judge gpt",
        "length 32k, model qwen",
        "length 32k, model qwen, condition C0",
        "length 128k, model qwen",
    ]
    found = [block.heading for block in build(rows, REAL).blocks]
    parts = (
        "by cluster",
        "contrasts of the 2x2 one by one",
        "what withholding does to the answers",
        "recall of the retrieval itself",
        "further contrasts by cluster",
    )
    assert found == [each for heading in headings for each in (heading, *(f"{heading}: {part}" for part in parts))]


def test_rows_of_other_arms_and_suites_are_not_its_own():
    own = grid((1.0, 0.0, 1.0, 0.0))
    others = [
        *grid((0.0,) * 4, axes={"k": 5}),
        *grid((0.0,) * 4, axes={"repeat": 2}),
        *grid((0.0,) * 4, axes={"state": "S2"}),
        *grid((0.0,) * 4, suite="memeye"),
        row("q0", ("recency", "pixels"), 1.0),
        row("q0", ("text", "deployed"), 1.0),
    ]
    assert build(own + others, REAL) == build(own, REAL)
    assert build(others, REAL).blocks == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"corpus": "cd" * 32}, "corpora"),
        ({"scorer": "subem/2"}, "scorers"),
        ({"metric": "f1"}, "scorers"),
        ({"model_served": "other"}, "models as served"),
        ({"protocol": "memlens/2"}, "protocols"),
        ({"renderer": "chat/2"}, "renderers"),
    ],
)
def test_what_must_not_be_mixed_is_refused_with_both_values(changes, words):
    rows = [*grid((1.0, 0.0, 1.0, 0.0), (1.0, 0.0, 1.0, 0.0)), row("q2", ARMS[0], 1.0, **changes)]
    with pytest.raises(BenchError, match=words) as caught:
        build(rows, REAL)
    assert "\n" not in str(caught.value)
    changed = str(next(iter(changes.values())))
    assert changed in str(caught.value) or changed == "f1"


def test_a_judge_beside_the_strict_scorer_is_no_mixture():
    judged = {"axes": {"judge": "gpt"}}
    rows = grid((1.0, 0.0, 1.0, 0.0), metric="judge", scorer="judge/1", **judged)
    rows += [row("q1", arm, 0.0, word="refused", **judged) for arm in ARMS]
    assert facts(build(rows, REAL))["scorer"] == "judge/1, subem/1"


def test_the_bundled_corpus_is_headed_no_evidence_and_the_reader_is_labelled():
    table = build(grid((1.0, 0.0, 1.0, 0.0), model="embedded"), MINI)
    assert table.pipeline_check
    text = as_text(table)
    assert text.splitlines()[0].endswith("(pipeline check, not evidence)")
    assert "embedded-served (OCR + MiniLM reader)" in text
    assert "not certified" in text
    assert "0007_nogit_run" in text
    for published in ("43.93", "41.62", "13.87"):
        assert published not in text


def test_a_users_corpus_is_not_headed_so():
    table = build(grid((1.0, 0.0, 1.0, 0.0)), REAL)
    assert not table.pipeline_check
    assert "not evidence" not in as_text(table)
    assert "OCR" not in as_text(table)
    assert dict(table.facts)["corpus"] == f"memlens-32k.json, digest {DIGEST[:12]}"


def test_missing_images_are_counted():
    table = build([*grid((1.0, 0.0, 1.0, 0.0)), row("q1", ARMS[0], 1.0, n_missing=2)], REAL)
    assert facts(table)["missing images"] == "oracle-pixels 2"


def test_the_order_of_rows_does_not_matter():
    rows = grid((1.0, 0.0, 1.0, 0.0), (0.0, 1.0, None, "error"), (0.0, 0.0, 1.0, 0.0))
    assert TABLE.build(rows, REAL) == TABLE.build(rows[::-1], REAL)
