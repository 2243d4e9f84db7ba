"""What ``ualink sim`` prints."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from .results import Results

__all__ = ["show_summary"]


def show_summary(results: Results, folder: Path) -> None:
    """Print the verdict, a line per link direction, the latencies and where the files are."""
    console = Console(highlight=False)
    verdict = "[green]every byte matched[/]" if results.passed else "[red]failed[/]"
    console.print(
        f"{len(results.transactions)} transactions, {results.mismatches} mismatches, {results.incomplete} incomplete: "
        f"{verdict}; {results.cycles} cycles in {results.seconds:.1f} s",
        soft_wrap=True,
    )
    links = Table()
    links.add_column("link", no_wrap=True)
    for heading in ("TL eff.", "DL util.", "flits", "payload", "replays", "CRC", "lost"):
        links.add_column(heading, justify="right", no_wrap=True)
    for link in results.links:
        row = link.summary()
        links.add_row(
            row["name"],
            f"{row['tl_efficiency']:.2%}",
            f"{row['dl_utilisation']:.2%}",
            *(str(row[key]) for key in ("flits", "payload_flits", "replays", "crc_errors", "lost_flits")),
        )
    console.print(links)
    latencies = Table("latency, cycles", "p50", "p99", "max")
    for kind, row in results.summary()["latency_cycles"].items():
        if row["max"] is not None:
            latencies.add_row(kind, *(str(row[key]) for key in ("p50", "p99", "max")))
    console.print(latencies)
    console.print(f"report:  {folder / 'report.html'}\ncapture: {folder / 'capture.pcapng'}", soft_wrap=True)
