"""``benchsuite compare`` on runs in their folders and on files of rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchsuite.errors import BenchError, ConfigError, DataError
from benchsuite.models.wire import Message, Part, Request, WireImage, skeleton
from benchsuite.outcome import row_json
from benchsuite.runs import RunStore
from benchsuite_reports.compare import compare, compare_command, find_pairings, load_source
from benchsuite_reports.table import Condition

TEXT_NOIMG, TEXT_PIXELS = Condition("", "text", "noimg"), Condition("", "text", "pixels")
ORACLE_NOIMG, ORACLE_PIXELS = Condition("", "oracle", "noimg"), Condition("", "oracle", "pixels")
# b minus a, text to oracle: 2 wins under noimg; noimg to pixels: 7 wins under text, 8 and 1 loss under oracle
SCORES: Mapping[Condition, Sequence[float | str | None]] = {
    TEXT_NOIMG: [0] * 10 + [1, 1],
    TEXT_PIXELS: [1] * 7 + [0] * 3 + [1, 1],
    ORACLE_NOIMG: [1] * 2 + [0] * 8 + [1, 1],
    ORACLE_PIXELS: [1] * 11 + [0],
}
DELIVERY = "delivery: noimg -> pixels"


def record(row: Mapping[str, Any], max_tokens: int = 64) -> str:
    """A line of calls/: one item, its image where the row's delivery shows it."""
    image = Part("image", image=WireImage("1" * 64, "1" * 64, "image/png", 64, 48), item="s1t1")
    parts = [Part("text", f"{row['question']}\n", item="s1t1"), *([image] if row["arm.delivery"] == "pixels" else [])]
    messages = (Message("user", (*parts, Part("question", "Which?"))),)
    call = skeleton(row["requests"][0], Request("qwen", messages, {"max_tokens": max_tokens}))
    return json.dumps({"cell": row["cell"], "role": "answer", **call}, separators=(",", ":")) + "\n"


@pytest.fixture
def save(tmp_path, row):
    """Writes a run of these scores into .bench and returns its folder."""

    def write(scores=SCORES, name="run", bundled=True, finish=True, f1=None, **changes: Any) -> Path:
        rows = [
            row(
                f"q{i}",
                condition,
                score,
                **{
                    "cell": f"memlens:32k-{condition.retrieval}-{condition.delivery}-{changes.get('model', 'qwen')}"
                    f"-q{i}",
                    "scores": {} if score in (None, "error") else {"subem": score, "f1": score if f1 is None else f1},
                    "requests": [f"{condition.name}-{i}"],
                    **changes,
                },
            )
            for condition, column in scores.items()
            for i, score in enumerate(column)
        ]
        info = {
            "corpora": {"ab" * 32: {"name": "memlens-mini", "bundled": bundled}},
            "embedded_models": ["embedded"],
        }
        with RunStore.open(tmp_path / ".bench", name, {"delivery": [each["cell"] for each in rows]}, info) as store:
            for each in rows:
                store.append({**each, "run": {"id": store.path.name, "cached": False, **changes.get("run", {})}})
            if finish:
                store.finish(0)
        return store.path

    return write


@pytest.fixture
def output(tmp_path, capsys):
    """What the command prints for these arguments."""

    def run(*argv: str) -> str:
        assert compare_command([*argv, "--bench-dir", str(tmp_path / ".bench")]) == 0
        return str(capsys.readouterr().out)

    return run


@pytest.fixture
def values(output):
    """The numbers of the table, by label and name."""

    def run(*argv: str) -> dict[str, Any]:
        table = json.loads(output(*argv, "--format", "json"))
        return dict(table["blocks"][0]["values"])

    return run


def test_two_arms_of_a_run(save, output):
    save()
    text = output("1", "--a", "retrieval=text,delivery=noimg", "--b", "retrieval=text,delivery=pixels")
    assert text.startswith("Comparison: b minus a, paired by question (pipeline check, not evidence)\n")
    lines = text.splitlines()
    assert "delivery noimg -> pixels  12  16.67  75.00      +58.33" in text
    assert next(line for line in lines if "  7/0  " in line).split()[-7:] == [
        "0", "7/0", "0.016", "12", "0.016", "0.016", "n/a"
    ]  # fmt: skip
    assert any(line.startswith("pairing: within run 0001_") for line in lines)
    assert "model as served: qwen-served" in lines
    assert "errors: a 0, b 0" in lines
    assert "family" not in text


def test_arms_may_be_named_by_words_of_their_key(save, values):
    save()
    by_words = values("1", "--a", "oracle-noimg", "--b", "oracle-pixels")
    assert by_words["delivery noimg -> pixels: wins"] == 8
    assert by_words["delivery noimg -> pixels: losses"] == 1
    assert by_words == values("1", "--contrast", f"{DELIVERY} @ retrieval=oracle")


