"""What the tools find, what they can reach, and what they say to a call that is none."""

from __future__ import annotations

import pytest

from benchsuite.errors import ConfigError
from benchsuite.models.wire import ToolCall
from benchsuite.runtime.search import Index, terms
from benchsuite.runtime.tools import NAMES, NO_MATCH, SEARCHED, SHOWN, TOOLS, Surface
from benchsuite.runtime.workspace import BlobStore, Workspace

from .world import ARTIFACTS, CHART, GOLD, MEMO, TURNS, picture, play, tool_call

TABLE, NOTE, PICTURE = f"records/{CHART}_table.csv", "memory/2026-03-04.md", f"artifacts/{CHART}.png"


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    return {state: play(state, folder) for state in ("S1-d16k", "S2")}, BlobStore(folder / "blobs")


def surface(checkpoints, state="S1-d16k", recall="intact"):
    found, blobs = checkpoints
    return Surface(Workspace(found[state].workspace, blobs), recall, found[state].compactions)


def call(made, name, arguments):
    return made.call(ToolCall("c", name, arguments))


# artifact_recall


@pytest.mark.parametrize(
    "query",
    [
        CHART,
        f"the chart {CHART}, please",
        f"({CHART}.png)",
        PICTURE,
        TABLE,
        NOTE,
        "how many passengers in June",
        "ferry curve at the pier",
        "THE FERRY'S PASSENGERS",
    ],
)
def test_an_artefact_is_recalled_by_id_by_path_and_by_words(checkpoints, query):
    found = surface(checkpoints).call(tool_call("artifact_recall", query=query))
    assert found.text.splitlines()[0] == f"[{CHART}]"
    assert set(found.paths) == set(ARTIFACTS[0].paths)
    assert found.images == TURNS[2].images
    assert f"[{TABLE}]\n" in found.text
    assert GOLD in found.text
    assert MEMO not in found.text
    assert found.fault == ""


def test_an_artefact_that_is_a_text_comes_as_text(checkpoints):
    found = surface(checkpoints).call(tool_call("artifact_recall", query="press hall of the orchard"))
    assert found.text.startswith(f"[{MEMO}]\n[artifacts/{MEMO}.txt]\nMemo of the orchard club")
    assert found.images == ()


def test_a_path_names_its_artefact_whatever_the_words_of_others(tmp_path):
    workspace = Workspace({}, BlobStore(tmp_path))
    workspace.write("shots/view.md", b"something else and more of it " * 9, "ax_1")
    workspace.write("records/other.md", b"shots view shots view shots view", "ax_2")
    made = Surface(Workspace(workspace.snapshot(), BlobStore(tmp_path)), "intact", 0)
    assert made.recall("shots/view.md").paths == ("shots/view.md",)
    assert made.recall("view of shots").paths == ("records/other.md",)


@pytest.mark.parametrize("query", ["ax_1110", "ax_deadbeef", "artifacts/ax_deadbeef.png", "records"])
def test_an_id_that_is_not_there_recalls_nothing(tmp_path, query):
    """What all artefacts share, how ids begin and folders are called, must not bring any of them."""
    workspace = Workspace({}, BlobStore(tmp_path))
    for name in ("ax_111", "ax_222", "ax_333"):
        workspace.write(f"artifacts/{name}.png", b"png", name, picture(9))
        workspace.write(f"records/{name}.md", b"the view of it", name)
    made = Surface(Workspace(workspace.snapshot(), BlobStore(tmp_path)), "intact", 0)
    assert made.recall(query).text == NO_MATCH
    assert made.recall(f"{query} or ax_222").paths[0] == "artifacts/ax_222.png"


def test_nothing_that_fits_is_no_match(checkpoints):
    made = surface(checkpoints)
    for name in ("artifact_recall", "memory_search"):
        found = made.call(tool_call(name, query="zeppelin"))
        assert (found.text, found.images, found.paths, found.fault) == (NO_MATCH, (), (), "")


# memory_search and read_file


def test_search_shows_the_best_files_first_and_no_picture(checkpoints):
    found = surface(checkpoints).call(tool_call("memory_search", query="ferry curve, passengers in June"))
    assert found.paths[0] in (NOTE, TABLE)
    assert {NOTE, TABLE} <= set(found.paths)
    assert len(found.paths) <= SEARCHED
    assert found.images == ()
    assert PICTURE not in found.paths


def test_search_finds_files_by_their_paths(checkpoints):
    assert surface(checkpoints).search("start.md").paths[0] == "notes/start.md"


@pytest.mark.parametrize("path", [TABLE, f"/{TABLE}", f"./{TABLE}", f" {TABLE} ", f"records/../{TABLE}"])
def test_a_file_is_read_by_its_path(checkpoints, path):
    found = surface(checkpoints).call(tool_call("read_file", path=path))
    assert found.text == f"[{TABLE}]\nmonth,passengers\nJune,{GOLD}\nJuly,52.71"
    assert found.paths == (TABLE,)


def test_a_picture_is_read_as_a_picture(checkpoints):
    found = surface(checkpoints).call(tool_call("read_file", path=PICTURE))
    assert (found.text, found.images, found.paths) == (f"[{PICTURE}]", TURNS[2].images, (PICTURE,))


