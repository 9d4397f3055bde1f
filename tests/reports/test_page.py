"""The page and the comparison behind it, on planted data: what differs is marked, what is hostile stays text."""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchsuite.delivery.certificates.certify import Certificate
from benchsuite_reports.page import DIFFED, differs_in, render_page, word_diff
from benchsuite_reports.shown import (
    ADDED,
    CHANGED,
    MISSING,
    Picture,
    Segment,
    ShownArm,
    ShownMessage,
    ShownQuestion,
    ShownRequest,
    compare,
)

HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(2)>]]>--></style> & \x00\x07\r\x85\ud800\ufffe"
HOSTILE_SHOWN = (
    "<script>alert(1)</script> \"'><img src=x onerror=alert(2)>]]>--></style> & \u2400\u2407\u240d\ufffd\ufffd\ufffd"
)


def text(kind: str, content: str, item: str = "") -> Segment:
    return Segment(kind, hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest(), item, content)


def image(name: str, item: str, sent: str = "", **facts: object) -> Segment:
    """An image whose stored bytes are ``name``; ``sent`` are other bytes made of them."""
    data = (sent or name).encode()
    sha256, source = (hashlib.sha256(each).hexdigest() for each in (data, name.encode()))
    transform = ("png/1", (("side", 64),)) if sent else ("", ())
    picture = Picture(sha256, source, "image/png", 64, 48, *transform, data=data)
    return Segment("image", sha256, item, picture=replace(picture, **facts))


def item(place: int, name: str, words: str, *images: Segment) -> list[Segment]:
    return [text("role", f"({place}) user:\n", name), text("text", f"{words}\n", name), *images]


def request(*segments: Segment, **facts: object) -> ShownRequest:
    system = ShownMessage("system", (text("instruction", "Answer."),))
    return ShownRequest("answer", "k" * 64, "m", (system, ShownMessage("user", tuple(segments))), **facts)


def arm(name: str, asked: ShownRequest | None, **facts: object) -> ShownArm:
    axes = {"retrieval": "oracle", "delivery": name}
    return replace(ShownArm(name, axes, (("delivery", name),), asked, "red", "right", "subem 1"), **facts)


def question(*arms: ShownArm, **facts: object) -> ShownQuestion:
    return replace(ShownQuestion("q1", "Which colour?", "red", "colour", "2024/05/31", arms), **facts)


BASE = request(
    text("head", "Messages:\n"),
    *item(1, "a", "The door is red.", image("door", "a")),
    *item(2, "b", "A walk."),
    *item(3, "c", "Thanks.", image("garden", "c"), image("gate", "c")),
    text("question", "Which colour?\n"),
)


def parsed(shown: ShownQuestion) -> ElementTree.Element:
    """The page as a tree: it is well-formed XML too, so an unbalanced or unescaped tag fails here."""
    return ElementTree.fromstring(render_page(shown))


def column(page: ElementTree.Element, number: int) -> ElementTree.Element:
    found = page.find(f".//section[@id='arm-{number}']")
    assert found is not None
    return found


