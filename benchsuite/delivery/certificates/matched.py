"""The leg ``matched`` of a certificate: what the declared variables do not touch is equal, or the first difference.

Every function gives that difference in a phrase, empty where there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from benchsuite.delivery.certificates.sent import Part, Rules, Sent, SentRequest, counted, framed, shown, steps_of
from benchsuite.delivery.spec import Delivery
from benchsuite.delivery.stamp import stamp_box

_UNCOUNTED = ("none", "gold_only", "full")  # retrievals that deliver as many items as there are, whatever k says
_NOUNS = {
    "instruction": "the instruction",
    "head": "the head",
    "tag": "what the head says of tags",
    "date": "what the head says of dates",
    "question": "the question",
    "tail": "what is said of the reply's form",
}
# parameters of an image that have a rule of their own
_RULED = ("side", "tag", "frame", "box", "control", "seed", "replaces", "width", "height")
_RECIPE = ("source", "transform", "params", "w", "h")


def first_difference(a: Sent, b: Sent, first: SentRequest, second: SentRequest, rules: Rules) -> str:
    """In the order of a request: what stands beside the messages, their frame, the items, what these consist of."""
    return (
        _settings(a, b, rules)
        or _frame(first, second, rules)
        or (_delivered(first, second, rules) if first.places != second.places else "")
        or (_texts(first, second) if rules.declares("form") else _contents(first, second, rules))
        or _rearranged(first, second, rules)
        or _boxes(first)
        or _boxes(second)
        or _captions(first, second, rules)
    )


def _settings(a: Sent, b: Sent, rules: Rules) -> str:
    """What stands beside the messages, and the axes that nobody declared."""
    for key in dict.fromkeys([*a.row, *b.row]):
        if key.startswith("arm.") and a.row.get(key) != b.row.get(key):
            axis = key.removeprefix("arm.")
            if axis != "delivery" and axis not in rules.declared:
                return f"{axis} is not declared: {a.row.get(key)} against {b.row.get(key)}"
    for name in rules.undeclared:
        return f"{name} is not declared: {getattr(rules.a, name)} against {getattr(rules.b, name)}"
    if a.row["question"] != b.row["question"]:
        return "the rows are of two questions"
    if "model" not in rules.declared:
        if a.call["model"] != b.call["model"]:
            return f"model {a.call['model']} against {b.call['model']}"
        served = [str(each.row["model_served"]) for each in (a, b)]
        if all(served) and served[0] != served[1]:
            return f"model served {served[0]} against {served[1]}"
    mine, theirs = a.call["params"], b.call["params"]
    return _unequal(mine, theirs) or ("" if a.call["tools"] == b.call["tools"] else "the tools differ")


def _unequal(mine: Mapping[str, object], theirs: Mapping[str, object], besides: Sequence[str] = ()) -> str:
    for name in dict.fromkeys([*mine, *theirs]):
        if name not in besides and (mine.get(name) != theirs.get(name) or (name in mine) != (name in theirs)):
            return f"{name} {mine.get(name, 'not set')} against {theirs.get(name, 'not set')}"
    return ""


def _frame(first: SentRequest, second: SentRequest, rules: Rules) -> str:
    """Message roles, instruction, head and question."""
    if not rules.declares("form") and (not rules.axes or rules.a.form == "items") and first.roles != second.roles:
        return f"message roles: {', '.join(first.roles)} against {', '.join(second.roles)}"
    mine, theirs = first.frame, second.frame
    if rules.declares("condition"):
        mine, theirs = _unpressed(mine), _unpressed(theirs)
    if mine == theirs:
        return ""
    free = {"date"} if rules.declares("time") else set()
    if rules.declares("form") or bool(first.places) != bool(second.places):  # nothing delivered has a head of its own
        free = {"head", "tag", "date"}
    elif rules.named == "free":
        free.add("tag")
    by_count = rules.named == "counted" or rules.declares("order")
    mine, theirs = (
        [(role, kind, "" if kind == "tag" and by_count else sha) for role, kind, sha in each if kind not in free]
        for each in (mine, theirs)
    )
    return uneven([each[1:] for each in mine], [each[1:] for each in theirs], _NOUNS) if mine != theirs else ""


def pressure(frame: Sequence[tuple[str, str, str]]) -> list[int]:
    """The places of what a probe tells the model before its question: nothing, or the line of a condition."""
    return [place for place, (role, kind, _) in enumerate(frame) if (role, kind) == ("user", "instruction")]


def _unpressed(frame: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """A frame without the line of its condition."""
    line = pressure(frame)[:1]
    return [part for place, part in enumerate(frame) if place not in line]


def uneven(
    mine: Sequence[tuple[str, Hashable]], theirs: Sequence[tuple[str, Hashable]], nouns: Mapping[str, str]
) -> str:
    """What is different between two unequal sequences of kind and content."""
    for kind in dict.fromkeys(part[0] for part in chain(mine, theirs)):
        ours, others = ([part for part in each if part[0] == kind] for each in (mine, theirs))
        if ours == others:
            continue
        if kind in nouns:
            parts = f": {counted(len(ours), 'part')} against {len(others)}" if len(ours) != len(others) else " differs"
            return nouns[kind] + parts
        if len(ours) == len(others):
            return f"its {kind} differs"
        return f"{counted(len(ours), kind if kind == 'image' else f'{kind} part')} against {len(others)}"
    return "parts stand in another order"


def _delivered(first: SentRequest, second: SentRequest, rules: Rules) -> str:
    """Which items stand in which order."""
    mine, theirs = first.places, second.places
    for places in (mine, theirs):
        for place, item in enumerate(places, start=1):
            if len(set(places)) < len(places) and item in places[: place - 1]:
                return f"item {place} (of {len(places)}): a part of an item that has ended"
    if not rules.axes:
        return _same_set(mine, theirs, rules)
    short, long = sorted((mine, theirs), key=len)
    if rules.axes == ("k",) and not rules.declares("form"):
        # an oracle ranks the padding that a larger k brings among the gold
        ranked = rules.a.order == rules.b.order == "rank" and not rules.rows[0].get("sees_gold")
        for place, item in enumerate(short, start=1):
            if item not in long:
                return f"item {place} (of {len(short)}): not among the {len(long)} of the longer delivery"
            if ranked and long[place - 1] != item:
                return f"item {place} (of {len(short)}): item {long.index(item) + 1} of the longer delivery"
        return ""
    uncounted = any(row.get("arm.retrieval") in _UNCOUNTED for row in rules.rows)
    if len(mine) == len(theirs) or "k" in rules.axes or uncounted:
        return ""
    k = rules.rows[0 if len(mine) < len(theirs) else 1].get("arm.k")
    if rules.reseeded and isinstance(k, int) and len(short) < k:  # the shorter history has no more
        return ""
    return f"{counted(len(mine), 'item')} against {len(theirs)}"


def _same_set(mine: Sequence[str], theirs: Sequence[str], rules: Rules) -> str:
    for places, others, which in ((mine, theirs, "first"), (theirs, mine, "second")):
        absent = set(places).difference(others)
        for place, item in enumerate(places, start=1):
            if item in absent:
                return f"item {place} (of {len(places)}): in the {which} request only"
    if rules.declares("order"):
        return ""
    place = next(place for place, pair in enumerate(zip(mine, theirs, strict=True), start=1) if pair[0] != pair[1])
    return f"item {place} (of {len(mine)}): the items stand in another order"


def _contents(first: SentRequest, second: SentRequest, rules: Rules) -> str:
    """What each item that both deliver consists of."""
    # ids number the items of one history: of two lengths they name nothing that both deliver
    shared = second.places if "length" not in rules.axes else []
    where = {item: place for place, item in enumerate(shared, start=1)}
    for place, item in enumerate(first.places, start=1):
        if item not in where:
            continue
        parts, others = first.items[item], second.items[item]
        if first.speakers[item] != second.speakers[item]:
            problem = f"in a message of {first.speakers[item]} against {second.speakers[item]}"
            return f"item {place} (of {len(first.places)}): {problem}"
        if parts == others:
            continue
        places = place, where[item]
        mine = list(alike(parts, places, rules, rules.a, rules.b))
        theirs = list(alike(others, places, rules, rules.b, rules.a))
        if mine != theirs:
            return f"item {place} (of {len(first.places)}): {uneven(mine, theirs, {})}"
        if rules.both_show:
            for picture, other in zip(first.images_of(item), second.images_of(item), strict=True):
                if problem := slot_difference(picture, other, rules, places):
                    return f"image {first.number(picture)}: {problem}"
    if rules.axes and not rules.declares("time") and not where.keys() & first.items.keys():
        return _dated(first, second)
    return ""


def _dated(first: SentRequest, second: SentRequest) -> str:
    """Of two requests that share no item, one must not have dates throughout and the other none."""
    mine, theirs = ([bool(dates) for dates in each.digests("date")] for each in (first, second))
    if mine and theirs and ((all(mine) and not any(theirs)) or (all(theirs) and not any(mine))):
        return "only the items of one request have dates"
    return ""


def alike(
    parts: Sequence[Part], places: tuple[int, int], rules: Rules, own: Delivery, other: Delivery
) -> Iterator[tuple[str, Hashable]]:
    """The parts that must be alike, in order: kind, and what must be equal of it.

    A number that goes by place is known by its digits alone: where it has as many, the part is as long.
    """
    hidden = own.shows_images and not other.shows_images
    unlabelled = own.label_images and (hidden or not other.label_images)
    by_place = "n" if len(str(places[0])) == len(str(places[1])) else ""
    for part, following in zip(parts, [*parts[1:], None], strict=False):  # there may be no part
        kind, content = part["kind"], part["sha256"]
        if kind == "image":
            if hidden:
                continue
            content = ""
        elif kind == "note":
            is_label = following is not None and following["kind"] == "image"
            if (unlabelled and is_label) or (
                own.modality != other.modality and "caption" in (own.modality, other.modality)
            ):
                continue
            if rules.moved and is_label and own.label_images:
                content = ""
        elif kind == "date":
            if rules.declares("time"):
                if rules.times != {"date", "permuted"}:
                    continue
                content = ""
            elif (rules.moved and own.time == "permuted") or (rules.reseeded and own.time == "ordinal"):
                content = ""
        elif kind == "tag":
            if rules.named == "free":
                continue
            if rules.named != "equal" or (rules.moved and own.identity == "shuffled"):
                content = ""
            elif places[0] != places[1]:
                content = part.get(by_place, "")
        elif kind == "role" and places[0] != places[1]:
            content = part.get(by_place, "")
        yield kind, content


def slot_difference(a: Part, b: Part, rules: Rules, places: tuple[int, int]) -> str:
    """What differs between the images of one slot that no declared variable may change."""
    if a == b:
        return ""
    mine, theirs = a["params"], b["params"]
    codec, control, stamp, further = steps_of(a["transform"])
    other_codec, other_control, other_stamp, other_further = steps_of(b["transform"])
    if not rules.rebound:
        if shown(a) != shown(b):
            return "another picture"
        if control == other_control == "decoy" and a["source"] != b["source"] and not rules.moved:
            return "another decoy"
        if not rules.declares("side") and (a["w"], a["h"]) != (b["w"], b["h"]):
            return f"{a['w']}x{a['h']} against {b['w']}x{b['h']}"
    if not rules.declares("codec") and a["mime"] != b["mime"]:
        return f"{a['mime']} against {b['mime']}"
    treated = {bool(control or stamp): codec, bool(other_control or other_stamp): other_codec}
    recoded = rules.rebound or rules.declares("side", "codec") or (len(treated) == 2 and not treated[False])
    if (
        further != other_further
        or (control != other_control and not rules.declares("modality"))
        or (stamp != other_stamp and not rules.declares("identity"))
        or (codec != other_codec and not recoded)
    ):
        return f"{a['transform'] or 'as stored'} against {b['transform'] or 'as stored'}"
    if (
        not rules.declares("side", "codec")
        and {"side"} <= mine.keys() & theirs.keys()
        and mine["side"] != theirs["side"]
    ):
        return f"longest side {mine['side']} against {theirs['side']}"
    if control == other_control and mine.get("seed") != theirs.get("seed") and not (rules.reseeded or rules.rebound):
        return "another seed"
    if stamp and other_stamp and (problem := _stamp(mine, theirs, rules, places)):
        return problem
    if problem := _unequal(mine, theirs, _RULED):
        return problem
    return "its bytes differ" if all(a[name] == b[name] for name in _RECIPE) else ""


def _stamp(mine: Mapping[str, object], theirs: Mapping[str, object], rules: Rules, places: tuple[int, int]) -> str:
    tags, frames = (str(mine["tag"]), str(theirs["tag"])), (framed(mine), framed(theirs))
    redrawn = any(identity.startswith("shuffled") for identity in rules.identities)
    if rules.stamped in ("permuted", "free") or (redrawn and (rules.moved or rules.stamped == "counted")):
        return ""
    if rules.moved:
        by_place = [frame == f"M{place}" for frame, place in zip(frames, places, strict=True)]
        return "" if by_place[0] == by_place[1] else f"stamped {tags[0]} against {tags[1]}, not by place"
    if rules.stamped == "equal" and tags[0] != tags[1]:
        return f"stamped {tags[0]} against {tags[1]}"
    return "" if frames[0] == frames[1] else f"stamped in the box of {frames[0]} against {frames[1]}"


def _rearranged(first: SentRequest, second: SentRequest, rules: Rules) -> str:
    """What may change places, but must be the same over the whole request."""
    if rules.axes or rules.declares("form"):
        return ""
    if rules.times == {"date", "permuted"} and _parts(first, "date") != _parts(second, "date"):
        return "the dates are not the same dates in another order"
    if rules.named == "permuted" and not rules.moved and _parts(first, "tag") != _parts(second, "tag"):
        return "the tags in the text are not the same tags in another order"
    if rules.both_show:
        if rules.stamped == "permuted":
            stamps = [_stamps(first), _stamps(second)]
            if stamps != ([_placed(first), _placed(second)] if rules.moved else stamps[::-1]):
                return "the stamps are not the same stamps in another order"
        if rules.rebound and Counter(_moving(first, rules)) != Counter(_moving(second, rules)):
            return "the images are not the same images in another order"
    return ""


def _parts(request: SentRequest, kind: str) -> Counter[str]:
    return Counter(chain.from_iterable(request.digests(kind)))


def _stamps(request: SentRequest) -> Counter[tuple[str, ...]]:
    """The stamps of each item, in whichever place: its images carry the same one, however many they are."""
    return Counter(
        tuple(dict.fromkeys(part["params"].get("tag", "") for part in request.images_of(item)))
        for item in request.places
    )


def _placed(request: SentRequest) -> Counter[tuple[str, ...]]:
    """The stamps that items have by their place."""
    return Counter((f"M{n}",) if request.images_of(item) else () for n, item in enumerate(request.places, start=1))


def _moving(request: SentRequest, rules: Rules) -> Iterator[Hashable]:
    """Of each image what goes with it to another place; the stamp stays, and a decoy is drawn for the place."""
    as_they_are = not rules.declares("modality", "identity", "side", "codec")
    for part in request.images:
        params = part["params"]
        size = () if rules.declares("side") else (part["w"], part["h"])
        seed = params.get("seed", "") if not rules.declares("modality") else ""
        whole = as_they_are and "tag" not in params and "replaces" not in params
        yield shown(part), size, seed, part["sha256"] if whole else ""


def _boxes(request: SentRequest) -> str:
    """Each stamp lies in the box that its image's size and its tag make."""
    for part in request.images:
        params = part["params"]
        if "tag" in params and params.get("box") != _box(part["w"], part["h"], framed(params)):
            box = _box(part["w"], part["h"], framed(params))
            return f"image {request.number(part)}: stamped in the box {params.get('box')} and not in {box}"
    return ""