@pytest.mark.parametrize("path", ["nothing.md", "records", "../etc/passwd", "/etc/passwd", "records/../..", "\ud800"])
def test_a_file_that_is_not_there_is_said_and_is_no_fault(checkpoints, path):
    found = surface(checkpoints).read_file(path)
    assert found.text.startswith("There is no file ")
    assert found.text.encode()
    assert (found.paths, found.images, found.fault) == ((), (), "")


def test_long_files_are_cut_where_several_are_shown_and_whole_where_one_is_read(tmp_path):
    workspace = Workspace({}, BlobStore(tmp_path))
    workspace.write("long.md", b"word " * 2000)
    made = Surface(Workspace(workspace.snapshot(), BlobStore(tmp_path)), "intact", 0)
    assert len(made.search("word").text) == len("[long.md]\n") + SHOWN
    assert len(made.read_file("long.md").text) == len("[long.md]\n") + 10_000


# what is no call


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("open_file", "{}", f"There is no tool 'open_file'. Tools: {', '.join(NAMES)}."),
        ("", "{}", "There is no tool ''."),
        ("read_file", "artifacts/x.png", "The arguments of read_file are no JSON."),
        ("read_file", "[" * 100_000, "The arguments of read_file are no JSON."),
        ("read_file", "", "read_file needs the argument 'path', a text."),
        ("read_file", '["a"]', "read_file needs the argument 'path', a text."),
        ("read_file", "null", "read_file needs the argument 'path', a text."),
        ("read_file", '{"path": 3}', "read_file needs the argument 'path', a text."),
        ("read_file", '{"query": "a"}', "read_file needs the argument 'path', a text."),
        ("artifact_recall", '{"query": ["a"]}', "artifact_recall needs the argument 'query', a text."),
        ("memory_search", '{"query": "  "}', "memory_search needs the argument 'query', a text."),
    ],
    ids=range(11),
)
def test_a_call_that_is_none_is_told_so(checkpoints, name, arguments, words):
    found = call(surface(checkpoints), name, arguments)
    assert found.text.startswith(words)
    assert found.fault == found.text
    assert (found.images, found.paths) == ((), ())


def test_more_arguments_than_asked_for_are_passed_over(checkpoints):
    assert not call(surface(checkpoints), "read_file", f'{{"path": "{TABLE}", "lines": 3}}').fault


# what can be reached


@pytest.mark.parametrize("recall", ["intact", "compacted", "norecall"])
def test_before_a_compaction_everything_can_be_reached(checkpoints, recall):
    made = surface(checkpoints, recall=recall)
    assert made.recall(CHART).images
    assert made.read_file(TABLE).paths == (TABLE,)


def test_after_a_compaction_intact_reaches_everything(checkpoints):
    made = surface(checkpoints, "S2", "intact")
    assert made.recall(CHART).images
    assert GOLD in made.recall(CHART).text
    assert made.read_file("memory/compaction-1.md").paths


def test_compacted_reaches_what_the_compaction_wrote_and_nothing_else(checkpoints):
    made = surface(checkpoints, "S2", "compacted")
    assert set(made.files) == {"memory/compaction-1.md"}
    for query in (f"chart {CHART}", "the memo that was shown"):
        found = made.recall(query)
        assert found.paths == ("memory/compaction-1.md",)
        assert found.images == ()
        assert GOLD not in found.text
    assert made.read_file(TABLE).paths == ()
    assert made.read_file(NOTE).paths == ()  # the agent's own notes of before are gone, too
    assert made.recall("zeppelin").text == NO_MATCH


def test_norecall_reaches_nothing(checkpoints):
    made = surface(checkpoints, "S2", "norecall")
    assert made.recall(CHART).text == made.search("chart memo ferry").text == NO_MATCH
    assert made.read_file("memory/compaction-1.md").text.startswith("There is no file")
    assert made.files == {}


def test_another_surface_is_refused(checkpoints):
    with pytest.raises(ConfigError, match="recall has no value 'all'; known: intact, compacted, norecall"):
        surface(checkpoints, recall="all")


def test_the_offered_tools_are_those_that_run():
    assert NAMES == ("artifact_recall", "memory_search", "read_file")
    for tool in TOOLS:
        parameters = tool["function"]["parameters"]
        assert list(parameters["properties"]) == parameters["required"]


# search


def test_words_numbers_and_plurals():
    assert terms("The ferries' 48.35 passengers, in JUNE 2026-03-04.") == [
        *("ferrie", "48.35", "passenger", "june", "2026", "03", "04")
    ]


def test_rare_words_count_more_and_ties_stand_in_order():
    index = Index(["ferry ferry ferry", "ferry zebra", "ferry", "", "other"])
    assert index.best("zebra ferry", 9)[0] == 1
    assert set(index.best("ferry", 9)) == {0, 1, 2}
    assert Index(["ferry ferry ferry", "zebra", "ferry x", "ferry y", "z"]).best("ferry zebra", 1) == [1]
    assert Index(["same", "same"]).best("same", 9) == [0, 1]
    assert Index(["same", "same"]).best("same", 1) == [0]
    three = Index(["ferry zebra", "ferry", "ferry"])
    assert three.best("ferry", 9, telling=True) == []
    assert three.best("ferry", 9) != []
    assert three.best("ferry zebra", 9, telling=True) == [0]
    assert len(Index(["ferry", "ferry"]).best("ferry", 9, telling=True)) == 2
    assert Index([]).best("x", 3) == Index(["", ""]).best("x", 3) == []
