"""The three charts of the split ``main``."""

from __future__ import annotations

from benchsuite.corpus.minis.memlens_gen.canvas import Canvas
from benchsuite.corpus.minis.mirage_gen import draw
from benchsuite.corpus.minis.mirage_gen.specs import Planted, comparison, layout, lookup

_HIVES = (
    ("Quarry Lane", "214.6"), ("Sallow Bank", "187.3"), ("Mill Copse", "243.9"), ("Heron Field", "156.2"),
    ("Otter Wharf", "198.7"), ("Thistle Down", "171.5"), ("Brock Hollow", "229.4"), ("Larch End", "163.8"),
)  # fmt: skip
_FERRY = (
    ("Jun", "48.35"), ("Jul", "52.71"), ("Aug", "39.86"), ("Sep", "44.12"),
    ("Oct", "57.94"), ("Nov", "36.48"), ("Dec", "41.07"), ("Jan", "33.59"),
)  # fmt: skip
_FRUIT = (
    ("Plums", ("41.7", "46.2", "38.9")),
    ("Quinces", ("27.4", "31.8", "29.6")),
    ("Damsons", ("18.3", "22.5", "25.1")),
    ("Medlars", ("12.8", "15.9", "14.2")),
)
_YEARS = ("2022", "2023", "2024")


def _honey() -> Canvas:
    notes = (("Season total", "1,565.4 kg"), ("Weighed by", "Oda Ferrand"), ("Best single hive", "48.25 kg"),
             ("Jar batch", "HB-3372"))  # fmt: skip
    return draw.bar_chart("Honey yield by apiary", "Kilograms, season 2025", _HIVES, notes, (226, 172, 54))


def _ferry() -> Canvas:
    notes = (("Route", "Skerrow to Inch Bay"), ("Counted at", "Pollard Pier"), ("Seats offered", "61.25"),
             ("Quay clerk", "Tamsin Rook"))  # fmt: skip
    return draw.line_chart(
        "Harbour ferry passengers", "Mean passengers an hour, by month", _FERRY, notes, (36, 98, 148)
    )


def _orchard() -> Canvas:
    notes = (("Grower", "Tansley Orchards"), ("Press hall", "Bay 17C"))
    return draw.grouped_chart("Orchard harvest", "Tonnes picked, by fruit and year", _YEARS, _FRUIT, notes)


HONEY = Planted(
    key="honey",
    kind="bar_chart",
    suffix=".png",
    draw=_honey,
    said="Here is the chart of our honey yield by apiary; the beekeepers' circle may want it later. Saved as {path}.",
    reply="Stored under {id}. I noted the longer bars in a small table; Mill Copse stands out.",
    records=(
        ("records/{id}.csv", "# from {path}\napiary,kg\nQuarry Lane,214.6\nSallow Bank,187.3\nMill Copse,243.9\n"
         "Otter Wharf,198.7\nBrock Hollow,229.4\n"),
        ("memory/2026-03-02.md", "# Note\nMaren shared the bar chart of the honey season, apiary by apiary ({path}). "
         "She wants single figures for the beekeepers' circle. The season's total is printed below the bars.\n"),
    ),
    asks=(
        lookup("How many kilograms does the honey chart show for Quarry Lane?", "214.6",
               "How many kilograms does the honey chart show for Fen Corner?", "Fen Corner"),
        lookup("How many kilograms does the honey chart show for Sallow Bank?", "187.3",
               "How many kilograms does the honey chart show for Pinder Hill?", "Pinder Hill"),
        lookup("How many kilograms does the honey chart show for Mill Copse?", "243.9",
               "How many kilograms does the honey chart show for Weir Cottage?", "Weir Cottage"),
        lookup("How many kilograms does the honey chart show for Heron Field?", "156.2",
               "How many kilograms does the honey chart show for Gorse Acre?", "Gorse Acre"),
        lookup("How many kilograms does the honey chart show for Otter Wharf?", "198.7",
               "How many kilograms does the honey chart show for Abbot Ridge?", "Abbot Ridge"),
        lookup("How many kilograms does the honey chart show for Thistle Down?", "171.5",
               "How many kilograms does the honey chart show for Chalk Rise?", "Chalk Rise"),
        lookup("What season total in kilograms is printed in the honey chart?", "1565.4",
               "What beeswax total in kilograms is printed in the honey chart?", "beeswax"),
        lookup("Who weighed the honey, according to the chart?", "Oda Ferrand",
               "Who bottled the honey, according to the chart?", "bottled", query="name"),
        lookup("Which jar batch is printed in the honey chart?", "HB-3372",
               "Which invoice code is printed in the honey chart?", "invoice", query="code"),
        lookup("How many kilograms did the best single hive of the honey chart give?", "48.25",
               "How many kilograms did the worst single hive of the honey chart give?", "worst"),
        comparison("Which apiary has the highest yield in the honey chart for season 2025?", "Mill Copse",
                   "Which apiary has the highest yield in the honey chart for season 2021?", "2021", query="entity",
                   risk="lexical"),
        comparison("Which apiary has the lowest yield in the honey chart for season 2025?", "Heron Field",
                   "Which apiary has the lowest yield in the honey chart for season 2020?", "2020", query="entity"),
        comparison("Of Brock Hollow and Larch End, what is the smaller yield in the honey chart?", "163.8",
                   "Of Tarn Side and Cold Elm, what is the smaller yield in the honey chart?", "Tarn Side", "Cold Elm"),
        comparison("Which apiary of the honey chart comes closest to 200 kilograms?", "Otter Wharf",
                   "Which beekeeper of the honey chart comes closest to 30 years of age?", "age", query="entity"),
        layout("Which apiary stands in the lowest bar of the honey chart?", "Larch End",
               "Which nectar plant stands in the lowest bar of the honey chart?", "nectar", "plant", query="entity"),
        layout("Which apiary stands directly below Sallow Bank in the honey chart?", "Mill Copse",
               "Which apiary stands directly below Moor Gate in the honey chart?", "Moor Gate", query="entity",
               risk="lexical"),
        layout("Which number stands at the bar directly above Larch End in the honey chart?", "229.4",
               "Which number stands at the bar directly above Pike Landing in the honey chart?", "Pike Landing"),
    ),
)  # fmt: skip

