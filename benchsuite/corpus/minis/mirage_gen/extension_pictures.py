"""The pictures of the split ``extension``: a scene in the manner of a photo, an infographic, two printed documents."""

from __future__ import annotations

from random import Random

from PIL import ImageFilter

from benchsuite.corpus.minis.memlens_gen.canvas import Canvas, Colour
from benchsuite.corpus.minis.mirage_gen import draw
from benchsuite.corpus.minis.mirage_gen.specs import SEED, Planted, comparison, layout, lookup

_DARK = (40, 40, 46)


def _boat(canvas: Canvas, x: int, y: int, hull: Colour, size: int) -> None:
    pen = canvas.pen
    pen.polygon(
        ((x, y), (x + 2 * size, y), (x + 2 * size - size // 3, y + size // 2), (x + size // 3, y + size // 2)),
        fill=hull,
    )
    pen.line((x + size, y, x + size, y - size), fill=_DARK, width=3)


def _quay() -> Canvas:
    """A harbour front: sky, hills, water with grain, houses, boats, lamps, birds and a board that can be read."""
    canvas = Canvas(640, 448, (176, 204, 226), "cabin")
    pen, rng = canvas.pen, Random(f"{SEED}:quay")
    for y in range(50, 190):
        shade = y - 50
        pen.line((0, y, 640, y), fill=(176 + shade // 3, 204 + shade // 6, 226 - shade // 6))
    pen.polygon(
        ((0, 190), (120, 120), (230, 168), (360, 104), (520, 170), (640, 130), (640, 190)), fill=(120, 144, 122)
    )
    for y in range(190, 330):
        pen.line((0, y, 640, y), fill=(58, 104 + (y - 190) // 6, 132 + (y - 190) // 8))
    for _ in range(900):
        x, y = rng.randrange(640), rng.randrange(192, 326)
        pen.line((x, y, x + rng.randrange(4, 14), y), fill=(92, 140 + rng.randrange(20), 164))
    canvas.image.paste(canvas.image.filter(ImageFilter.GaussianBlur(1.2)))
    pen.rectangle((0, 330, 640, 448), fill=(150, 138, 122))
    for _ in range(500):
        x, y = rng.randrange(640), rng.randrange(332, 446)
        pen.point((x, y), fill=(132, 122, 108))
    for place, hull in enumerate(((190, 44, 40), (238, 238, 232), (190, 44, 40), (34, 74, 140), (238, 238, 232))):
        _boat(canvas, 24 + 124 * place, 228 + 34 * (place % 2), hull, 34)
    for place in range(3):
        x = 70 + 250 * place
        pen.line((x, 330, x, 214), fill=(30, 44, 40), width=5)
        pen.ellipse((x - 9, 200, x + 9, 218), fill=(252, 238, 190), outline=(30, 44, 40))
    gulls = [(130 + 46 * place, 66 + 37 * place % 50) for place in range(11)]
    for x, y in gulls:
        pen.line((x - 10, y - 5, x, y, x + 10, y - 5), fill=(50, 54, 62), width=3)
    buoys = [(16 + 38 * (place % 5), 340 + 34 * (place // 5)) for place in range(13)]
    for x, y in buoys:
        pen.ellipse((x, y, x + 26, y + 26), fill=(226, 120, 36), outline=(150, 76, 20))
    canvas.lines += [("things", f"{len(gulls)} gulls"), ("things", f"{len(buoys)} buoys")]
    canvas.box(212, 340, 470, 440, (248, 244, 226), _DARK)
    for y, text, size in ((358, "Ardlow Quay", 23), (382, "Crab and chips 11.85", 18), (404, "Tide mark 4.35 m", 18),
                          (426, "Warden: Bryn Calder", 18)):  # fmt: skip
        canvas.text(341, y, text, size, _DARK, "board", anchor="mm", bold=size > 20)
    canvas.box(494, 366, 620, 436, (22, 62, 110))
    canvas.text(557, 384, "Boat hire", 18, (255, 255, 255), "sign", anchor="mm")
    canvas.text(557, 414, "Hut HQ-58", 19, (255, 255, 255), "sign", anchor="mm", bold=True)
    return canvas


_FLOW = (
    ("Rain caught", "732.4 litres"), ("Bath water reused", "286.9 litres"), ("Tap water used", "1,408 litres"),
    ("Roof area in m2", "83.75"), ("Tank size", "2,650 litres"), ("Saved on bills", "94.62 EUR"),
    ("Dry spell", "19 days"), ("Wettest day", "23 Apr"), ("Pump", "Nereid 320"),
)  # fmt: skip


def _water() -> Canvas:
    canvas = Canvas(640, 448, (236, 244, 246), "aileron")
    draw.heading(canvas, "Where our water goes", "One house, one month")
    tones = ((70, 136, 168), (96, 160, 128), (196, 140, 70))
    for place, (label, value) in enumerate(_FLOW):
        x, y = 18 + 206 * (place % 3), 82 + 104 * (place // 3)
        canvas.pen.ellipse((x + 64, y - 2, x + 128, y + 62), fill=(252, 252, 250), outline=tones[place // 3], width=4)
        canvas.pen.polygon(((x + 96, y + 10), (x + 82, y + 40), (x + 110, y + 40)), fill=tones[place // 3])
        canvas.pen.ellipse((x + 82, y + 26, x + 110, y + 52), fill=tones[place // 3])
        canvas.text(x + 96, y + 73, label, 16, draw.INK, "label", anchor="mm")
        canvas.text(x + 96, y + 92, value, 18, draw.INK, "value", anchor="mm", bold=True)
    canvas.text(320, 420, "Drawn by Calla Wrenfield for the Dry Summer Circle", 17, draw.SOFT, "note", anchor="mm")
    return canvas


_INVOICE = (
    ("Invoice", "RB-20871"), ("Date", "12 Mar 2026"), ("Customer", "Maren Tolvey"), ("", ""),
    ("Item", "Hours", "Rate", "Amount"),
    ("Rewiring the stair hall", "7.25", "54.00", "391.50"),
    ("Oak door, rehung", "3.5", "58.40", "204.40"),
    ("Brass hinges", "", "", "86.95"),
    ("Waste removal", "", "", "41.20"),
    ("Net", "", "", "724.05"),
    ("Tax 19 percent", "", "", "137.57"),
    ("Due", "", "", "861.62"),
    ("Pay by", "26 Mar 2026"), ("Bank code", "NWQB 5520 71"),
)  # fmt: skip
_REPORT = (
    ("Stage", "Length km", "Climb m", "Hours"),
    ("Gullcross", "18.45", "612", "6.4"),
    ("Fernley Gap", "22.85", "948", "8.3"),
    ("Saint Orrin", "14.15", "377", "4.6"),
    ("Wold Beacon", "26.35", "1,083", "9.7"),
    ("Dunmere", "16.55", "455", "5.2"),
    ("Sum", "98.35", "3,475", "34.2"),
    ("", ""),
    ("Huts met", "Skarfell and Lodd House"), ("Guide", "Anneke Thorsby"), ("Map sheet", "OL-743"),
    ("Pack weight", "12.95 kg"),
)  # fmt: skip


def _bill() -> Canvas:
    return draw.page("Redbrook Joinery", _INVOICE, (24, 290, 390, 490), height=440, rules=(3, 4, 8, 11))


def _walk() -> Canvas:
    return draw.page("Ridge walk, final report", _REPORT, (24, 250, 380, 500), height=400, rules=(0, 5, 6))


def _lines(title: str, rows: tuple[tuple[str, ...], ...]) -> str:
    return "\n".join([title, *("  ".join(cell for cell in row if cell) for row in rows)]) + "\n"


PHOTO = Planted(
    key="quay",
    kind="photo",
    suffix=".png",
    draw=_quay,
    said="A picture from the harbour front where we spent the weekend. Saved as {path}.",
    reply="Lovely; it is {id} now. I wrote a line on what can be seen.",
    records=(
        ("records/{id}_s.md", "A harbour front ({path}): hills, water, boats, lamps, gulls, buoys on the paving, a "
                              "board "
         "with four lines and a blue sign for boat hire.\n"),
        ("memory/2026-04-02.md", "# Note\nWeekend at Ardlow Quay, picture in {path}.\n"),
    ),
    asks=(
        lookup("What price stands on the board of the quay photo for crab and chips?", "11.85",
               "What price stands on the board of the quay photo for smoked eel?", "eel"),
        lookup("What tide mark in metres stands on the board of the quay photo?", "4.35",
               "What water temperature stands on the board of the quay photo?", "temperature"),
        lookup("Who is the warden named on the board of the quay photo?", "Bryn Calder",
               "Who is the lifeguard named on the board of the quay photo?", "lifeguard", query="name"),
        lookup("How many gulls fly over the water in the quay photo?", "11",
               "How many steps has the lighthouse in the quay photo?", "lighthouse", query="count"),
        lookup("Which hut is written on the boat hire sign in the quay photo?", "HQ-58",
               "Which phone extension is written on the boat hire sign in the quay photo?", "phone", query="code"),
        lookup("Which words stand above the hut on the blue sign in the quay photo?", "Boat hire",
               "Which words stand above the arrow on the green sign in the quay photo?", "green", "arrow",
               query="entity", risk="prior"),
        comparison("Which is printed larger on the board of the quay photo, the name of the quay or the warden?",
                   "Ardlow Quay",
                   "Which is printed larger on the board of the quay photo, the opening hours or the web address?",
                   "opening", "address", query="entity", risk="lexical"),
        layout("How many buoys lie on the paving left of the board in the quay photo?", "13",
               "How many berths has the jetty left of the board in the quay photo?", "berths", "jetty", query="count"),
        layout("Which name stands on the last line of the board in the quay photo?", "Bryn Calder",
               "Which name stands on the life ring in the quay photo?", "ring", query="name"),
    ),
)  # fmt: skip

INFOGRAPHIC = Planted(
    key="water",
    kind="infographic",
    suffix=".png",
    draw=_water,
    said="The infographic on our household water that hung in the hall of the Dry Summer Circle. Saved as {path}.",
    reply="It is in the workspace as {id}, with a table of the first three figures.",
    records=(
        ("records/{id}.csv", "# from {path}, first line of figures\nfigure,litres\nRain caught,732.4\nBath water "
                             "reused,286.9\n"
         "Tap water used,1408\n"),
        ("memory/2026-04-06.md", "# Note\nNine round figures on household water in one month: {path}.\n"),
    ),
    asks=(
        lookup("How many litres of rain were caught, by the water infographic?", "732.4",
               "How many litres of snow were melted, by the water infographic?", "snow"),
        lookup("How many litres of bath water were reused, by the water infographic?", "286.9",
               "How many litres of kitchen water were reused, by the water infographic?", "kitchen"),
        lookup("How many litres of tap water were used, by the water infographic?", "1408",
               "How many litres of well water were used, by the water infographic?", "well"),
        lookup("How many square metres of roof area does the water infographic give?", "83.75",
               "How many square metres of lawn area does the water infographic give?", "lawn"),
        lookup("How many euros were saved on bills, by the water infographic?", "94.62",
               "How many euros were spent on filters, by the water infographic?", "filters"),
        lookup("Which day was the wettest in the water infographic?", "23 Apr",
               "Which day was the hottest in the water infographic?", "hottest", query="date"),
        lookup("Which pump does the water infographic name?", "Nereid 320",
               "Which boiler does the water infographic name?", "boiler", query="entity"),
        comparison("Which is larger in the water infographic, tank size or tap water used, and how many litres is it?",
                   "2650",
                   "Which is larger in the water infographic, pond size or cistern size, and how many litres is it?",
                   "pond", "cistern"),
        layout("What value stands in the middle of the water infographic?", "2650",
               "What value stands in the legend of the water infographic?", "legend"),
    ),
)  # fmt: skip

INVOICE = Planted(
    key="joiner",
    kind="invoice_pdf",
    suffix=".pdf",
    draw=_bill,
    said="The joiner's invoice came as a PDF; this is its page. Saved as {path}.",
    reply="Filed as {id}, with the text that I could extract.",
    records=(
        ("records/{id}.txt", "# text of {path}\n" + _lines("Redbrook Joinery", _INVOICE)),
        ("memory/2026-04-09.md", "# Note\nInvoice of the joiner, to be paid this month: {path}.\n"),
    ),
    asks=(
        lookup("What is the number of the joiner's invoice?", "RB-20871",
               "What is the number of the joiner's delivery note?", "delivery", query="code"),
        lookup("What amount is charged for rewiring the stair hall on the joiner's invoice?", "391.50",
               "What amount is charged for painting the stair rail on the joiner's invoice?", "painting", "rail"),
        lookup("What amount is charged for brass hinges on the joiner's invoice?", "86.95",
               "What amount is charged for steel brackets on the joiner's invoice?", "steel", "brackets"),
        lookup("What amount is charged for waste removal on the joiner's invoice?", "41.20",
               "What amount is charged for scaffolding on the joiner's invoice?", "scaffolding"),
        lookup("What is the net amount of the joiner's invoice?", "724.05",
               "What is the discount of the joiner's invoice?", "discount"),
        lookup("What tax amount is on the joiner's invoice?", "137.57",
               "What deposit amount is on the joiner's invoice?", "deposit"),
        lookup("What bank code is on the joiner's invoice?", "NWQB 5520 71",
               "What warranty code is on the joiner's invoice?", "warranty", query="code"),
        comparison("Which item of the joiner's invoice has the higher rate an hour?", "Oak door, rehung",
                   "Which apprentice of the joiner's invoice has the higher rate an hour?", "apprentice",
                   query="entity"),
        layout("Which amount stands directly above Waste removal's on the joiner's invoice?", "86.95",
               "Which amount stands directly above Window putty's on the joiner's invoice?", "window", "putty"),
    ),
)  # fmt: skip

REPORT = Planted(
    key="ridge",
    kind="report_pdf",
    suffix=".pdf",
    draw=_walk,
    said="Our final report of the ridge walk, one page with the table of stages. Saved as {path}.",
    reply="Stored as {id}; the table is extracted beside it.",
    records=(
        ("records/{id}.txt", "# text of {path}\n" + _lines("Ridge walk, final report", _REPORT)),
        ("memory/2026-04-13.md", "# Note\nReport of the ridge walk with a table of five stages: {path}.\n"),
    ),
    asks=(
        lookup("How many kilometres long is the stage Gullcross in the ridge walk report?", "18.45",
               "How many kilometres long is the stage Harrow Fen in the ridge walk report?", "Harrow Fen"),
        lookup("How many metres of climb has the stage Fernley Gap in the ridge walk report?", "948",
               "How many metres of descent has the stage Fernley Gap in the ridge walk report?", "descent"),
        lookup("How many kilometres long is the stage Saint Orrin in the ridge walk report?", "14.15",
               "How many kilometres long is the stage Pike Tarn in the ridge walk report?", "Pike Tarn"),
        lookup("How many metres of climb has the stage Dunmere in the ridge walk report?", "455",
               "How many metres of climb has the stage Coldwater in the ridge walk report?", "Coldwater"),
        lookup("What is the sum of kilometres in the ridge walk report?", "98.35",
               "What is the sum of calories in the ridge walk report?", "calories"),
        lookup("Who was the guide in the ridge walk report?", "Anneke Thorsby",
               "Who was the cook in the ridge walk report?", "cook", query="name"),
        lookup("Which map sheet does the ridge walk report name?", "OL-743",
               "Which radio channel does the ridge walk report name?", "radio", query="code"),
        comparison("Which stage of the ridge walk report is the longest?", "Wold Beacon",
                   "Which night of the ridge walk report was the coldest?", "night", "coldest", query="entity"),
        layout("Which stage stands in the table directly below Saint Orrin in the ridge walk report?", "Wold Beacon",
               "Which stage stands in the table directly below Harrow Fen in the ridge walk report?", "Harrow Fen",
               query="entity"),
    ),
)  # fmt: skip