def words(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def marks(element: ElementTree.Element) -> list[tuple[str, str]]:
    """(kind, change) of every marked segment in a column."""
    found = []
    for segment in element.iterfind(".//div[@data-kind]"):
        mark = segment.find("p/span")
        if mark is not None:
            found.append((segment.get("data-kind", ""), mark.text or ""))
    return found


def test_withheld_images_are_missing_and_nothing_else_is_marked():
    withheld = request(*(segment for segment in BASE.messages[1].segments if segment.picture is None))
    page = parsed(question(arm("pixels", BASE), arm("noimg", withheld)))
    assert marks(column(page, 1)) == []
    assert marks(column(page, 2)) == [("image", MISSING)] * 3
    assert column(page, 2).find(".//svg") is None
    assert len(column(page, 1).findall(".//svg")) == 3
    assert words(page.find(".//p[@class='differs']")) == "differs in: delivery (pixels, noimg); segments: image"
    folded = [words(each) for each in column(page, 2).iterfind(".//details[@class='same']/summary")]
    assert folded == ["instruction, same: Answer.", "head, same: Messages:", "item 2 b, same: A walk.", *folded[3:]]
    assert folded[3] == "question, same: Which colour?"


def test_added_changed_and_moved_are_told_apart():
    other = request(
        text("head", "Messages:\n"),
        *item(1, "c", "Thanks.", image("garden", "c", sent="small garden"), image("tower", "c")),
        *item(2, "a", "The door is dark red.", image("door", "a")),
        *item(3, "d", "New here."),
        text("question", "Which colour?\n"),
    )
    found = compare(other, BASE)
    assert Counter(found.counts) == {
        (CHANGED, "role"): 2,
        (CHANGED, "text"): 1,
        (CHANGED, "image"): 2,
        (ADDED, "role"): 1,
        (ADDED, "text"): 1,
        (MISSING, "role"): 1,
        (MISSING, "text"): 1,
    }
    assert found.reordered
    page = parsed(question(arm("one", BASE), arm("other", other)))
    there = column(page, 2)
    assert [words(name) for name in there.iterfind(".//p[@class='name']")] == [
        "item 1, 3rd there c",
        "item 2, 1st there a",
        "item 2 there b",
        "item 3 d",
    ]
    captions = [words(each) for each in there.iterfind(".//p[@class='caption']")]
    assert captions == [
        "there: image 2, 64x48; as stored",
        "image 1, 64x48, item 1; png/1 (side 64); the same stored image",
        "there: image 3, 64x48; as stored",
        "image 2, 64x48, item 1; as stored; another image",
        "image 3, 64x48, item 2; as stored",
    ]
    assert [each.text for each in there.iterfind(".//ins")] == ["1", "2", "dark "]
    assert [each.text for each in there.iterfind(".//del")] == ["3", "1", "(2) user:", "A walk."]
    differs = words(page.find(".//p[@class='differs']"))
    assert differs == "differs in: delivery (one, other); segments: image, role, text; order of items"


def changed_image(there: Segment, here: Segment) -> tuple[list[str], list[str]]:
    """Captions and hrefs of the one image in an item where ``here`` stands for ``there``."""
    pages = parsed(question(*(arm(each.sha256[:4], request(*item(1, "a", "Look.", each))) for each in (there, here))))
    (pair,) = column(pages, 2).iterfind(".//div[@class='pair']")
    assert [each.get("class") for each in pair] == ["there", "here"]
    return [words(each) for each in pair.iterfind(".//p")], [use.get("href", "") for use in pair.iterfind(".//use")]


def test_a_changed_image_stands_beside_the_one_there():
    door, seed = image("door", "a"), "5eed" * 16
    params = (("side", 768), ("control", "phase"), ("seed", seed))
    phase = image("door", "a", sent="phase", transform="png/1+phase/1", params=params)
    captions, shown = changed_image(door, phase)
    assert captions == [
        "there: image 1, 64x48; as stored",
        "image 1, 64x48, item 1; png/1+phase/1 (side 768, seed 5eed5eed); the same stored image",
    ]
    assert shown == [f"#pixels-{each.sha256}" for each in (door, phase)]


def test_a_decoy_says_what_it_replaces_by_place_alone():
    door = image("door", "a")
    params = (("side", 768), ("control", "decoy"), ("replaces", door.sha256), ("width", 64), ("height", 48))
    decoy = image("cat", "a", sent="small cat", transform="png/1+decoy/1", params=params)
    assert changed_image(door, decoy)[0][1] == (
        "image 1, 64x48, item 1; png/1+decoy/1 (side 768); a decoy in the place of image 1"
    )
    assert changed_image(decoy, door)[0] == [
        "there: image 1, 64x48; png/1+decoy/1 (side 768); a decoy",
        "image 1, 64x48, item 1; as stored; the image that the decoy there replaces",
    ]


def test_an_image_of_another_message_says_where_it_stands_there():
    def bound(first: str, second: str) -> ShownRequest:
        return request(*item(1, "a", "One.", image(first, "a")), *item(2, "b", "Two.", image(second, "b")))

    page = parsed(question(arm("intact", bound("door", "gate")), arm("bindshuf", bound("gate", "door"))))
    captions = [words(each) for each in column(page, 2).iterfind(".//div[@class='here']/p")]
    assert captions == [
        "image 1, 64x48, item 1; as stored; another image, which is image 2 there",
        "image 2, 64x48, item 2; as stored; another image, which is image 1 there",
    ]


def test_each_compared_arm_has_its_certificate():
    names = ("base", "sound", "unmatched", "unaltered", "same", "unknown")
    certificates = (
        None,
        Certificate(("identity", "time"), True, "", True, (), "", 3),
        Certificate(("modality",), False, "max_tokens 512 against 1024", True, (), "no count of prompt tokens", None),
        Certificate(("identity",), True, "", False, ("identity: one tag alone cannot change places",), "", 0),
        Certificate((), True, "", False, (), "", 0),
        "no record of the request",
    )
    arms = [arm(name, BASE, certificate=each) for name, each in zip(names, certificates, strict=True)]
    table = parsed(question(*arms)).find(".//div[@aria-label='certificates']/table")
    assert words(table.find("thead/tr/th")) == "certificate against base"
    assert [[words(each) for each in row] for row in table.iterfind("tbody/tr")] == [
        ["sound", "identity, time", "yes", "yes", "+3 prompt tokens"],
        ["unmatched", "modality", "no max_tokens 512 against 1024", "yes", "no count of prompt tokens"],
        ["unaltered", "identity", "yes", "no identity: one tag alone cannot change places", "+0 prompt tokens"],
        ["same", "none", "yes", "", "+0 prompt tokens"],
        ["unknown", "", "not certified: no record of the request", "", ""],
    ]
    assert parsed(question(arm("base", BASE))).find(".//div[@aria-label='certificates']") is None


def test_the_compared_arm_may_stand_anywhere():
    shorter = request(*BASE.messages[1].segments[:-1])
    page = parsed(question(arm("short", shorter), arm("long", BASE), against=1))
    assert marks(column(page, 1)) == [("question", MISSING)]
    assert marks(column(page, 2)) == []
    assert "against long" in [words(each) for each in page.iterfind(".//thead//th")]


def test_equal_requests_and_other_settings():
    warm = replace(BASE, params={"temperature": 1}, tools="t")
    arms = [arm("a", BASE), arm("a", BASE), arm("a", warm)]
    compared = [compare(BASE, None), compare(BASE, BASE), compare(warm, BASE)]
    assert compared[1].sentence == ""
    assert compared[2].settings == ("tools", "temperature")
    assert differs_in(arms[:2], compared[:2]) == "the requests are the same"
    assert differs_in(arms, compared) == "sent with another temperature, tools"
    page = parsed(question(*arms))
    cells = [words(each) for each in page.iterfind(".//tbody/tr/td[2]")]
    assert cells == ["", "the same request", "sent with another tools, temperature"]


def test_an_arm_without_a_request_says_why():
    lost = arm("lost", None, answer="", word="error", score="not scored", problem="http error: HTTP 400")
    page = parsed(question(arm("pixels", BASE), lost))
    assert "no request to show: http error: HTTP 400" in words(column(page, 2))
    cells = [words(each) for each in page.iterfind(".//tbody/tr[2]/td")]
    assert cells == ["http error: HTTP 400", "not compared: a request is not recorded", "", "error not scored"]


def test_one_arm_has_nothing_to_compare_with():
    page = parsed(question(arm("pixels", BASE), gold_items=frozenset("a"), pipeline_check=True))
    assert page.find(".//p[@class='differs']") is None
    assert page.find(".//details") is None
    assert words(page.find(".//p[@class='check']")) == "pipeline check, not evidence"
    cells = [words(each) for each in page.iterfind(".//tbody/tr/*")]
    assert cells == ["pixels", "3 items (1 of 1 gold), 3 images", "red", "right subem 1"]
    assert [words(each) for each in page.iterfind(".//span[@class='gold']")] == ["gold"]
    assert "pipeline check" not in render_page(question(arm("pixels", BASE)))


def test_further_calls_and_another_reply_are_shown():
    judge = ShownRequest(
        "judge",
        "j" * 64,
        "grader",
        request(text("question", "Is it red?"), image("seen", "")).messages,
        reply="VERDICT=1",
    )
    asked = replace(BASE, reply="<think>hm</think>red")
    page = parsed(question(arm("pixels", asked, further=(judge,))))
    (shown,) = column(page, 1).iterfind("details")
    assert words(shown.find("summary")) == "judge grader: VERDICT=1"
    assert "Is it red?" in words(shown)
    assert page.find(f".//image[@id='{shown.find('.//use').get('href')[1:]}']") is not None
    assert "<think>hm</think>red" in words(column(parsed(question(arm("pixels", asked))), 1))


def test_what_cannot_be_shown_is_said_in_its_place():
    gone = image("door", "a", data=None, problem="it is not stored")
    lost = Segment("text", "0" * 64, "a", problem="a text of 5 characters: it is not stored")
    page = parsed(question(arm("pixels", request(lost, gone))))
    said = [words(each) for each in page.iterfind(".//p[@class='gone']")]
    assert said == ["a text of 5 characters: it is not stored", "image 1, 64x48, item 1: it is not stored"]
    assert page.find(".//svg") is None


TAGS = """
html head meta title style body header main section div p h1 h2 h3 span b bdi a dl dt dd table thead tbody tr th td
details summary code svg use image figure figcaption br ins del
"""
ATTRIBUTES = """
lang charset http-equiv content name class dir href id scope role aria-label aria-labelledby tabindex data-kind
width height viewBox
"""


def hostile_question() -> ShownQuestion:
    """Every text a corpus, a model or a record can bring is hostile."""
    picture = replace(image("door", HOSTILE).picture, sha256=HOSTILE, transform=HOSTILE, params=((HOSTILE, HOSTILE),))
    bad = [Segment("image", HOSTILE, HOSTILE, picture=picture), Segment(HOSTILE, "", HOSTILE, problem=HOSTILE)]
    bad += [Segment("image", "x", HOSTILE, picture=replace(picture, data=None, problem=HOSTILE))]
    messages = (ShownMessage(HOSTILE, (text(HOSTILE, HOSTILE, HOSTILE), *bad)),)
    asked = ShownRequest(HOSTILE, HOSTILE, HOSTILE, messages, {HOSTILE: HOSTILE}, HOSTILE, HOSTILE)
    facts = ((HOSTILE, HOSTILE),)
    one = ShownArm(HOSTILE, {HOSTILE: HOSTILE}, facts, asked, HOSTILE, HOSTILE, HOSTILE, (asked,), HOSTILE)
    two = replace(one, axes={HOSTILE: "x"}, request=request(text("text", "<b>", HOSTILE)), further=())
    two = replace(two, certificate=Certificate((HOSTILE,), False, HOSTILE, False, (HOSTILE,), HOSTILE, None))
    three = replace(two, certificate=HOSTILE)
    return ShownQuestion(*[HOSTILE] * 5, (one, two, three), facts, frozenset([HOSTILE]))


def test_hostile_content_stays_text():
    page = parsed(hostile_question())
    assert {each.tag for each in page.iter()} <= set(TAGS.split())
    assert {name for each in page.iter() for name in each.attrib} <= set(ATTRIBUTES.split())
    assert page.find("body/header/h1").text == HOSTILE_SHOWN
    assert HOSTILE_SHOWN in [each.text for each in page.iterfind(".//div[@class='text']")]


@pytest.mark.parametrize("make", [hostile_question, lambda: question(arm("pixels", BASE), arm("again", BASE))])
def test_nothing_outside_the_file_is_asked_for(make):
    page = parsed(make())
    ids = [each.get("id") for each in page.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    links = [each.get("href", "") for each in page.iter() if "href" in each.attrib]
    assert links
    for link in links:
        assert link.startswith("data:image/png;base64,") or link.removeprefix("#") in ids, link[:80]
    assert page.find(".//*[@src]") is None
    style = page.find("head/style").text
    assert not re.search(r"url\(|@import|expression|//", style)
    policy = page.find("head/meta[@http-equiv='Content-Security-Policy']").get("content")
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy


def test_each_image_is_in_the_file_once_and_named_for_those_who_do_not_see_it():
    shown = question(arm("pixels", BASE), arm("again", BASE), arm("third", BASE))
    assert render_page(shown).count(";base64,") == 3
    page = parsed(shown)
    assert page.get("lang") == "en"
    assert len(page.findall(".//h1")) == 1
    labels = [each.get("aria-label") for each in column(page, 3).iterfind(".//svg")]
    assert labels == ["image 1, 64x48, item 1", "image 2, 64x48, item 3", "image 3, 64x48, item 3"]
    assert all(each.get("role") == "img" for each in page.iterfind(".//svg"))


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio of two hex colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_both_colour_schemes_can_be_read():
    style = (resources.files("benchsuite_reports") / "page.css").read_text()
    schemes = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)
    ]
    assert len(schemes) == 2
    for scheme in schemes:
        pairs = [(name, "paper") for name in ("ink", "faint", "link", "added", "missing", "changed")]
        pairs += [("ink", "field")]
        fields = ("added-field", "missing-field", "changed-field")
        pairs += [(name, field) for field in fields for name in ("ink", "faint", field.removesuffix("-field"))]
        for name, ground in pairs:
            assert contrast(scheme[name], scheme[ground]) >= 4.5, (name, ground)