FERRY = Planted(
    key="ferry",
    kind="line_chart",
    suffix=".png",
    draw=_ferry,
    said="And this is the harbour ferry's passenger curve from the pier notice board. Saved as {path}.",
    reply="Kept as {id}, with a table of the first half of the curve. The peak is not in summer, as one might think.",
    records=(
        ("records/{id}.csv", "# from {path}\nmonth,passengers an hour\nJun,48.35\nJul,52.71\nAug,39.86\nSep,44.12\n"),
        ("records/{id}_s.md", "Line with eight labelled points, June to January, of the ferry from Skerrow to Inch "
         "Bay ({path}). Below it stand the route, the pier of the count, the seats offered and the quay clerk.\n"),
        ("memory/2026-03-04.md", "# Note\nThe ferry curve ({path}) hangs at the pier. She may ask for single "
                                 "months.\n"),
    ),
    asks=(
        lookup("How many passengers an hour does the ferry curve show for Jun?", "48.35",
               "How many passengers an hour does the ferry curve show for Apr?", "Apr"),
        lookup("How many passengers an hour does the ferry curve show for Jul?", "52.71",
               "How many passengers an hour does the ferry curve show for Feb?", "Feb"),
        lookup("How many passengers an hour does the ferry curve show for Aug?", "39.86",
               "How many passengers an hour does the ferry curve show for Mar?", "Mar"),
        lookup("How many passengers an hour does the ferry curve show for Sep?", "44.12",
               "How many passengers an hour does the ferry curve show for Easter week?", "Easter"),
        lookup("How many passengers an hour does the ferry curve show for Nov?", "36.48",
               "How many passengers an hour does the ferry curve show for regatta week?", "regatta"),
        lookup("How many passengers an hour does the ferry curve show for Dec?", "41.07",
               "How many bicycles an hour does the ferry curve show for Dec?", "bicycles"),
        lookup("How many passengers an hour does the ferry curve show for Jan?", "33.59",
               "How many lorries an hour does the ferry curve show for Jan?", "lorries"),
        lookup("Which route is named below the ferry curve?", "Skerrow to Inch Bay",
               "Which tariff is named below the ferry curve?", "tariff", query="entity"),
        lookup("At which pier were the ferry passengers counted?", "Pollard Pier",
               "At which pier were the ferry vehicles weighed?", "vehicles", "weighed", query="entity"),
        lookup("How many seats offered an hour are printed below the ferry curve?", "61.25",
               "How many berths offered an hour are printed below the ferry curve?", "berths"),
        lookup("Who is the quay clerk named below the ferry curve?", "Tamsin Rook",
               "Who is the ship's captain named below the ferry curve?", "captain", query="name"),
        comparison("In which month does the ferry curve reach its highest point?", "Oct",
                   "In which month does the ferry curve of the night line reach its highest point?", "night",
                   query="date", risk="prior"),
        comparison("In which month does the ferry curve reach its lowest point?", "Jan",
                   "In which month does the ferry curve of the cargo line reach its lowest point?", "cargo",
                   query="date", risk="prior"),
        comparison("What is the highest number of passengers an hour on the ferry curve?", "57.94",
                   "What is the highest number of dogs an hour on the ferry curve?", "dogs"),
        comparison("Of Aug and Nov, which month has more ferry passengers?", "Aug",
                   "Of Apr and Feb, which month has more ferry passengers?", "Apr", "Feb", query="date"),
        layout("Which number stands at the third point from the left of the ferry curve?", "39.86",
               "Which number stands at the third point from the left of the dotted forecast in the ferry chart?",
               "dotted", "forecast"),
        layout("Which number stands at the point directly right of Sep on the ferry curve?", "57.94",
               "Which number stands at the point directly right of Feb on the ferry curve?", "Feb"),
    ),
)  # fmt: skip

