"""The CSV server: what it says of files as people write them, and the charts that it draws."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console_app.domain.tools import Outcome
from console_app.servers.csv_reporter import ChartRequest, svg
from tests.each import each
from tests.mcp_client.conftest import Reports
from tests.servers.conftest import Serve

SALES = """day,region,amount,discount
2026-01-01,north,10,0.5
2026-01-02,south,30,
2026-01-03,north,20,NA
2026-01-04,"east, far",-4.5,1
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def sales(work: Path) -> Path:
    """A file of four rows."""
    path = work / "sales.csv"
    path.write_text(SALES)
    return path


@pytest.fixture
def odd_files(work: Path, tmp_path: Path) -> None:
    """Write files into the folder that are none of its own, or no table."""
    (tmp_path / "secret.csv").write_text("a\n-8675309.25\n")
    (work / "link.csv").symlink_to(tmp_path / "secret.csv")
    (work / "empty.csv").write_text("\n\n")
    (work / "binary.csv").write_bytes(b"a,b\0c")


async def test_a_file_is_described_column_by_column(serve: Serve, sales: Path) -> None:
    bench = await serve("csv_reporter")
    result = await bench.call("summarize_csv", path="sales.csv")
    assert result.content.splitlines() == [
        "sales.csv: 4 rows, 4 columns, comma-separated",
        "- day (date): 2026-01-01 to 2026-01-04",
        "- region (text): 3 distinct: north (2), south (1), east, far (1)",
        "- amount (number): minimum -4.5, maximum 30, mean 13.875, median 15, deviation 14.7217, sum 55.5",
        "- discount (number, 2 missing): minimum 0.5, maximum 1, mean 0.75, median 0.75, deviation 0.353553, sum 1.5",
    ]
    assert result.structured is not None
    assert result.structured["columns"][2]["maximum"] == 30
    assert {spec.tool: spec.annotations.read_only for spec in bench.hub.tools()} == {
        "summarize_csv": True,
        "summarize_multiple_csvs": True,
        "plot_csv": False,
    }


async def test_files_as_spreadsheets_write_them_are_read(serve: Serve, work: Path) -> None:
    (work / "german.csv").write_bytes("\ufeffStraße;Preis\nA;1,5\nB;2,5\n".encode())
    (work / "old.csv").write_bytes(b"caf\xe9,n\nx,1\n")
    (work / "wide.csv").write_bytes("a\tb\n1\t2\n".encode("utf-16"))
    (work / "numbers.csv").write_text("1,2\n3,4\n")
    (work / "odd.csv").write_text('a,a,\n1,2,3,4\n"x\ny"\n\n1e999,1,1,1\n')
    bench = await serve("csv_reporter")

    async def lines(path: str) -> list[str]:
        return (await bench.call("summarize_csv", path=path)).content.splitlines()

    assert (await lines("german.csv"))[2].startswith("- Preis (number): minimum 1.5, maximum 2.5")
    assert (await lines("old.csv"))[1].startswith("- café (text)")
    assert (await lines("wide.csv"))[0] == "wide.csv: 1 row, 2 columns, tab-separated"
    assert (await lines("numbers.csv"))[:2][1].startswith("- column 1 (number): minimum 1, maximum 3")
    odd = await lines("odd.csv")
    assert odd[0] == "odd.csv: 3 rows, 4 columns, comma-separated"
    assert [line.split(" (")[0] for line in odd[1:] if line.startswith("- ")] == [
        "- a",
        "- a",
        "- column 3",
        "- column 4",
    ]


async def test_several_files_are_described_and_one_that_fails_leaves_the_others(
    serve: Serve, sales: Path, work: Path
) -> None:
    (work / "b.csv").write_text("x\n1\n")
    bench = await serve("csv_reporter")
    reports = Reports()
    paths = ["sales.csv", "missing.csv", "b.csv"]
    result = await bench.call("summarize_multiple_csvs", reports, paths=paths)
    assert result.content.splitlines()[-1] == "2 of 3 files read, 5 rows in all."
    assert "missing.csv: not read: missing.csv does not exist." in result.content
    assert [message for _, _, message in reports.progressed] == paths
    result = await bench.call("summarize_multiple_csvs", paths=["missing.csv"])
    assert result.outcome is Outcome.FAILED
    assert "must be of type string" in (await bench.call("summarize_multiple_csvs", paths=[1])).content


