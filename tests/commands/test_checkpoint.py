"""``benchsuite checkpoint``: what was built, what a checkpoint holds, how two differ; errors are one line."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchsuite.cli import main
from benchsuite.commands.checkpoint import checkpoint_command
from benchsuite.models.wire import ToolCall
from benchsuite.runtime import build
from benchsuite.runtime.checkpoint import CheckpointStore
from benchsuite.runtime.conversation import Spoken
from tests.runtime.world import CHART, PERSONA, SUMMARISER, TURNS, Teller, build_one, wanted, words

LONG = "One line of a summary. " * 9
SUMMARY = f"{LONG}\nSee records/{CHART}_table.csv.\nbell \x07 end"


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A bench folder with three states; the real tokenizer counts."""
    monkeypatch.setattr(build, "BUNDLED", "words")
    monkeypatch.setattr(build, "count_bundled", words)
    folder = tmp_path / "bench"
    made = {
        name: build_one(folder / "cache", Teller(lambda n, request: SUMMARY), wanted(state, **changes))
        for name, state, changes in (
            ("start", "S1-d0", {}),
            ("deep", "S1-d20k", {}),
            ("after", "S2", {}),
            ("compacted", "S2", {"recall": "compacted"}),
        )
    }
    return folder, made


def run(capsys, bench, *arguments):
    assert checkpoint_command([*arguments, "--bench-dir", str(bench[0])]) == 0
    return capsys.readouterr().out


def problem(capsys, *arguments):
    code = main(["checkpoint", *map(str, arguments)])
    err = capsys.readouterr().err
    assert err.startswith("benchsuite: ")
    assert err.count("\n") == 1
    return code, err.removeprefix("benchsuite: ").strip()


def file_of(bench, name):
    return bench[0] / "cache" / "checkpoint" / f"{bench[1][name].id}.json"


def test_ls_is_a_line_each_shallow_first(bench, capsys):
    header, *lines = run(capsys, bench, "ls").splitlines()
    assert header.split() == [
        *("id", "history", "length", "state", "depth", "active", "compactions", "step", "summary", "summariser"),
        *("writer", "recall", "files", "size"),
    ]
    made = bench[1]
    assert {line.split()[0] for line in lines} == {each.id[:12] for each in made.values()}
    assert [line.split()[3] for line in lines] == ["S1-d0", "S1-d20k", "S2", "S2"]
    first = lines[0].split()
    start = made["start"]
    assert first[1:12] == [
        *(start.history[:8], "tiny", "S1-d0", str(start.depth), str(start.active), "0", "3"),
        *("-", "-", "-", "intact"),
    ]
    assert f"{SUMMARISER.family}#{SUMMARISER.model}" in lines[2]
    assert all(line.endswith("kB") for line in lines)


