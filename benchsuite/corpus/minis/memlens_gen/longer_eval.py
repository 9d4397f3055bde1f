"""What only the longer histories of the eval half say and show."""

from __future__ import annotations

from benchsuite.corpus.minis.memlens_gen.specs import Aside, Filler, Phrase

ENTITIES = {
    "eval-shop": (
        "Juniper Grocery",
        "Stonebridge Antiques",
        "Violet Lamps",
        "Harrow Fishing",
        "Saffron Spices",
        "Kite Bikes",
    ),
    "eval-garage": ("speedboat", "farm tractor", "moving van", "folding bike", "leaf blower", "garbage truck"),
    "eval-meter": ("basement flat", "east wing", "staff annex", "roundhouse", "boat house", "loft on Mill Road"),
    "eval-training": ("city marathon", "aquathlon", "gravel ride", "sailing race", "forest trail run", "swim relay"),
    "eval-device": (
        "photo printer",
        "pasta maker",
        "attic router",
        "knitting machine",
        "water purifier",
        "ceiling projector",
    ),
    "eval-train": ("Aldbury", "Venbridge", "Carrow Halt", "Selby Moor", "Thornbury", "Loch Ewan"),
    "eval-concert": ("brass gala", "puppet musical", "robot contest", "lantern walk", "cheese festival", "salsa night"),
    "eval-subscription": ("Cloudpost", "Novagram", "Tunebook", "Pagemark", "Mealwise", "Lingodesk"),
    "eval-locker": ("Heron Bridge", "Foundry Yard", "Abbey Terrace", "Tollhouse", "Canal Corner", "Orchard Close"),
    "eval-plan": ("potting shed", "hospital garden", "hillside patch", "herb shelf", "churchyard", "lavender border"),
    "eval-paint": ("Slate Dust", "Coral Dusk", "Forest Floor", "Butter Bean", "Midnight Ink", "Sea Foam"),
    "eval-stall": ("river stall", "abbey fair", "summer market", "village bazaar", "museum kiosk", "park gate"),
}
"""Further names by template id; for each name that is asked about there is one that resembles it."""
PHRASES = (
    Phrase(
        "My {it} refuses to bloom this year.",
        "Give it richer soil and some patience.",
        ("orchid", "hibiscus", "jasmine", "camellia", "peony", "magnolia", "wisteria", "azalea"),
    ),
    Phrase(
        "How do I get {it} stains out of linen?",
        "Cold water at once, then a little gall soap.",
        ("beetroot", "grass", "red wine", "coffee", "soot", "mustard", "blackberry", "turmeric"),
    ),
    Phrase(
        "I heard a {it} in the hedge at dawn.",
        "Lovely. They sing most while the air is still.",
        ("blackbird", "wren", "robin", "warbler", "finch", "thrush", "nightingale", "starling"),
    ),
    Phrase(
        "Would {it} please guests on a hot afternoon?",
        "Surely, if you serve it well chilled.",
        ("cold beet soup", "melon salad", "iced tea", "lemon sorbet", "rice pudding", "tomato jelly"),
    ),
    Phrase(
        "We are thinking of a short trip to the {it}.",
        "Pack light and go on a weekday.",
        ("moor", "dunes", "canyon", "glacier", "marshes", "vineyards", "waterfalls", "chalk cliffs"),
    ),
    Phrase(
        "My {it} keeps telling the same joke.",
        "Laugh once more, it costs you nothing.",
        ("dentist", "barber", "godfather", "neighbour", "supervisor", "postman", "grocer", "tennis partner"),
    ),
    Phrase(
        "Is the {it} hard to learn?",
        "The first weeks are, after that it flows.",
        ("cello", "accordion", "harp", "oboe", "ukulele", "bagpipe", "trombone", "banjo"),
    ),
    Phrase(
        "The {it} in our street closes for good.",
        "A pity. Small places give a street its face.",
        ("cobbler", "cinema", "bookbinder", "tailor", "ice cream parlour", "record store", "tea house"),
    ),
    Phrase(
        "I would like to sew {it} myself.",
        "Begin with a paper pattern and cheap cloth.",
        ("an apron", "a waistcoat", "a quilt", "a tote bag", "a raincoat", "a pair of slippers"),
    ),
    Phrase(
        "Which {it} is good for a rainy evening?",
        "Pick one that you already love a little.",
        ("film", "novel", "card game", "opera", "jigsaw", "radio play", "crime series"),
    ),
    Phrase(
        "Big news, my {it} got engaged.",
        "How wonderful, pass on my best wishes.",
        ("brother", "flatmate", "old boss", "cousin Leon", "yoga teacher", "best friend"),
    ),
    Phrase(
        "The {it} broke down in the middle of the week.",
        "Annoying. Is somebody coming to look at it?",
        ("heating", "escalator", "street lamp", "church organ", "drawbridge", "photocopier"),
    ),
)
ASIDES = (
    Aside("pin", "The alarm at the boathouse is switched off with {value}."),
    Aside("pin", "The barrier of the car park opens with {value}."),
    Aside("pin", "My bicycle lock is set to {value}."),
    Aside("money:310-960", "The glazier charged me {value} for the cracked window."),
    Aside("money:310-960", "The roofer sent an estimate of {value} for the gutter."),
    Aside("money:61-190", "A night at the Larchwood inn costs {value}."),
    Aside("money:310-990", "The swimming fee for Mira comes to {value} each season."),
    Aside("money:11-39", "The fine for parking on the pavement was {value}."),
    Aside("money:24-160", "I gave {value} to the animal shelter."),
    Aside("code", "My loyalty number with the ferry line is {value}."),
    Aside("code", "The permit for the street party carries the number {value}."),
    Aside("unit:120-480 cm", "The wardrobe I ordered for the hall measures {value} across."),
    Aside("unit:110-480 kg", "The handcart may hold {value}."),
    Aside("unit:1200-9800 km", "The red lorry has {value} on the clock."),
    Aside("unit:410-990 litres", "The rain barrel behind the shed holds {value}."),
    Aside("tenth:11-29 kg", "The parrot cage weighs {value}."),
    Aside("percent", "The bank raised the rate of my loan to {value}."),
    Aside("day", "The graduation of my cousin is planned for {value}."),
    Aside("day", "The chimney sweep comes on {value}."),
    Aside("count:210-990", "They counted {value} visitors at the open day."),
)

FILLER = Filler(entities=ENTITIES, phrases=PHRASES, asides=ASIDES)
