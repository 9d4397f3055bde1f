"""What each delivery puts into a request, part by part."""

from __future__ import annotations

import pytest

from benchsuite.corpus.model import Image
from benchsuite.delivery.arrange import all_slots, arrange
from benchsuite.delivery.render import missing_images

DATE = "2024/05/11 (Sat) 19:33"
ASKED = "Question date: 2024/06/01 (Sat) 10:00\nQuestion: What is it?\n"
HEAD = "Messages from earlier conversations:\n"
ABSENT = Image("", "gone.png", missing="absent")


@pytest.fixture
def items(store, turn):
    dog, cat, bird = store.draw(30, 20, caption="a dog\n on a mat"), store.draw(30, 21), store.draw(30, 22)
    return [
        turn(1, "See <image> and <image> here", dog, cat, date=DATE),
        turn(2, "Nice.", role="assistant", date=DATE),
        turn(3, "", bird, date="unknown", session=2),
        turn(4, "It is gone <image>", ABSENT, date="2024/05/12", session=3),
    ]


def name(items, key):
    """`dog M1` for a slot's key: by the order of the images, with its tag."""
    digest, _, tag = key.partition(" ")
    order = [image.sha256 for item in items for image in item.images]
    return f"<{('dog', 'cat', 'bird')[order.index(digest)]}{tag and ' ' + tag}>"


def content(items, message):
    return "".join(b if isinstance(b, str) else name(items, b.sha256) for b in message.blocks)


def user(items, messages):
    assert [message.role for message in messages] == ["system", "user"]
    return content(items, messages[1])


def texts(messages, *without):
    return [part.text for message in messages for part in message.parts if part.text and part.kind not in without]


def kinds(messages, *wanted):
    return [part for message in messages for part in message.parts if part.kind in wanted]


def test_the_plain_presets_send_what_they_always_sent(items, rendered):
    pixels = (
        f"{HEAD}(1) user:\nSee and here\n<dog><cat>(2) assistant:\nNice.\n(3) user:\n<bird>"
        f"(4) user:\nIt is gone\n{ASKED}"
    )
    assert user(items, rendered(items, "pixels")) == pixels
    assert user(items, rendered(items, "stored")) == pixels
    noimg = pixels.replace("<dog><cat>", "").replace("<bird>", "")
    assert user(items, rendered(items, "noimg")) == noimg
    assert {part.kind for part in rendered(items, "pixels")[1].parts} == {"head", "role", "text", "image", "question"}


def test_deployed_has_tags_in_pixels_notes_and_dates(items, rendered):
    text = user(items, rendered(items, "deployed"))
    head, _, body = text.partition("(1) user:\n")
    assert head.startswith(HEAD)
    assert "in its top left corner" in head
    assert "a message without a picture has no tag" in head
    assert "by relevance" in head
    note = "[{} is printed in the top left corner of every picture of this message]\n"
    assert body == (
        f"[{DATE}]\nSee and here\n{note.format('M1')}<dog M1><cat M1>"
        f"(2) assistant:\n[{DATE}]\nNice.\n"
        f"(3) user:\n{note.format('M3')}<bird M3>"
        f"(4) user:\n[2024/05/12]\nIt is gone\n{ASKED}"
    )


@pytest.mark.parametrize(
    ("text", "less", "without"),
    [
        ("deployed", "deployed+nodate", ["date"]),
        ("deployed", "deployed+notag", ["tag", "note"]),
        ("deployed", "pixels", ["date", "tag", "note"]),
        ("deployed+tagtext", "deployed+notag", ["tag"]),
        ("pixels+caption", "noimg", ["note"]),
        ("pixels+label_images", "pixels", ["note"]),
        ("direct", "direct+nodate", ["date"]),
    ],
)
def test_leaving_a_part_out_changes_nothing_else_in_the_text(items, rendered, text, less, without):
    whole, reduced = rendered(items, text), rendered(items, less)
    assert texts(whole, *without) == texts(reduced, *without)
    assert "".join(texts(whole)) != "".join(texts(reduced))


def test_tags_in_pixels_alone_leave_the_text_of_no_tags(items, rendered):
    for base in ("deployed", "pixels"):
        stamped, plain = rendered(items, f"{base}+tagpix"), rendered(items, f"{base}+notag")
        assert texts(stamped) == texts(plain)
        assert [p.image.sha256.partition(" ")[2] for p in kinds(stamped, "image")] == ["M1", "M1", "M3"]
        assert [p.image.sha256.partition(" ")[2] for p in kinds(plain, "image")] == ["", "", ""]


def test_tags_in_the_text_leave_the_images_unstamped_and_name_the_same_items(items, rendered):
    in_text, in_pixels = rendered(items, "deployed+tagtext"), rendered(items, "deployed")
    assert [p.image.sha256.partition(" ")[2] for p in kinds(in_text, "image")] == ["", "", ""]
    assert [(p.text, p.item) for p in kinds(in_text, "tag") if p.item] == [("[M1]\n", "t1"), ("[M3]\n", "t3")]
    assert [p.item for p in kinds(in_pixels, "tag") if p.item] == ["t1", "t3"]
    assert f"(1) user:\n[{DATE}]\n[M1]\nSee and here\n<dog><cat>" in user(items, in_text)
    heads = [[p.text for p in kinds(messages, "tag") if not p.item] for messages in (in_text, in_pixels)]
    assert heads[0][0] != heads[1][0]
    assert heads[0][1:] == heads[1][1:]


@pytest.mark.parametrize("identity", ["tag", "tagtext"])
@pytest.mark.parametrize("modality", ["noimg", "caption"])
def test_tags_say_nothing_where_no_pixels_are_shown(items, rendered, identity, modality):
    assert rendered(items, f"pixels+{modality}+{identity}") == rendered(items, f"pixels+{modality}")


