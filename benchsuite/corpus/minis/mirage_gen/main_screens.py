"""The three views of the split ``main``: orders, a profile, statistics."""

from __future__ import annotations

from benchsuite.corpus.minis.memlens_gen.canvas import Canvas
from benchsuite.corpus.minis.mirage_gen import draw
from benchsuite.corpus.minis.mirage_gen.specs import Planted, comparison, layout, lookup

_ORDERS = (
    ("Copper watering can", "38.45", "GS-48213", "Out for delivery"),
    ("Cedar cold frame", "129.90", "GS-48377", "Awaiting pickup"),
    ("Pruning saw", "27.15", "GS-47952", "Returned to shop"),
    ("Herb drawer set", "64.80", "GS-48109", "Held at depot"),
    ("Slate plant labels", "15.35", "GS-48466", "Packed by nursery"),
)
_MEMBER = (
    ("Handle", "mossgrip"), ("Member number", "KV-70416"), ("Home wall", "Basalt Hall"), ("Joined", "17 Feb 2019"),
    ("Hardest route", "Green Lantern"), ("Body height", "172.5 cm"), ("Arm span", "181.5 cm"),
    ("Belay card", "Level Teal"), ("Coach", "Perrin Oduya"), ("Contact", "Lotte Varga"), ("Locker", "C-318"),
    ("Routes climbed", "1,327"), ("Shoe size", "39.5"),
)  # fmt: skip
_BIRDS = (
    ("Species seen", "263"), ("New species", "37"), ("Hours in the field", "418.5"),
    ("Kilometres walked", "936.4"), ("Longest outing", "11.75 h"), ("Lists filed", "184"),
    ("Photos kept", "2,915"), ("Rarest bird", "Rosy starling"), ("Top site", "Pellow Marsh"),
    ("Birds an outing", "23.6"), ("Best companion", "Ines Korda"), ("Highest perch", "64.25 m"),
)  # fmt: skip


def _orders() -> Canvas:
    notes = (("Points", "1,846"), ("Spent this season", "275.65 EUR"))
    return draw.cards("Marrow Lane Nursery", "My orders", _ORDERS, notes)


def _member() -> Canvas:
    return draw.fields("Northface Climbing Club", "Member profile", _MEMBER, (34, 96, 92))


def _birds() -> Canvas:
    return draw.tiles("My birding year", "Figures of the season", _BIRDS, (54, 72, 98))


