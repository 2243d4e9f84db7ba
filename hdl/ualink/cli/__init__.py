"""The ``ualink`` command. Each subcommand imports what it needs, so that generating Verilog needs no simulator."""

import click

from .boards import board, build
from .ending import Refusal
from .generation import generate
from .measurement import bench, compliance
from .simulation import decode, sim

__all__ = ["main"]


class _Commands(click.Group):
    """Says what is wrong with a command line in one line too."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise Refusal(error.format_message()) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="amaranth-ualink")
def main():
    """UALink_200 Rev 1.0 controller and switch: simulate, decode, generate, check."""


for _command in (sim, decode, generate, build, bench, compliance, board):
    main.add_command(_command)