def test_ls_without_any_says_so(tmp_path, capsys):
    assert checkpoint_command(["ls", "--bench-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"no checkpoints in {tmp_path}/cache/checkpoint\n"


def test_ls_goes_on_past_a_file_that_cannot_be_read(bench, capsys):
    file_of(bench, "deep").write_text("{")
    lines = run(capsys, bench, "ls").splitlines()
    assert len(lines) == 5
    assert lines[-1].startswith(f"{bench[1]['deep'].id[:12]}  unreadable: ")
    assert lines[-1].endswith("not a checkpoint: no JSON")
    listed = json.loads(run(capsys, bench, "ls", "--json"))
    assert [each["id"] for each in listed if "problem" in each] == [bench[1]["deep"].id]


def test_size_is_that_of_file_and_blobs(bench, capsys):
    listed = {each["id"]: each for each in json.loads(run(capsys, bench, "ls", "--json"))}
    start = bench[1]["start"]
    blobs = sum(file.size for file in start.workspace.values())
    assert listed[start.id]["size"] == file_of(bench, "start").stat().st_size + blobs
    assert listed[start.id]["files"] == len(start.workspace)
    assert listed[start.id]["images"] == 1


def test_show_has_facts_files_messages_and_the_whole_summary(bench, capsys):
    out = run(capsys, bench, "show", bench[1]["after"].id[:8])
    assert f"id           {bench[1]['after'].id}\n" in out
    assert f"persona      {PERSONA}\n" in out
    lines = [line.split() for line in out.splitlines()]
    assert [f"artifacts/{CHART}.png", "124", CHART, "64x32"] in lines
    assert ["memory/compaction-1.md", str(len(SUMMARY))] in lines
    context = lines[lines.index(["context"]) + 1 :]
    assert context[0] == ["#", "role", "tokens", "images", "words"]
    assert [line[:2] for line in context[1:7]] == [[str(n), ("user", "assistant")[(n - 1) % 2]] for n in range(1, 7)]
    shown = out[out.index("\nsummary 1 (verbatim, by ") :].splitlines()[2:]
    assert shown == [f"  {LONG.strip()}", f"  See records/{CHART}_table.csv.", "  bell ? end"]
    assert all(len(line) < 130 for line in out.splitlines() if "One line" not in line or line.startswith("  1"))


def test_show_before_a_compaction_has_no_summary_and_counts_pictures(bench, capsys):
    out = run(capsys, bench, "show", bench[1]["start"].id)
    assert "\nsummary 0" not in out
    [line] = [line for line in out.splitlines() if "This is the ferry chart" in line]
    assert line.split()[:3] == ["3", "user", "1"]  # no tokens: the tokenizer that counted is not at hand
    facts = json.loads(run(capsys, bench, "show", bench[1]["start"].id, "--json"))
    assert facts["summary_text"] == ""
    assert [each["images"] for each in facts["context"]] == [0, 0, 1, 0, 0, 0]


def test_show_counts_tokens_where_the_tokenizer_is_at_hand(bench, capsys):
    store = CheckpointStore(bench[0] / "cache")
    found = replace(bench[1]["start"], tokenizer="all-MiniLM-L6-v2", step=99)
    calls = (ToolCall("c", "read_file", '{"path": "x"}'),)
    found = replace(
        found, transcript=(*found.transcript, Spoken("w", "assistant", "", calls=calls)), context=(*found.context, 6)
    )
    store.save(found)
    facts = json.loads(run(capsys, bench, "show", found.id, "--json"))
    assert all(each["tokens"] > 3 for each in facts["context"])
    assert facts["context"][-1]["words"] == 'read_file {"path": "x"}'
    assert facts["context"][2]["tokens"] - 2 == len_of(TURNS[2].text)


def len_of(text):
    from benchsuite.models.tokenizer import load_tokenizer

    return load_tokenizer()[1]([text])[0]


def test_diff_says_what_differs_and_nothing_else(bench, capsys):
    made = bench[1]
    out = run(capsys, bench, "diff", made["start"].id, made["after"].id)
    lines = out.splitlines()
    assert lines[0].split() == [made["start"].id[:12], made["after"].id[:12]]
    table = {line.split()[0]: line.split()[1:] for line in lines[1 : lines.index("")]}
    assert table["state"] == ["S1-d0", "S2"]
    assert table["summary"] == ["-", "verbatim"]
    assert {"history", "length", "recall", "persona", "writer"}.isdisjoint(table)
    assert "context: 0 messages in both" in lines
    assert sum(line.startswith("  -") for line in lines) == 6
    assert "workspace: 0 removed, 1 added, 0 changed" in lines
    assert "  +  memory/compaction-1.md" in lines


def test_diff_of_a_deeper_state_is_what_was_said_since(bench, capsys):
    made = bench[1]
    facts = json.loads(run(capsys, bench, "diff", made["start"].id, made["deep"].id, "--json"))
    assert facts["context"]["both"] == 6
    assert facts["context"]["only_first"] == []
    assert len(facts["context"]["only_second"]) == len(made["deep"].context) - 6
    assert facts["workspace"] == {"removed": [], "added": [], "changed": []}
    back = json.loads(run(capsys, bench, "diff", made["deep"].id, made["start"].id, "--json"))
    assert back["context"]["only_first"] == facts["context"]["only_second"]


def test_diff_of_equal_messages_counts_them(bench, capsys):
    store = CheckpointStore(bench[0] / "cache")
    twice = replace(bench[1]["start"], context=(*bench[1]["start"].context, 0))
    store.save(twice)
    facts = json.loads(run(capsys, bench, "diff", bench[1]["start"].id, twice.id, "--json"))
    assert facts["context"]["both"] == 6
    assert [each["words"] for each in facts["context"]["only_second"]] == [TURNS[0].text]


def test_diff_of_a_changed_file_and_of_configuration(bench, capsys):
    made = bench[1]
    store = CheckpointStore(bench[0] / "cache")
    files = dict(made["start"].workspace)
    files["notes/start.md"] = files["notes/after.md"]
    store.save(replace(made["start"], workspace=files))
    out = run(capsys, bench, "diff", made["start"].id, replace(made["start"], workspace=files).id)
    assert "workspace: 0 removed, 0 added, 1 changed" in out
    assert "  ~  notes/start.md" in out
    out = run(capsys, bench, "diff", made["after"].id, made["compacted"].id)
    assert out.splitlines()[1].split() == ["recall", "intact", "compacted"]
    assert "context: 6 messages in both" in out


def test_diff_with_itself(bench, capsys):
    start = bench[1]["start"].id
    assert run(capsys, bench, "diff", start, start) == f"{start[:12]} and {start[:12]} are the same\n"


# errors, a line each


def test_ids_that_name_none_or_several(bench, capsys):
    folder = bench[0]
    assert problem(capsys, "show", "zz", "--bench-dir", folder) == (
        4,
        f"no checkpoint begins with 'zz' in {folder}/cache/checkpoint",
    )
    code, text = problem(capsys, "show", "", "--bench-dir", folder)
    assert (code, text) == (4, f"4 checkpoints begin with '' in {folder}/cache/checkpoint: say more of the id")
    assert problem(capsys, "diff", bench[1]["start"].id, "../x", "--bench-dir", folder)[0] == 4


def test_no_folder(tmp_path, capsys):
    for arguments in (["ls"], ["show", "a"], ["diff", "a", "b"]):
        code, text = problem(capsys, *arguments, "--bench-dir", tmp_path / "nowhere")
        assert (code, text) == (4, f"{tmp_path}/nowhere: no such folder; --bench-dir says where the runs are")


def test_another_version_and_a_missing_blob(bench, capsys):
    content = json.loads(file_of(bench, "start").read_text())
    file_of(bench, "start").write_text(json.dumps({**content, "version": 9}))
    code, text = problem(capsys, "show", bench[1]["start"].id[:9], "--bench-dir", bench[0])
    assert (code, text) == (4, f"{file_of(bench, 'start')}: version: a checkpoint of version 9, this reads 1")
    digest = bench[1]["after"].workspace["memory/compaction-1.md"].sha256
    (bench[0] / "cache" / "checkpoint" / "blobs" / digest[:2] / digest).unlink()
    for arguments in (["show", bench[1]["after"].id], ["diff", bench[1]["deep"].id, bench[1]["after"].id]):
        code, text = problem(capsys, *arguments, "--bench-dir", bench[0])
        assert code == 4
        assert text.endswith(f"item memory/compaction-1.md: its blob {digest[:12]} is missing")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ls", "a"], "ls takes no ID"),
        (["show"], "show takes one ID"),
        (["show", "a", "b"], "show takes one ID"),
        (["diff", "a"], "diff takes two IDs"),
        (["rm"], "invalid choice: 'rm'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_line_is_exit_2(tmp_path, capsys, arguments, words):
    with pytest.raises(SystemExit) as caught:
        checkpoint_command([*arguments, "--bench-dir", str(tmp_path)])
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_it_is_installed(bench):
    done = subprocess.run(
        [str(Path(sys.executable).with_name("benchsuite")), "checkpoint", "ls", "--bench-dir", str(bench[0])],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 5
