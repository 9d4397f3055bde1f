"""Units of numbers: the names that mean the same, and which of them go together."""

from __future__ import annotations

SYMBOLS = {"us$": "usd", "$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "₹": "inr", "%": "%"}
"""Signs that stand against a number, before or after it."""

CURRENCIES = {
    name: names.split()[0]
    for names in (
        "usd dollar dollars",
        "eur euro euros",
        "gbp",
        "jpy yen",
        "inr rupee rupees",
        "cny yuan rmb",
        "chf franc francs",
        "mxn peso pesos",
        *("dkk", "sek", "nok", "krw", "aud", "cad", "nzd", "sgd", "brl", "pln", "czk", "huf"),
        "kr krone kroner kronor krona",
        "pound pounds",
    )
    for name in names.split()
}
"""Currency words by the unit they name. ``kr`` and ``pound`` are several units' names."""

MEASURES = {
    name: names.split()[0]
    for names in (
        "% percent",
        "kg kilo kilos kilogram kilograms kilogramme kilogrammes",
        "g gram grams gramme grammes",
        "mg milligram milligrams",
        "lb lbs",
        "oz ounce ounces",
        "km kilometer kilometers kilometre kilometres",
        "m meter meters metre metres",
        "cm centimeter centimeters centimetre centimetres",
        "mm millimeter millimeters millimetre millimetres",
        "mi mile miles",
        "ft foot feet",
        "l liter liters litre litres",
        "ml milliliter milliliters millilitre millilitres",
        "w watt watts",
        "kw kilowatt kilowatts",
        "kwh",
        "kb kilobyte kilobytes",
        "mb megabyte megabytes",
        "gb gigabyte gigabytes",
        "tb terabyte terabytes",
        "bpm",
        "mph",
        "s sec secs second seconds",
        "min mins minute minutes",
        "h hr hrs hour hours",
        "day days",
        "week weeks",
        "month months",
        "year years yr yrs",
    )
    for name in names.split()
}
"""Words after a number by the unit they name. Nothing is converted: 1 km is not 1000 m."""

UNITS = {**MEASURES, **CURRENCIES}
SUFFIXES = frozenset(name for name in UNITS if len(name) > 1)
"""What may be written against its number (``15kg``). A single letter is read so only where the other side has it."""

_SEVERAL = {"kr": {"dkk", "sek", "nok"}, "pound": {"gbp", "lb"}}


def go_together(one: str, other: str) -> bool:
    """False when the two name different units; a number without one goes with every unit."""
    return not one or not other or one == other or other in _SEVERAL.get(one, ()) or one in _SEVERAL.get(other, ())