def test_axes_that_are_left_open_give_a_contrast_each(save, values):
    save()
    found = values("1", "--a", "retrieval=text", "--b", "retrieval=oracle")
    assert found["retrieval text -> oracle @ delivery noimg: wins"] == 2
    assert found["retrieval text -> oracle @ delivery pixels: wins"] == 3
    assert found["retrieval text -> oracle @ delivery pixels: losses"] == 1


def test_a_family_is_corrected_and_its_primary_contrast_marked(save, output, values):
    save()
    family = ["1", "--primary", f"{DELIVERY} @ retrieval=oracle", "--family", DELIVERY, "retrieval: text -> oracle"]
    found = values(*family)
    labels = list(dict.fromkeys(label.rpartition(": ")[0] for label in found))
    assert labels == [
        "delivery noimg -> pixels @ retrieval oracle (primary)",
        "delivery noimg -> pixels @ retrieval text",
        "retrieval text -> oracle @ delivery noimg",
        "retrieval text -> oracle @ delivery pixels",
    ]
    assert [found[f"{label}: p"] for label in labels] == [20 / 512, 2 / 2**7, 0.5, 0.625]
    assert [found[f"{label}: holm_p"] for label in labels] == [3 * 20 / 512, 4 * 2 / 2**7, 1.0, 1.0]
    text = output(*family)
    assert "family: these 4 contrasts, Holm at 0.05" in text
    flat = " ".join(text.split())
    # 7/0 has the least p that it can have, but is one of four; 8/1 might have been 9/0
    assert f"{labels[1]}: cannot reach 0.05: its p is 0.062 at best." in flat
    assert f"{labels[0]}: cannot reach" not in flat
    assert (
        f"{labels[2]}: insensitive; 2 of 12 questions discordant; no effect on so few would be found with a power "
        "of .8; cannot reach 0.05: its p is 1.0 at best." in flat
    )
    assert f"{labels[3]}: insensitive; 4 of 12 questions discordant;" in flat


def test_two_runs_are_compared_arm_by_arm(save, output, values):
    save()
    save(run={"cached": True})
    found = values("1", "2")
    assert [found[f"32k-{arm}-qwen: sign_p"] for arm in ("text-noimg", "oracle-pixels")] == [1.0, 1.0]
    assert {value for label, value in found.items() if label.endswith(": within_run")} == {0}
    text = " ".join(output("1", "2").split())
    assert "pairing: across runs: a 0001_" in text
    assert (
        "every contrast: 12 of 12 pairs had one and the same request, 12 of them with a reply from the cache." in text
    )
    assert "every contrast: insensitive; 0 of 12 questions discordant; cannot reach 0.05" in text


def test_two_runs_of_different_models_are_paired_by_their_other_axes(save, output):
    save()
    save({TEXT_PIXELS: [1] * 12}, model="other", name="other")
    text = " ".join(output("1", "other").split())
    assert "model qwen -> other 12 75.00 100.00 +25.00" in text
    assert "model as served: a qwen-served, b other-served: not the same" in text
    assert "arms without a partner: a 32k-oracle-noimg-qwen; a 32k-oracle-pixels-qwen; a 32k-text-noimg-qwen" in text


def test_what_is_left_out_is_listed_and_an_open_sign_said(save, output):
    save({TEXT_NOIMG: [0, 0, 0, "error", 1, 1], TEXT_PIXELS: [1, None, 0, 1, "error", 1]})
    text = " ".join(output("1", "--contrast", DELIVERY).split())
    assert "left out: 2: q3 (timeout error in a), q4 (timeout error in b)" in text
    assert "errors: a 1, b 1" in text
    assert "unparsed, counted as not correct: a 0, b 1" in text
    # q0 +1; q1 0 to +1; q2 0; q3 0 to +1; q4 -1 to 0; q5 0
    assert "all that has no score wrong to all right: +0.00 to +50.00." in text


def test_a_sign_that_the_bounds_leave_open_is_marked(save, output):
    save({TEXT_NOIMG: [0, 1, 1, 1], TEXT_PIXELS: [1, "error", "error", 1]})
    assert "-25.00 to +25.00 (sign open)." in " ".join(output("1", "--contrast", DELIVERY).split())


def test_clusters_are_the_unit_unless_the_question_is_asked_for(save, output, values):
    save({TEXT_NOIMG: [0] * 10, TEXT_PIXELS: [1] * 10}, cluster="all of one")
    label = "delivery noimg -> pixels"
    assert values("1", "--contrast", DELIVERY)[f"{label}: p"] == 1.0
    assert values("1", "--contrast", DELIVERY, "--cluster", "question")[f"{label}: p"] == 2 / 2**10
    assert "the p that counts: sign p, by question" in output("1", "--contrast", DELIVERY, "--cluster", "question")


