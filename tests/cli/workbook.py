"""Reads a workbook with openpyxl: every cell with its type, and every formula with the result
that the file has and the one that follows from the cells.

Prints one JSON document. Amounts are text, so that nothing is rounded on the way.
"""

import datetime
import json
import re
import sys
from decimal import Decimal

import openpyxl

SUM_IF = re.compile(r"=SUMIF\(\$(\w+)\$(\d+):\$\1\$(\d+),(\w+),([A-Z]+)(\d+):\5(\d+)\)")
CELL = re.compile(r"(?:(\w+)!)?([A-Z]+\d+)")


def number(cell):
    value = cell.value
    return Decimal(str(value)) if isinstance(value, (int, float)) else Decimal(0)


def computed(workbook, sheet, formula):
    """What a formula gives, from the cells alone."""
    match = SUM_IF.fullmatch(formula)
    if match:
        named, first, last, wanted, summed, start, end = match.groups()
        assert (first, last) == (start, end), formula
        wanted = sheet[wanted].value
        rows = range(int(first), int(last) + 1)
        cells = [sheet[f"{summed}{row}"] for row in rows if sheet[f"{named}{row}"].value == wanted]
        return sum(map(number, cells), Decimal(0))

    def value(match):
        place, cell = match.groups()
        found = (workbook[place] if place else sheet)[cell]
        if found.data_type == "f":
            return f"D('{computed(workbook, found.parent, found.value)}')"
        return f"D('{number(found)}')"

    terms = CELL.sub(value, formula.removeprefix("="))
    assert re.fullmatch(r"[D()'.0-9+*-]+", terms), formula
    return eval(terms, {"__builtins__": {}}, {"D": Decimal})


def shown(value):
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(Decimal(str(value)))
    return value


def read(path):
    workbook = openpyxl.load_workbook(path)
    results = openpyxl.load_workbook(path, data_only=True)
    sheets = []
    for sheet in workbook.worksheets:
        rows, formulas = [], []
        for cells in sheet.iter_rows():
            row = []
            for cell in cells:
                row.append({
                    "value": shown(cell.value),
                    "type": cell.data_type,
                    "format": cell.number_format,
                })
                if cell.data_type == "f":
                    result = results[sheet.title][cell.coordinate].value
                    formulas.append({
                        "cell": cell.coordinate,
                        "formula": cell.value,
                        "result": shown(result),
                        "computed": str(computed(workbook, sheet, cell.value)),
                    })
            rows.append(row)
        sheets.append({
            "name": sheet.title,
            "frozen": sheet.freeze_panes,
            "filter": sheet.auto_filter.ref,
            "width": sheet.column_dimensions["A"].width,
            "rows": rows,
            "formulas": formulas,
        })
    return {"created": workbook.properties.created.isoformat(), "sheets": sheets}


if __name__ == "__main__":
    print(json.dumps(read(sys.argv[1])))