@given(st.text("ab .\n"), st.text("ab .\n"))
def test_a_word_diff_loses_nothing(before, after):
    pieces = list(word_diff(before, after))
    assert "".join(piece for change, piece in pieces if change != "+") == before
    assert "".join(piece for change, piece in pieces if change != "-") == after
    assert before != after or all(change == "=" for change, _ in pieces)


def test_changed_space_is_seen():
    one, other = (request(text("text", words, "a")) for words in ("red door", "red  door\n"))
    found = column(parsed(question(arm("one", one), arm("other", other))), 2).findall(".//div[@class='text']/*")
    assert [(each.tag, each.get("class"), each.text) for each in found] == [
        ("del", "space", " "),
        ("ins", "space", "  "),
        ("ins", "line", "\n"),
    ]


def test_a_very_long_text_is_shown_replaced():
    long = "word " * DIFFED
    assert list(word_diff(long, f"{long}more")) == [("-", long), ("+", f"{long}more")]


SEGMENTS = st.lists(
    st.builds(
        text, st.sampled_from(["role", "text", "note"]), st.sampled_from("xyz"), st.sampled_from(["", "a", "b", "c"])
    )
)


@settings(max_examples=200)
@given(SEGMENTS, SEGMENTS)
def test_a_comparison_loses_nothing(here: Sequence[Segment], there: Sequence[Segment]):
    one, other = request(*here), request(*there)
    found = [mark for _, blocks in compare(one, other).messages for block in blocks for mark in block.marks]
    assert [mark.segment for mark in found if mark.change != MISSING] == list(one.segments)
    stood = [mark.segment for mark in found if mark.change == MISSING]
    stood += [mark.before or mark.segment for mark in found if mark.change in ("", CHANGED)]
    key = repr
    assert sorted(stood, key=key) == sorted(other.segments, key=key)
    for mark in found:
        assert mark.change != CHANGED or (
            mark.before.sha256 != mark.segment.sha256 and mark.before.kind == mark.segment.kind
        )
    assert sum(compare(one, one).counts.values()) == 0