def test_a_metric_that_is_not_the_score(save, values):
    save({TEXT_NOIMG: [0, 0], TEXT_PIXELS: [1, 0]}, f1=0.5)
    found = values("1", "--contrast", DELIVERY, "--metric", "f1")
    assert (found["delivery noimg -> pixels: a"], found["delivery noimg -> pixels: wins"]) == (0.5, 0)


def test_a_metric_that_is_no_score_is_refused(save, output):
    save({TEXT_NOIMG: [0, 0], TEXT_PIXELS: [1, 0]}, f1=3.0)
    with pytest.raises(BenchError, match=r"delivery noimg -> pixels: a: q0 r0: 3.0 is not a score in \[0, 1\]"):
        output("1", "--contrast", DELIVERY, "--metric", "f1")


def test_a_run_that_is_not_finished_says_so(save, output):
    save(finish=False)
    assert "not finished" in output("1", "--contrast", DELIVERY).splitlines()[1]


def test_files_of_rows_and_folders_are_sources_too(save, output, tmp_path):
    folder = save()
    apart = tmp_path / "merged.jsonl"
    apart.write_bytes((folder / "outcomes.jsonl").read_bytes())
    arguments = ("--contrast", f"{DELIVERY} @ retrieval=text")
    of_run = output("1", *arguments)
    assert output(str(folder), *arguments) == of_run
    assert output(str(folder / "outcomes.jsonl"), *arguments) == of_run
    text = output(str(apart), *arguments)
    assert "corpus: unknown corpus, digest abababababab" in text
    assert "delivery noimg -> pixels: not certified: the records of its run are not at hand." in text
    scores = slice(text.index("Scores:"), text.index("Requests:"))
    assert text[scores] in of_run


@pytest.fixture
def sent(save, tmp_path):
    """A run of the text arms with the records of what it sent; ``changed`` questions got another max_tokens."""

    def write(changed: Sequence[str] = (), **changes: Any) -> Path:
        folder: Path = save({TEXT_NOIMG: SCORES[TEXT_NOIMG], TEXT_PIXELS: SCORES[TEXT_PIXELS]}, **changes)
        rows = [json.loads(line) for line in (folder / "outcomes.jsonl").read_text().splitlines()]
        for worker in (0, 1):
            (folder / "calls" / f"gw{worker}.jsonl").write_text(
                "".join(
                    record(row, 32 if row["question"] in changed and row["arm.delivery"] == "pixels" else 64)
                    for row in rows[worker::2]
                )
            )
        return folder

    return write


def requests_block(text: str) -> str:
    return " ".join(text[text.index("Requests:") :].split())


def test_a_contrast_says_what_differs_in_its_requests(sent, output, values):
    sent()
    block = requests_block(output("1", "--contrast", DELIVERY))
    assert "delivery noimg -> pixels modality 12/12 12/12 within run 0 " in block
    assert "delivery noimg -> pixels: no count of prompt tokens (12)." in block
    found = values("1", "--contrast", DELIVERY)
    assert (found["delivery noimg -> pixels: matched"], found["delivery noimg -> pixels: altered"]) == (12, 12)


def test_pairs_that_are_not_matched_are_named_then_counted(sent, output):
    sent([f"q{i}" for i in range(7)])
    block = requests_block(output("1", "--contrast", DELIVERY))
    assert "modality 5/12 12/12" in block
    assert "not matched, q0: max_tokens 64 against 32; q1: " in block
    assert "q4: max_tokens 64 against 32; and 2 more; no count" in block


def test_two_runs_are_certified_against_each_other(sent, output):
    sent()
    sent(["q3"], run={"cached": True})
    block = requests_block(output("1", "2"))
    assert "32k-text-noimg-qwen none 12/12 n/a across runs a 0, b 12" in block
    assert "32k-text-pixels-qwen none 11/12 n/a across runs a 0, b 12" in block
    assert "32k-text-pixels-qwen: not matched, q3: max_tokens 64 against 32; " in block


def test_the_first_runs_of_two_folders_are_two_runs(sent, output, tmp_path):
    folder = sent()
    other = tmp_path / "elsewhere" / "runs" / folder.name
    other.parent.mkdir(parents=True)
    shutil.copytree(folder, other)
    calls = other / "calls" / "gw1.jsonl"
    calls.write_text(calls.read_text().replace('"max_tokens":64', '"max_tokens":8'))
    text = " ".join(output("1", str(other)).split())
    assert "pairing: across runs: a 0001_nogit_run; b " in text
    assert f"b: run 0001_nogit_run in {other.parent}" in text
    assert "32k-text-noimg-qwen none 6/12 n/a across runs 0" in text
    assert "q1: max_tokens 64 against 8" in text