ORDERS = Planted(
    key="orders",
    kind="orders_screen",
    suffix=".png",
    draw=_orders,
    said="This is what the nursery's app shows of my garden orders right now. Saved as {path}.",
    reply="Noted as {id}. I wrote down the order numbers; the saw is the one that went back.",
    records=(
        ("records/{id}_s.md", "Screen of the nursery app ({path}): five cards, each with article and price above, "
         "order number and state below. Order numbers from the top: GS-48213, GS-48377, GS-47952, GS-48109, GS-48466. "
         "At the foot: points and what was spent.\n"),
        ("memory/2026-03-09.md", "# Note\nGarden orders on the screen ({path}): the cold frame is 129.90, the saw "
         "27.15. Other prices are on the screen alone.\n"),
    ),
    asks=(
        lookup("What does the copper watering can cost on the nursery's orders screen?", "38.45",
               "What does the bamboo trellis cost on the nursery's orders screen?", "bamboo", "trellis"),
        lookup("What does the cedar cold frame cost on the nursery's orders screen?", "129.90",
               "What does the garden hose cost on the nursery's orders screen?", "hose", risk="lexical"),
        lookup("What does the herb drawer set cost on the nursery's orders screen?", "64.80",
               "What does the potting bench cost on the nursery's orders screen?", "potting", "bench"),
        lookup("What do the slate plant labels cost on the nursery's orders screen?", "15.35",
               "What do the leather gloves cost on the nursery's orders screen?", "gloves"),
        lookup("What is the order number of the pruning saw at the nursery?", "GS-47952",
               "What is the order number of the grass shears at the nursery?", "shears", query="code"),
        lookup("What is the order number of the cedar cold frame at the nursery?", "GS-48377",
               "What is the order number of the rain barrel at the nursery?", "barrel", query="code"),
        lookup("What is the order number of the slate plant labels at the nursery?", "GS-48466",
               "What is the order number of the bulb planter at the nursery?", "bulb", query="code"),
        lookup("What is the state of the order of the copper watering can at the nursery?", "Out for delivery",
               "What is the state of the order of the compost bin at the nursery?", "compost", query="status",
               risk="prior"),
        lookup("What is the state of the order of the herb drawer set at the nursery?", "Held at depot",
               "What is the state of the order of the bird bath at the nursery?", "bath", query="status",
               risk="template"),
        lookup("How many points does the nursery's orders screen show?", "1846",
               "How many vouchers does the nursery's orders screen show?", "vouchers"),
        lookup("How much was spent this season, by the nursery's orders screen?", "275.65",
               "How much was spent last season, by the nursery's orders screen?", "last"),
        comparison("Which article on the nursery's orders screen is the dearest?", "Cedar cold frame",
                   "Which gift card on the nursery's orders screen is the dearest?", "gift", query="entity"),
        comparison("Which article on the nursery's orders screen is the cheapest?", "Slate plant labels",
                   "Which article in the wish list of the nursery's app is the cheapest?", "wish", query="entity"),
        comparison("What is the order number of the dearest article on the nursery's orders screen?", "GS-48377",
                   "What is the tracking number of the dearest article on the nursery's orders screen?", "tracking",
                   query="code"),
        layout("What is the state on the third card of the nursery's orders screen?", "Returned to shop",
               "What is the courier on the third card of the nursery's orders screen?", "courier", query="status",
               risk="lexical"),
        layout("Which article is on the card directly below the pruning saw on the nursery's screen?",
               "Herb drawer set",
               "Which article is on the card directly below the wheelbarrow on the nursery's screen?", "wheelbarrow",
               query="entity"),
        layout("What is the state on the lowest card of the nursery's orders screen?", "Packed by nursery",
               "What is the arrival day on the lowest card of the nursery's orders screen?", "arrival",
               query="status", risk="template"),
    ),
)  # fmt: skip

MEMBER = Planted(
    key="member",
    kind="profile_view",
    suffix=".png",
    draw=_member,
    said="My profile page at the climbing club, before they migrate it to the new site. Saved as {path}.",
    reply="Saved as {id}. I copied the handle and the locker; the rest is in the picture.",
    records=(
        ("records/{id}_s.md", "Profile page of the climbing club ({path}), a label and a value in each line, from "
         "the handle to the shoe size. Handle mossgrip, locker C-318.\n"),
        ("memory/2026-03-11.md", "# Note\nThe club's profile page is {path}. The coach on it is Perrin Oduya.\n"),
    ),
    asks=(
        lookup("What is the handle on the climbing club profile?", "mossgrip",
               "What is the nickname of the dog on the climbing club profile?", "nickname", "dog", query="name"),
        lookup("What is the member number on the climbing club profile?", "KV-70416",
               "What is the insurance number on the climbing club profile?", "insurance", query="code"),
        lookup("Which home wall does the climbing club profile name?", "Basalt Hall",
               "Which training partner does the climbing club profile name?", "partner", query="entity"),
        lookup("On which day was the club joined, by the climbing club profile?", "17 Feb 2019",
               "On which day was the last fall, by the climbing club profile?", "fall", query="date"),
        lookup("Which hardest route does the climbing club profile name?", "Green Lantern",
               "Which favourite crag does the climbing club profile name?", "favourite", "crag", query="entity"),
        lookup("What body height in cm does the climbing club profile give?", "172.5",
               "What body weight in kg does the climbing club profile give?", "weight", "kg"),
        lookup("What arm span in cm does the climbing club profile give?", "181.5",
               "What grip strength in kg does the climbing club profile give?", "strength"),
        lookup("What belay card does the climbing club profile show?", "Level Teal",
               "What first aid card does the climbing club profile show?", "aid", query="status", risk="template"),
        lookup("Who is the coach on the climbing club profile?", "Perrin Oduya",
               "Who is the physiotherapist on the climbing club profile?", "physiotherapist", query="name",
               risk="lexical"),
        lookup("Who is the contact on the climbing club profile?", "Lotte Varga",
               "Who is the landlord on the climbing club profile?", "landlord", query="name"),
        lookup("Which locker does the climbing club profile name?", "C-318",
               "Which parking space does the climbing club profile name?", "parking", query="code", risk="lexical"),
        lookup("How many routes climbed does the climbing club profile count?", "1327",
               "How many medals won does the climbing club profile count?", "medals", query="count"),
        lookup("What shoe size does the climbing club profile give?", "39.5",
               "What helmet size does the climbing club profile give?", "helmet", risk="prior"),
        comparison("Which is larger on the climbing club profile, body height or arm span, and with what number of cm?",
                   "181.5",
                   "Which is larger on the climbing club profile, rope length or sling length, and with what number "
                   "of cm?", "rope", "sling"),
        layout("What value stands directly below Belay card on the climbing club profile?", "Perrin Oduya",
               "What value stands directly below Blood group on the climbing club profile?", "blood", query="name"),
        layout("What value stands directly above Routes climbed on the climbing club profile?", "C-318",
               "What value stands directly above Contests entered on the climbing club profile?", "contests",
               query="code"),
    ),
)  # fmt: skip