@lru_cache(maxsize=4096)
def _box(width: int, height: int, tag: str) -> str:
    wide, tall = stamp_box(width, height, tag)
    return f"0,0,{wide},{tall}"


def _captions(first: SentRequest, second: SentRequest, rules: Rules) -> str:
    """One caption for each image where one arm has captions and the other images."""
    if rules.axes or rules.declares("form", "retention") or rules.a.form == "sessions":  # a header is a note as well
        return ""
    sides = ((rules.a, first, rules.rows[0]), (rules.b, second, rules.rows[1]))
    for (own, request, row), (other, captioned, _) in (sides, sides[::-1]):
        if own.shows_images and other.modality == "caption":
            images = len([*request.spoken_images(), *request.images]) + int(row["n_missing"])
            notes = sum(part["kind"] == "note" for _, parts in captioned.conversation for part in parts)
            captions = notes + _parts(captioned, "note").total()
            return "" if captions == images else f"{counted(captions, 'caption')} for {counted(images, 'image')}"
    return ""


def _texts(first: SentRequest, second: SentRequest) -> str:
    """Between two forms: the texts of items without images differ by the same separators, whatever these are."""
    gaps: dict[int, int] = {}
    for place, item in enumerate(first.places, start=1):
        mine, theirs = (_size(each.items.get(item, ())) for each in (first, second))
        if mine is not None and theirs is not None:
            gaps[place] = mine - theirs
    usual = Counter(gaps.values()).most_common(1)
    odd = [place for place, gap in gaps.items() if gap != usual[0][0]]
    return f"item {odd[0]} (of {len(first.places)}): its text differs" if odd else ""


def _size(parts: Iterable[Part]) -> int | None:
    """The characters of an item that is one text without images."""
    said = [part for part in parts if part["kind"] in ("text", "image")]
    return int(said[0]["n"]) if len(said) == 1 and said[0]["kind"] == "text" else None
