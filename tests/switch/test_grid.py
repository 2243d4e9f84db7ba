"""How ports are laid out in rows and columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ualink.checks import ConfigError
from ualink.config import SwitchConfig
from ualink.switch.grid import Grid


@given(st.integers(2, 256), st.integers(1, 64))
def test_every_port_is_in_one_row_and_one_column(ports, ports_per_row):
    grid = Grid(ports, ports_per_row)
    for parts in (grid.rows, grid.columns):
        assert sorted(port for part in parts for port in part) == list(range(ports))
        sizes = {len(part) for part in parts}
        assert max(sizes) - min(sizes) <= 1
    assert all(len(row) <= ports_per_row for row in grid.rows)
    assert ports <= 16 or all(len(column) <= 4 for column in grid.columns)


@given(st.integers(2, 64), st.sampled_from([2, 4]), st.integers(1, 16))
def test_ports_of_a_station_are_apart_while_there_are_rows_and_columns_enough(stations, ports, ports_per_row):
    grid = Grid(stations * ports, ports_per_row)
    for parts in (grid.rows, grid.columns):
        for station in range(stations):
            own = range(station * ports, (station + 1) * ports)
            apart = {number for number, part in enumerate(parts) if set(own) & set(part)}
            assert len(apart) == min(ports, len(parts))


@pytest.mark.parametrize("ports_per_row", [0, 1025, True])
def test_a_row_has_a_port(ports_per_row):
    with pytest.raises(ConfigError, match=r"^switch\.ports_per_row is .*; it must be a whole number"):
        SwitchConfig(ports_per_row=ports_per_row)