BIRDS = Planted(
    key="birds",
    kind="statistics_view",
    suffix=".png",
    draw=_birds,
    said="And the year's figures of my birding app, all on one page. Saved as {path}.",
    reply="Thanks, that is {id} now. I kept a short summary of what the tiles are about.",
    records=(
        ("records/{id}.csv", "# from {path}, first line of tiles\ntile,value\nSpecies seen,263\nNew species,37\n"
         "Hours in the field,418.5\n"),
        ("records/{id}_s.md", "Twelve tiles on a dark page ({path}), three in a line, a label above each figure: "
         "species, hours, kilometres, photos, sites.\n"),
        ("memory/2026-03-13.md", "# Note\nBirding figures of the season: {path}. The top site is Pellow Marsh.\n"),
    ),
    asks=(
        lookup("How many species seen does the birding page count?", "263",
               "How many nests found does the birding page count?", "nests", query="count"),
        lookup("How many hours in the field does the birding page give?", "418.5",
               "How many hours in the hide does the birding page give?", "hide"),
        lookup("How many kilometres walked does the birding page give?", "936.4",
               "How many kilometres cycled does the birding page give?", "cycled"),
        lookup("How many hours did the longest outing on the birding page take?", "11.75",
               "How many hours did the shortest outing on the birding page take?", "shortest"),
        lookup("How many lists filed does the birding page count?", "184",
               "How many rings read does the birding page count?", "rings", query="count"),
        lookup("How many photos kept does the birding page count?", "2915",
               "How many recordings kept does the birding page count?", "recordings", query="count"),
        lookup("Which is the rarest bird on the birding page?", "Rosy starling",
               "Which is the loudest bird on the birding page?", "loudest", query="entity"),
        lookup("Which is the top site on the birding page?", "Pellow Marsh",
               "Which is the top country on the birding page?", "country", query="entity", risk="lexical"),
        lookup("How many birds an outing does the birding page give?", "23.6",
               "How many birds a garden visit does the birding page give?", "garden", "visit"),
        lookup("Who is the best companion on the birding page?", "Ines Korda",
               "Who is the group leader on the birding page?", "leader", query="name"),
        lookup("How many metres high is the highest perch on the birding page?", "64.25",
               "How many metres deep is the deepest dive on the birding page?", "deepest", "dive"),
        comparison("Which count of the birding page is larger, new species or lists filed, and what is it?", "184",
                   "Which count of the birding page is larger, feathers or pellets, and what is it?", "feathers",
                   "pellets", query="count"),
        comparison("What is the largest figure on the birding page?", "2915",
                   "What is the largest figure on the butterfly page?", "butterfly", query="count"),
        layout("Which figure stands in the tile right of Species seen on the birding page?", "37",
               "Which figure stands in the tile right of Owls heard on the birding page?", "owls", query="count"),
        layout("Which value stands in the last tile of the birding page?", "64.25",
               "Which value stands in the weather tile of the birding page?", "weather"),
        layout("Which name stands in the tile directly below Rarest bird on the birding page?", "Ines Korda",
               "Which name stands in the tile directly below Lens used on the birding page?", "lens", query="name"),
    ),
)  # fmt: skip

SCREENS = (ORDERS, MEMBER, BIRDS)
