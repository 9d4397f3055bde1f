"""The texts of the split ``extension``: a code file and an e-mail."""

from __future__ import annotations

from benchsuite.corpus.minis.mirage_gen.specs import Planted, comparison, layout, lookup

_BREAD = '''"""Baker's recipe for the village fete: weights in grams, times in minutes."""

LOAF_FLOUR = 863.5
LOAF_WATER = 612.25
RYE_SHARE = 0.185
SALT = 17.65
STARTER_NAME = "Old Bertha"
OVEN_CELSIUS = 243
FIRST_PROOF = 215
SECOND_PROOF = 68
BASKET_TAG = "VF-6604"
FLOUR_MILL = "Pennock Mill"


def dough_weight(loaves):
    """All that goes into the bowl."""
    return loaves * (LOAF_FLOUR + LOAF_WATER + SALT)


def oven_slots(loaves, per_tray=14):
    """Trays, rounded up."""
    return -(-loaves // per_tray)


def crust_colour(minutes):
    if minutes > 41.5:
        return "chestnut"
    return "straw"
'''
_MAIL = """From: Sunniva Askeland <sunniva@hollow-pottery.example>
To: Maren Tolvey
Subject: Kiln week at Hollow Pottery

Dear Maren,

your place in the kiln week is booked under HP-9135. The fee is 318.75 and includes 22.5 kg of stoneware clay.
We fire at 1,285 degrees, so please bring nothing with the old Marigold glaze; Celadon Nine is safe.
You share wheel bench Six West with Torvald Lien. The studio opens at 08:40, lunch is at Café Rondo,
and the last kiln is unpacked on 29 Jun. Shelf rent is 13.40 a week if you leave your bowls with us.

Warm regards,
Sunniva
"""

CODE = Planted(
    key="bread",
    kind="code_file",
    suffix=".py",
    text=_BREAD,
    said="A little script with our bread recipe for the village fete. Saved as {path}.\n\n" + _BREAD,
    reply="Kept as {id}. It needs nothing else to run.",
    records=(
        ("records/{id}.md", "Bread recipe for the fete as a script ({path}): constants for flour, water, salt, "
                            "oven and proofs, "
         "three small functions.\n"),
        ("memory/2026-04-16.md", "# Note\nThe fete's bread recipe is {path}.\n"),
    ),
    asks=(
        lookup("How many grams of flour goes into a loaf in the bread recipe?", "863.5",
               "How many grams of butter goes into a loaf in the bread recipe?", "butter"),
        lookup("How many grams of water goes into a loaf in the bread recipe?", "612.25",
               "How many grams of milk goes into a loaf in the bread recipe?", "milk"),
        lookup("How many grams of salt goes into a loaf in the bread recipe?", "17.65",
               "How many grams of honey goes into a loaf in the bread recipe?", "honey"),
        lookup("What is the rye share in the bread recipe?", "0.185",
               "What is the spelt share in the bread recipe?", "spelt"),
        lookup("What is the starter called in the bread recipe?", "Old Bertha",
               "What is the oven called in the bread recipe's kitchen list?", "list", query="name"),
        lookup("Which mill does the bread recipe name?", "Pennock Mill",
               "Which market does the bread recipe name?", "market", query="entity"),
        lookup("What is the basket tag in the bread recipe?", "VF-6604",
               "What is the permit tag in the bread recipe?", "permit", query="code"),
        comparison("How many minutes is the longer of the two proofs in the bread recipe?", "215",
                   "How many minutes is the longer of the two coolings in the bread recipe?", "coolings"),
        layout("Which colour does the last line of the bread recipe return?", "straw",
               "Which colour does the glaze function of the bread recipe return?", "glaze", query="entity"),
    ),
)  # fmt: skip

MAIL = Planted(
    key="kiln",
    kind="email",
    suffix=".eml",
    text=_MAIL,
    said="The pottery wrote to me. Saved as {path}.\n\n" + _MAIL,
    reply="I put it away as {id}.",
    records=(
        ("records/{id}.md", "Mail of the pottery ({path}): booking, fee, clay, firing, bench, meals, day of "
                            "unpacking, shelf "
         "rent.\n"),
        ("memory/2026-04-20.md", "# Note\nKiln week is booked; the mail is {path}.\n"),
    ),
    asks=(
        lookup("Under which code is the kiln week booked in the pottery's mail?", "HP-9135",
               "Under which code is the guest room booked in the pottery's mail?", "guest", "room", query="code"),
        lookup("What is the fee of the kiln week in the pottery's mail?", "318.75",
               "What is the tip of the kiln week in the pottery's mail?", "tip"),
        lookup("How many kg of clay are included, by the pottery's mail?", "22.5",
               "How many kg of plaster are included, by the pottery's mail?", "plaster"),
        lookup("Which glaze is safe, by the pottery's mail?", "Celadon Nine",
               "Which brush is safe, by the pottery's mail?", "brush", query="entity"),
        lookup("Who shares the wheel bench with Maren, by the pottery's mail?", "Torvald Lien",
               "Who shares the taxi ride with Maren, by the pottery's mail?", "taxi", "ride", query="name"),
        lookup("At what time does the studio open, by the pottery's mail?", "08:40",
               "At what time does the museum open, by the pottery's mail?", "museum", query="date"),
        lookup("On which day is the last kiln unpacked, by the pottery's mail?", "29 Jun",
               "On which day is the exhibition closed, by the pottery's mail?", "exhibition", query="date"),
        comparison("Which is the smaller sum in the pottery's mail, fee or shelf rent, and how much is it?", "13.40",
                   "Which is the smaller sum in the pottery's mail, parking or insurance, and how much is it?",
                   "parking", "insurance"),
        layout("Which café is named in the third line below 'Dear Maren' in the pottery's mail?", "Café Rondo",
               "Which café is named in the postscript of the pottery's mail?", "postscript", query="entity"),
        lookup("At how many degrees does the pottery fire, by its mail?", "1285", ""),
    ),
)  # fmt: skip