def test_a_run_whose_calls_are_gone_is_compared_all_the_same(sent, output):
    shutil.rmtree(sent() / "calls")
    text = output("1", "--contrast", DELIVERY)
    assert "+58.33" in text
    assert "not certified: no record of the request in calls/ of run 0001_" in requests_block(text)


def test_an_arm_that_was_repeated_is_compared_by_the_repeats_that_both_have(save, tmp_path):
    folder = save({TEXT_NOIMG: [0] * 4, TEXT_PIXELS: [1] * 4})
    source = load_source(tmp_path / ".bench", str(folder))
    again = [
        {**row, "arm.repeat": 1, "cell": str(row["cell"]).replace("-qwen-", "-qwen-r1-")}
        for row in source.rows
        if row["arm.delivery"] == "pixels"
    ]
    source = replace(source, rows=(*source.rows, *again))
    pairings, lone = find_pairings(source, source, contrasts=[DELIVERY])
    assert [len(pairing.b) for pairing in pairings] == [4]
    assert lone == ["b 32k-text-pixels-qwen-r1"]
    (scores, *_) = compare(source, source, pairings, lone).blocks
    assert scores.left_out == ()


def test_a_faulty_file_is_refused_by_its_line(save, tmp_path, row):
    line = row_json(row("q0", TEXT_NOIMG, 1))
    file = tmp_path / "rows.jsonl"
    for content, problem in [
        (f"{line}\n{{\n", r"rows.jsonl:2: not JSON"),
        (f"{line}\n{line}\n", r"rows.jsonl:2: item memlens:.*: a second row of this cell"),
        (line.replace('"schema": 1', '"schema": 9') + "\n", r"rows.jsonl:1: .*schema: 9"),
    ]:
        file.write_text(content)
        with pytest.raises(DataError, match=problem):
            load_source(tmp_path, str(file))
    file.write_text("")
    with pytest.raises(ConfigError, match=r"file rows.jsonl: it has no outcome rows"):
        load_source(tmp_path, str(file))


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["1"], "an arm would be compared with itself"),
        (["1", "1"], "an arm would be compared with itself"),
        (["1", "--contrast", "delivery: pixels -> pixels"], "an arm would be compared with itself"),
        (["7"], r"no run '7' in .*; the last are: 0001_"),
        (["1", "--a", "nonsense", "--b", "text"], "no arm 'nonsense'"),
        (["1", "--contrast", "delivery noimg pixels"], "write 'axis: a -> b'"),
        (["1", "--contrast", "delivery: noimg -> caption"], "no row has delivery=caption; there are: noimg, pixels"),
        (["1", "--contrast", "camera: a -> b"], "no axis 'camera'; axes: length, state"),
        (["1", "--contrast", DELIVERY, "--a", "text"], "give one of them"),
        (["1", "--contrast", DELIVERY, "--metric", "judge"], "delivery noimg -> pixels @ .*: no score 'judge'"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_line(save, output, argv, problem):
    save()
    with pytest.raises(BenchError, match=problem) as caught:
        output(*argv)
    assert "\n" not in str(caught.value)


def test_a_contrast_without_rows_of_both_values_together(save, output):
    save({TEXT_NOIMG: [1], ORACLE_PIXELS: [1]})
    with pytest.raises(ConfigError, match="no row has delivery=pixels, retrieval=text together"):
        output("1", "--contrast", f"{DELIVERY} @ retrieval=text")
    # the two arms differ in retrieval too: the label says so
    assert "retrieval text -> oracle, delivery noimg -> pixels" in " ".join(output("1", "--contrast", DELIVERY).split())


def test_runs_of_another_scorer_or_corpus_are_refused(save, output):
    save()
    save(scorer="memlens-upstream/1")
    with pytest.raises(BenchError, match=r"32k-.*: the arms have different scorers"):
        output("1", "2")
    save(corpus="cd" * 32)
    with pytest.raises(BenchError, match="different corpora"):
        output("1", "3")


def test_a_contrast_over_two_runs_takes_b_from_the_second(save):
    first, second = save(), save({TEXT_PIXELS: [0] * 12})
    a, b = (load_source(first.parent, str(each)) for each in (first, second))
    pairings, lone = find_pairings(a, b, contrasts=[f"{DELIVERY} @ retrieval=text"])
    assert lone == []
    (analysis,) = compare(a, b, pairings).blocks[:1]
    assert analysis.values["delivery noimg -> pixels: losses"] == 2


def test_every_form_has_the_contrast(save, output):
    save(bundled=False)
    for form in ("text", "md", "csv", "json", "tex"):
        text = output("1", "--contrast", f"{DELIVERY} @ retrieval=text", "--format", form)
        assert "+58.33" in text
        assert "pipeline check" not in text
    assert r"\begin{tabular}" in text