@each("tool", ["summarize_csv", "plot_csv"])
@each(
    ("path", "why"),
    [
        ("../secret.csv", "is not followed"),
        ("{tmp}/secret.csv", "is outside"),
        ("link.csv", "symbolic link to a place outside"),
        ("empty.csv", "is empty"),
        ("binary.csv", "is a binary file"),
        (".", "is a folder"),
    ],
)
async def test_what_is_outside_or_no_csv_is_refused(
    serve: Serve, work: Path, odd_files: None, tool: str, path: str, why: str
) -> None:
    bench = await serve("csv_reporter")
    result = await bench.call(tool, path=path.format(tmp=work.parent))
    assert result.outcome is Outcome.FAILED
    assert why in result.content
    assert "8675309" not in result.content


async def test_a_chart_is_a_new_file_that_is_linked(serve: Serve, sales: Path, work: Path) -> None:
    bench = await serve("csv_reporter")
    result = await bench.call("plot_csv", path="sales.csv")
    assert (
        result.content.splitlines()[0] == f"Saved {work / 'sales-line.svg'}: line chart of amount, discount, 4 points."
    )
    (artifact,) = result.artifacts
    assert (artifact.name, artifact.mime) == ("sales-line.svg", "image/svg+xml")
    drawn = ET.parse(work / "sales-line.svg").getroot()
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    assert {"amount", "discount", "2026-01-01", "2026-01-04", "0", "10"} <= set(texts)
    bars = await bench.call("plot_csv", path="sales.csv", kind="bar", columns=["amount", "region"])
    drawn = ET.parse(bars.artifacts[0].uri.removeprefix("file://")).getroot()
    assert drawn.find(f"{SVG}title").text == "sales.csv: sums by region"  # type: ignore[union-attr]
    again = await bench.call("plot_csv", path="sales.csv", kind="bar")
    assert again.artifacts[0].name == "sales-bar-2.svg"


async def test_what_can_not_be_drawn_says_why(serve: Serve, sales: Path, work: Path) -> None:
    bench = await serve("csv_reporter")
    assert "it has: day, region, amount" in (await bench.call("plot_csv", path="sales.csv", columns=["x"])).content
    assert "none of region is" in (await bench.call("plot_csv", path="sales.csv", columns=["region"])).content
    assert "one of: line, bar" in (await bench.call("plot_csv", path="sales.csv", kind="pie")).content
    assert [path.name for path in work.iterdir()] == ["sales.csv"]


async def test_many_rows_become_few_points(serve: Serve, work: Path) -> None:
    (work / "long.csv").write_text("n,name\n" + "".join(f"{number},name {number}\n" for number in range(10_000)))
    bench = await serve("csv_reporter")
    assert "400 points" in (await bench.call("plot_csv", path="long.csv")).content
    assert "30 bars each" in (await bench.call("plot_csv", path="long.csv", kind="bar")).content


numbers = st.one_of(st.none(), st.floats(-1e149, 1e149), st.integers(-1000, 1000).map(float), st.just(0.0))


@given(
    kind=st.sampled_from(["line", "bar"]),
    values=st.lists(numbers, min_size=1, max_size=30).filter(lambda values: any(v is not None for v in values)),
    name=st.text(max_size=30),
)
@example(kind="line", values=[5e-324, 0.0], name="")
def test_any_numbers_and_names_give_a_drawing_that_is_well_formed(
    kind: str, values: list[float | None], name: str
) -> None:
    chart = ChartRequest(name, kind, [name] * len(values), [(name, values), ("other", values)])  # type: ignore[arg-type]
    drawn = svg(chart)
    assert "nan" not in drawn.replace(name, "")
    ET.fromstring(drawn.encode("utf-8", "replace"))


async def test_a_table_beyond_its_bounds_is_refused_in_words_and_equal_names_cost_nothing(
    serve: Serve, work: Path
) -> None:
    (work / "equal.csv").write_text(",".join(["a"] * 20_000) + "\n" + ",".join(["1"] * 20_000) + "\n")
    (work / "short.csv").write_text(",".join(["a"] * 5_000) + "\n" + "1\n" * 100_000)
    (work / "wide.csv").write_text("a," * 20_001 + "\n")
    bench = await serve("csv_reporter")
    assert (await bench.call("summarize_csv", path="equal.csv")).content.splitlines()[:3] == [
        "equal.csv: 1 row, 20,000 columns, comma-separated",
        "- a (number): minimum 1, maximum 1, mean 1, median 1, deviation 0, sum 1",
        "- a (2) (number): minimum 1, maximum 1, mean 1, median 1, deviation 0, sum 1",
    ]
    bounds = "at most 5,000,000 cells and 20,000 columns are read. Cut it into smaller files."
    short = await bench.call("summarize_csv", path="short.csv")
    assert short.error == f"short.csv is too large a table: at row 1,001 it has 5,000 columns; {bounds}"
    wide = await bench.call("summarize_csv", path="wide.csv")
    assert wide.error == f"wide.csv is too large a table: at row 1 it has 20,002 columns; {bounds}"