def test_in_conversation_order_the_tags_go_by_time(items, rendered):
    heads = [[p.text for p in kinds(rendered(items, t), "tag")] for t in ("deployed", "deployed+conv")]
    assert heads[0][0] == heads[1][0]
    assert "relevance" in heads[0][1]
    assert "oldest" in heads[1][1]


def test_a_caption_stands_in_the_images_place(items, rendered):
    assert user(items, rendered(items, "pixels+caption")) == (
        f"{HEAD}(1) user:\nSee and here\nPicture, described: a dog on a mat\nPicture, without a description.\n"
        f"(2) assistant:\nNice.\n(3) user:\nPicture, without a description.\n"
        f"(4) user:\nIt is gone\nPicture, without a description.\n{ASKED}"
    )


def test_missing_images_are_counted_by_what_is_missing(items, delivery):
    counts = {text: missing_images(items, delivery(text)) for text in ("pixels", "deployed", "noimg", "pixels+caption")}
    assert counts == {"pixels": 1, "deployed": 1, "noimg": 0, "pixels+caption": 3}


def test_slots_are_the_images_shown_in_order_with_their_tags(items, delivery):
    def shown(text: str) -> list[str]:
        return [name(items, slot.key) for slot in all_slots(arrange(items, delivery(text), "seed"))]

    assert shown("deployed") == ["<dog M1>", "<cat M1>", "<bird M3>"]
    assert shown("direct") == ["<dog>", "<cat>", "<bird>"]
    assert shown("deployed+noimg") == shown("pixels+caption") == []


def talk(items, messages):
    assert messages[0].role == "system"
    return [(message.role, content(items, message)) for message in messages[1:]]


def test_direct_is_the_conversation_itself(items, rendered):
    assert talk(items, rendered(items, "direct")) == [
        ("user", f"=== Session 1 (Date: {DATE}) ===\nSee <dog> and <cat> here"),
        ("assistant", "Nice."),
        ("user", "=== Session 2 (Date: unknown) ===\n<bird>"),
        ("user", "=== Session 3 (Date: 2024/05/12) ===\nIt is gone"),
        ("user", ASKED),
    ]


def test_direct_without_pixels_has_neither_markers_nor_empty_turns(items, rendered):
    assert talk(items, rendered(items, "direct+noimg")) == [
        ("user", f"=== Session 1 (Date: {DATE}) ===\nSee and here"),
        ("assistant", "Nice."),
        ("user", "=== Session 3 (Date: 2024/05/12) ===\nIt is gone"),
        ("user", ASKED),
    ]


@pytest.mark.parametrize(
    ("text", "images", "sent"),
    [
        ("a <image> b", "dog", "a <dog> b"),
        ("a <image> b", "dog cat bird", "a <dog> b<cat><bird>"),
        ("a <image> b <image> c", "dog", "a <dog> b  c"),
        ("<image><image>", "dog cat", "<dog><cat>"),
        ("  no marker ", "dog cat", "<dog><cat>no marker"),
        ("<image> a <image> b", "- cat", " a <cat> b"),
        ("  only <image> gone ", "-", "only gone"),
    ],
)
def test_images_stand_at_their_markers(store, turn, rendered, text, images, sent):
    drawn = {"dog": store.draw(30, 20), "cat": store.draw(30, 21), "bird": store.draw(30, 22), "-": ABSENT}
    item = turn(1, text, *(drawn[each] for each in images.split()), session=0)
    message = rendered([item], "direct")[1]
    names = {image.sha256: key for key, image in drawn.items()}
    assert "".join(b if isinstance(b, str) else f"<{names[b.sha256]}>" for b in message.blocks) == sent


def test_labels_number_the_images_shown_over_the_whole_request(items, rendered):
    assert talk(items, rendered(items, "direct+label_images"))[0][1].endswith(
        "See \n[Image 1]\n<dog> and \n[Image 2]\n<cat> here"
    )
    assert talk(items, rendered(items, "direct+label_images"))[2][1] == (
        "=== Session 2 (Date: unknown) ===\n[Image 3]\n<bird>"
    )
    first_missing = [items[3], *items[:3]]
    assert "[Image 1]\n<dog>[Image 2]\n<cat>" in user(items, rendered(first_missing, "pixels+label_images"))


def test_a_session_header_stands_once_and_again_after_another_session(store, turn, rendered):
    turns = [turn(n, f"text {n}", session=session) for n, session in enumerate((2, 2, 5, 2))]
    sent = [text for _, text in talk([], rendered(turns, "direct"))]
    assert sent[:4] == [
        "=== Session 2 ===\ntext 0",
        "text 1",
        "=== Session 5 ===\ntext 2",
        "=== Session 2 ===\ntext 3",
    ]


@pytest.mark.parametrize("text", ["pixels", "deployed", "noimg", "pixels+caption", "direct", "stored"])
def test_without_items_every_delivery_asks_the_same(rendered, text):
    assert rendered([], text) == rendered([], "pixels")
    assert texts(rendered([], text))[1:] == ["No messages from earlier conversations are at hand.\n", ASKED]


def test_no_id_digest_or_path_of_the_corpus_is_sent(items, rendered):
    for text in ("deployed", "pixels+caption", "direct+label_images", "deployed+tagtext"):
        sent = "".join(texts(rendered(items, text)))
        names = [each.id for each in items] + [n for i in items for m in i.images for n in (m.sha256, m.path) if n]
        assert not [each for each in names if each in sent]
        if "caption" not in text:
            assert "on a mat" not in sent
