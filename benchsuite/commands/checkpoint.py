"""``benchsuite checkpoint``: the conversation states that were built, what one holds, and how two differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchsuite.commands.parser import Parser, add_bench_dir, add_json, check_bench_dir, in_columns, one_line
from benchsuite.errors import DataError
from benchsuite.runtime.checkpoint import Checkpoint, CheckpointStore
from benchsuite.runtime.conversation import Spoken, reference_tokens
from benchsuite.runtime.workspace import COMPACTED

ID = 12  # characters of an id that are shown
WORDS = 76  # characters of a message
COLUMNS = (
    *("id", "history", "length", "state", "depth", "active", "compactions", "step"),
    *("summary", "summariser", "writer", "recall", "files", "size"),
)
FACTS = (
    *("history", "length", "state", "depth", "active", "compactions", "step", "tokenizer"),
    *("summary", "summariser", "writer", "recall", "persona"),
)


def checkpoint_command(argv: list[str]) -> int:
    """``ls``, ``show ID`` or ``diff ID ID``. An id may be cut to what tells it from the others."""
    parser = Parser(
        "benchsuite checkpoint",
        "Look at the conversation states that runs were asked at (checkpoints). Depths are tokens of the reference "
        "count: at the capture, and of the context that a probe finds; size is that of the file and of its blobs.",
        "  benchsuite checkpoint ls\n  benchsuite checkpoint show 3f2a\n  benchsuite checkpoint diff 3f2a 91c0",
    )
    parser.add_argument("action", choices=["ls", "show", "diff"], help="a line each; one in full; how two differ")
    parser.add_argument("ids", nargs="*", metavar="ID", help="the beginning of an id will do")
    add_json(parser)
    add_bench_dir(parser)
    options = parser.parse_args(argv)
    wanted = {"ls": 0, "show": 1, "diff": 2}[options.action]
    if len(options.ids) != wanted:
        parser.error(f"{options.action} takes {('no ID', 'one ID', 'two IDs')[wanted]}")
    check_bench_dir(options.bench_dir)
    store = CheckpointStore(options.bench_dir / "cache")
    if options.action == "ls":
        facts: Any = [_listed(store, each) for each in store.ids()]
        lines = _ls_lines(facts, store)
    elif options.action == "show":
        facts = _shown(store, store.find(options.ids[0]))
        lines = _show_lines(facts)
    else:
        facts = _differing(*map(store.find, options.ids))
        lines = _diff_lines(facts)
    if options.json:
        print(json.dumps(facts, indent=1))
    else:
        for line in lines:
            print(line)
    return 0


def _listed(store: CheckpointStore, checkpoint_id: str) -> dict[str, Any]:
    """What ``ls`` says of one; ``problem`` in its place where it cannot be read."""
    try:
        return _facts(store, store.load(checkpoint_id))
    except DataError as error:
        return {"id": checkpoint_id, "problem": str(error)}


def _facts(store: CheckpointStore, checkpoint: Checkpoint) -> dict[str, Any]:
    facts: dict[str, Any] = {"id": checkpoint.id}
    facts |= {name: getattr(checkpoint, name) for name in FACTS}
    facts["messages"] = len(checkpoint.context)
    facts["said"] = len(checkpoint.transcript)
    facts["images"] = sum(len(each.images) for each in checkpoint.spoken)
    facts["files"] = len(checkpoint.workspace)
    facts["size"] = store.size(checkpoint)
    return facts


def _shown(store: CheckpointStore, checkpoint: Checkpoint) -> dict[str, Any]:
    workspace = store.restore(checkpoint).workspace
    written = [path for path in checkpoint.workspace if path.startswith(COMPACTED)]
    newest = f"{COMPACTED}{checkpoint.compactions}.md"
    files = [
        {
            "path": path,
            "bytes": file.size,
            "artefact": file.about,
            "picture": f"{file.image.width}x{file.image.height}" if file.image else "",
            "sha256": file.sha256,
        }
        for path, file in sorted(checkpoint.workspace.items())
    ]
    tokens = _tokens(checkpoint)
    context = [{**_message(each), "tokens": count} for each, count in zip(checkpoint.spoken, tokens, strict=True)]
    text = workspace.read(newest).decode("utf-8", "replace") if newest in written else ""
    return {**_facts(store, checkpoint), "workspace": files, "context": context, "summary_text": text}


def _tokens(checkpoint: Checkpoint) -> Sequence[int | None]:
    """Of each message of the context, where the tokenizer that counted them is at hand."""
    from benchsuite.models.tokenizer import load_tokenizer

    name, count = load_tokenizer()
    if name != checkpoint.tokenizer:
        return [None] * len(checkpoint.context)
    return reference_tokens(checkpoint.spoken, count)


def _message(spoken: Spoken) -> dict[str, Any]:
    said = [spoken.text.strip(), *(f"{call.name} {call.arguments}" for call in spoken.calls)]
    text = one_line(" ".join(filter(None, said)))
    return {
        "id": spoken.id,
        "role": spoken.role,
        "kind": spoken.kind,
        "images": len(spoken.images),
        "words": text if len(text) <= WORDS else text[: WORDS - 1] + "\u2026",
    }


def _differing(a: Checkpoint, b: Checkpoint) -> dict[str, Any]:
    """What differs between two; ``context`` counts the messages that both have, and lists the others."""
    facts = {name: [getattr(a, name), getattr(b, name)] for name in FACTS if getattr(a, name) != getattr(b, name)}
    ours, theirs = (_by_content(each.spoken) for each in (a, b))
    both = ours.keys() & theirs.keys()
    files, others = a.workspace, b.workspace
    return {
        "ids": [a.id, b.id],
        "facts": facts,
        "context": {
            "both": len(both),
            "only_first": [_message(each) for key, each in ours.items() if key not in both],
            "only_second": [_message(each) for key, each in theirs.items() if key not in both],
        },
        "workspace": {
            "removed": sorted(files.keys() - others.keys()),
            "added": sorted(others.keys() - files.keys()),
            "changed": sorted(path for path in files.keys() & others.keys() if files[path] != others[path]),
        },
    }


def _by_content(spoken: Sequence[Spoken]) -> Mapping[object, Spoken]:
    """Messages by what they are, the n-th of equal ones by its number, too."""
    found: dict[object, Spoken] = {}
    seen: dict[object, int] = {}
    for each in spoken:
        key = (each.role, each.text, tuple(image.sha256 for image in each.images), each.calls, each.call_id)
        seen[key] = seen.get(key, 0) + 1
        found[key, seen[key]] = each
    return found


def _ls_lines(listed: Sequence[dict[str, Any]], store: CheckpointStore) -> Iterator[str]:
    if not listed:
        yield f"no checkpoints in {store.folder}"
        return
    good = [each for each in listed if "problem" not in each]
    good.sort(key=lambda each: (each["history"], each["length"], each["compactions"], each["active"]))
    if good:
        yield from in_columns([COLUMNS, *(tuple(_cell(name, each[name]) for name in COLUMNS) for each in good)])
    for each in listed:
        if "problem" in each:
            yield f"{each['id'][:ID]}  unreadable: {one_line(each['problem'])}"


def _cell(name: str, value: object) -> str:
    if name in ("id", "history"):
        return str(value)[: ID if name == "id" else 8]
    if name == "size":
        return f"{float(str(value)) / 1e3:.1f}kB"
    return "-" if value == "" else str(value)


def _show_lines(facts: dict[str, Any]) -> Iterator[str]:
    said = {**facts, "messages": f"{facts['messages']} in view, {facts['said']} said, {facts['images']} images in view"}
    yield from in_columns([(name, str(said[name]) or "-") for name in ("id", *FACTS, "messages", "size")])
    yield ""
    yield f"workspace: {facts['files']} files"
    rows = [(each["path"], str(each["bytes"]), each["artefact"], each["picture"]) for each in facts["workspace"]]
    yield from _indented([("path", "bytes", "artefact", "picture"), *rows])
    yield ""
    yield "context"
    lines = [
        (str(at), each["role"], _count(each["tokens"]), _count(each["images"] or None), each["words"])
        for at, each in enumerate(facts["context"], 1)
    ]
    yield from _indented([("#", "role", "tokens", "images", "words"), *lines])
    if facts["summary_text"]:
        yield ""
        yield f"summary {facts['compactions']} ({facts['summary']}, by {facts['summariser']})"
        yield from (f"  {one_line(line)}" for line in facts["summary_text"].splitlines())


def _diff_lines(facts: dict[str, Any]) -> Iterator[str]:
    first, second = (each[:ID] for each in facts["ids"])
    context, workspace = facts["context"], facts["workspace"]
    rest = [*context["only_first"], *context["only_second"], *(path for paths in workspace.values() for path in paths)]
    if not facts["facts"] and not rest:
        yield f"{first} and {second} are the same"
        return
    values = [(name, *(str(value) or "-" for value in pair)) for name, pair in facts["facts"].items()]
    yield from in_columns([("", first, second), *values])
    yield ""
    yield f"context: {context['both']} messages in both"
    for sign, side in (("-", "only_first"), ("+", "only_second")):
        yield from _indented([(sign, each["role"], each["words"]) for each in context[side]])
    yield ""
    yield "workspace: " + ", ".join(f"{len(paths)} {what}" for what, paths in workspace.items())
    for sign, what in (("-", "removed"), ("+", "added"), ("~", "changed")):
        yield from _indented([(sign, path) for path in workspace[what]])


def _indented(lines: Sequence[tuple[str, ...]]) -> list[str]:
    return [f"  {line}" for line in in_columns(lines)] if lines else []


def _count(value: int | None) -> str:
    return "" if value is None else str(value)