ORCHARD = Planted(
    key="orchard",
    kind="grouped_chart",
    suffix=".png",
    draw=_orchard,
    said="My uncle's orchard: what was picked in three years, fruit by fruit. Saved as {path}.",
    reply="I have put it away as {id}, and copied the year 2023 into a table.",
    records=(
        ("records/{id}.csv", "# from {path}, one year of three\nfruit,2023\nPlums,46.2\nQuinces,31.8\nDamsons,22.5\n"
         "Medlars,15.9\n"),
        ("memory/2026-03-05.md", "# Note\nBars in blocks of three, a block for each fruit of the orchard ({path}). "
         "The grower and the press hall stand at the foot.\n"),
    ),
    asks=(
        lookup("How many tonnes of plums were picked in 2022, by the orchard chart?", "41.7",
               "How many tonnes of plums were picked in 2019, by the orchard chart?", "2019"),
        lookup("How many tonnes of plums were picked in 2023, by the orchard chart?", "46.2",
               "How many tonnes of cherries were picked in 2023, by the orchard chart?", "cherries"),
        lookup("How many tonnes of quinces were picked in 2022, by the orchard chart?", "27.4",
               "How many tonnes of quinces were picked in 2018, by the orchard chart?", "2018"),
        lookup("How many tonnes of quinces were picked in 2024, by the orchard chart?", "29.6",
               "How many tonnes of pears were picked in 2024, by the orchard chart?", "pears"),
        lookup("How many tonnes of damsons were picked in 2022, by the orchard chart?", "18.3",
               "How many tonnes of apricots were picked in 2022, by the orchard chart?", "apricots"),
        lookup("How many tonnes of damsons were picked in 2024, by the orchard chart?", "25.1",
               "How many tonnes of damsons were picked in 2017, by the orchard chart?", "2017"),
        lookup("How many tonnes of medlars were picked in 2023, by the orchard chart?", "15.9",
               "How many tonnes of medlars were picked in 2016, by the orchard chart?", "2016"),
        lookup("How many tonnes of medlars were picked in 2024, by the orchard chart?", "14.2",
               "How many tonnes of walnuts were picked in 2024, by the orchard chart?", "walnuts"),
        lookup("Which grower is named in the orchard chart?", "Tansley Orchards",
               "Which wholesaler is named in the orchard chart?", "wholesaler", query="name"),
        lookup("Which bay code of the press hall is named in the orchard chart?", "17C",
               "Which bay code of the cold store is named in the orchard chart?", "cold store", query="code"),
        comparison("In which year was the plum harvest of the orchard chart largest?", "2023",
                   "In which year was the apple harvest of the orchard chart largest?", "apple", query="date",
                   risk="template"),
        comparison("Which fruit of the orchard chart had the smallest harvest in 2022?", "Medlars",
                   "Which fruit of the orchard chart had the smallest harvest in 2015?", "2015", query="entity"),
        comparison("What is the smallest number of tonnes in the orchard chart for plums?", "38.9",
                   "What is the smallest number of tonnes in the orchard chart for figs?", "figs"),
        comparison("Which fruit of the orchard chart grew in every year from 2022 to 2024?", "Damsons",
                   "Which fruit of the orchard chart grew in every year from 2011 to 2014?", "2011", "2014",
                   query="entity"),
        layout("Which number stands at the last bar of the quince block in the orchard chart?", "29.6",
               "Which number stands at the last bar of the greengage block in the orchard chart?", "greengage"),
        layout("Which number stands at the very first bar of the orchard chart?", "41.7",
               "Which number stands at the very first bar of the frost inset in the orchard chart?", "frost", "inset"),
        layout("Which number stands at the middle bar of the damson block in the orchard chart?", "22.5",
               "Which number stands at the middle bar of the mulberry block in the orchard chart?", "mulberry"),
    ),
)  # fmt: skip

CHARTS = (HONEY, FERRY, ORCHARD)
