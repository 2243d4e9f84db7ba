"""What several commands need."""

import click

from .ending import not_installed

__all__ = ["overrides", "simulation_product"]

overrides = click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="Put VALUE (as TOML has it) in the place of that in the file, as in link.latency_cycles=100; repeatable.",
)


def simulation_product():
    try:
        import cocotb  # noqa: F401
        import jinja2  # noqa: F401
        import pcapng  # noqa: F401

        import ualink_sim
    except ImportError as error:
        raise not_installed(error, "sim") from None
    return ualink_sim
