"""What leaves the process: the question and the delivered items, and no id, name, caption or gold beside them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

from benchsuite.corpus.memlens import MINI_FOLDER, QUESTION_TYPES

if TYPE_CHECKING:
    from .conftest import Endpoint, Logged, Project, Row, Run

HEADERS = {"host", "content-type", "content-length", "accept", "accept-encoding", "user-agent"}
PIECES_WITH_TEXT = (b"tEXt", b"zTXt", b"iTXt", b"eXIf")
URI = re.compile(r"data:image/png;base64,([A-Za-z0-9+/]+=*)")


@pytest.fixture(scope="module")
def run(project: Project, endpoint: Endpoint) -> Run:
    """The four core arms, and the whole history and nothing in their place."""
    url = f"http://127.0.0.1:{endpoint.port}#scripted"
    return project.run("logged", model=url, cache="on", concurrency="16", axis="retrieval=text,oracle,full,none")


@pytest.fixture(scope="module")
def secrets(corpus: dict[str, Row]) -> set[str]:
    """Every name that stands in the corpus files, and those by which the suite knows its arms and cells.

    A caption whose words a person says in some message too (``a diagram``) proves nothing and is left out.
    """
    labels = json.loads((MINI_FOLDER / "labels.json").read_text())
    found = {str(MINI_FOLDER), MINI_FOLDER.name, "memlens", "release_images", "dataset_1x", "labels.json", "noimg"}
    found |= {"has_answer", "blip_caption", "answer_session_ids", "question_type", "oracle", *QUESTION_TYPES}
    captions: set[str] = set()
    for question, item in corpus.items():
        found |= {question, item.get("question_subtype", ""), *item["haystack_session_ids"]}
        found |= {labels[question][key] for key in ("cluster", "template", "layout")}
        for image in (image for session in item["haystack_sessions"] for turn in session for image in turn["images"]):
            path = PurePosixPath(image["file"])
            found |= {path.stem, path.name, *path.parts[:-1]}
            captions.add(image["blip_caption"])
    sessions = [session for item in corpus.values() for session in item["haystack_sessions"]]
    said = "\n".join(turn["content"] for session in sessions for turn in session)
    captions = {caption for caption in captions if caption.casefold() not in said.casefold()}
    assert len(captions) >= 5
    return (found | captions) - {""}


def pictures(body: str) -> list[bytes]:
    return [base64.b64decode(match[1]) for match in URI.finditer(body)]


def leaks(logged: Logged, secrets: Iterable[str]) -> list[str]:
    """The secrets that path, headers, body or image bytes hold, whatever their case; and turn ids."""
    body = logged.body.decode()
    texts = [logged.path, json.dumps(logged.headers), json.dumps(json.loads(URI.sub("", body)), ensure_ascii=False)]
    texts += [picture.decode("latin-1") for picture in pictures(body)]
    whole = "\n".join(texts).casefold()
    turns = re.findall(r"\bs\d+t\d+\b", "".join(texts[:3]))
    return [secret for secret in secrets if secret.casefold() in whole] + turns


def test_no_request_holds_a_name_of_the_corpus(run: Run, endpoint: Endpoint, secrets: set[str]) -> None:
    keys = {key for row in run.rows for key in row["requests"]}
    assert len(endpoint.requests) == len(keys)
    assert sum(len(pictures(logged.body.decode())) for logged in endpoint.requests) > len(keys)
    assert {leak for logged in endpoint.requests for leak in leaks(logged, secrets)} == set()


@pytest.mark.parametrize("place", ["text", "user", "header", "image", "path"])
def test_a_planted_name_is_found(run: Run, endpoint: Endpoint, secrets: set[str], place: str) -> None:
    """So that the test above can fail: one name in each place, of each kind."""
    sample = next(logged for logged in endpoint.requests if pictures(logged.body.decode()))
    kinds = ("q_", "sess_", "a photo of")
    names = [next(name for name in sorted(secrets) if name.startswith(kind)) for kind in kinds]
    for name in [*names, "s3t1"]:
        path, headers, body = sample.path, dict(sample.headers), json.loads(sample.body)
        blocks = body["messages"][1]["content"]
        if place == "text":
            blocks[0]["text"] += f" {name}\n"
        elif place == "user":
            body["user"] = name
        elif place == "header":
            headers["X-Request"] = name
        elif place == "path":
            path += f"?of={name}"
        elif name != "s3t1":  # image bytes may hold anything of four letters
            image = next(block["image_url"] for block in blocks if block["type"] == "image_url")
            head, _, data = image["url"].partition(",")
            image["url"] = f"{head},{base64.b64encode(base64.b64decode(data) + name.encode()).decode()}"
        else:
            continue
        assert leaks(type(sample)(path, headers, json.dumps(body).encode()), secrets) == [name]


def test_a_request_has_the_fields_of_the_protocol_and_no_other(run: Run, endpoint: Endpoint) -> None:
    for logged in endpoint.requests:
        body: dict[str, Any] = json.loads(logged.body)
        assert logged.path == "/v1/chat/completions"
        assert {name.lower() for name in logged.headers} <= HEADERS
        assert set(body) == {"model", "messages", "temperature", "max_tokens"}
        assert body["model"] == "scripted"
        assert [(set(message), message["role"]) for message in body["messages"]] == [
            ({"role", "content"}, "system"),
            ({"role", "content"}, "user"),
        ]
        content = body["messages"][1]["content"]
        for block in content if isinstance(content, list) else ():
            if block["type"] == "text":
                assert set(block) == {"type", "text"}
            else:
                assert (set(block), set(block["image_url"])) == ({"type", "image_url"}, {"url"})
                assert URI.fullmatch(block["image_url"]["url"])
    for picture in {picture for logged in endpoint.requests for picture in pictures(logged.body.decode())}:
        assert not [piece for piece in PIECES_WITH_TEXT if piece in picture]


def test_without_items_a_request_is_the_question_in_fixed_words(
    run: Run, endpoint: Endpoint, corpus: dict[str, Row]
) -> None:
    """With its question and date taken out, every request of retrieval `none` is the same: it holds no gold."""
    arms = run.by_arm
    assert {row["n_items"] for delivery in ("noimg", "pixels") for row in arms["none", delivery].values()} == {0}
    wordings: dict[str, set[str]] = {}
    for logged in endpoint.requests:
        body = json.loads(logged.body)
        content = body["messages"][1]["content"]
        for question, item in corpus.items():
            asked = f"Question date: {item['question_date']}\nQuestion: {item['question']}\n"
            if isinstance(content, str) and content.endswith(asked) and len(content) < len(asked) + 100:
                body["messages"][1]["content"] = content.removesuffix(asked)
                wordings.setdefault(json.dumps(body), set()).add(question)
    assert [found for found in wordings.values() if len(found) > 1] == [set(corpus)]


def test_the_whole_history_is_sent_as_it_was_said(run: Run, endpoint: Endpoint, corpus: dict[str, Row]) -> None:
    """Retrieval `full`: every message in its order, and of an image its pixels or nothing."""
    rows = run.by_arm["full", "noimg"]
    texts = {sent_text(logged): logged for logged in endpoint.requests}
    for question, item in corpus.items():
        turns = [turn for session in item["haystack_sessions"] for turn in session]
        said = "".join(
            f"({rank}) {turn['role']}:\n" + without_marker(turn["content"]) for rank, turn in enumerate(turns, start=1)
        )
        found = [logged for text, logged in texts.items() if said in text and item["question"] in text]
        assert found, question
        assert rows[question]["n_items"] == len(turns)


def without_marker(content: str) -> str:
    text = " ".join(part.strip() for part in content.split("<image>")).strip()
    return f"{text}\n" if text else ""


def sent_text(logged: Logged) -> str:
    content = json.loads(logged.body)["messages"][1]["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
