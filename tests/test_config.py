"""Configurations refuse what cannot be built, naming key, value and reason."""

import pytest

from ualink.config import (
    AddressCacheConfig,
    ConfigError,
    Credits,
    DLConfig,
    PhyConfig,
    StationConfig,
    SwitchConfig,
    TLConfig,
    UPLIConfig,
    from_dict,
)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: StationConfig(ports=3), ("station.ports", "3", "1, 2, 4")),
        (lambda: DLConfig(replay_depth=256), ("dl.replay_depth", "256", "255")),
        (lambda: DLConfig(explicit_cadence=1), ("dl.explicit_cadence is 1", "from 2 to 7")),
        (lambda: DLConfig(cycles_per_beat=3), ("dl.cycles_per_beat", "3", "1, 2, 4")),
        (lambda: DLConfig(cycles_per_beat=True), ("dl.cycles_per_beat", "True")),
        (
            lambda: StationConfig(dl=DLConfig(cycles_per_beat=4), phy=PhyConfig(blocks_per_word=4)),
            ("dl.cycles_per_beat", "4", "phy.blocks_per_word 4", "2"),
        ),
        (lambda: Credits(pool=-1), ("credits.pool", "-1")),
        (lambda: Credits(vc=(1, 2, 3)), ("credits.vc", "four")),
        (lambda: Credits(vc=5), ("credits.vc", "5", "four")),
        (lambda: StationConfig(ports=True), ("station.ports", "True")),
        (lambda: StationConfig(ports=1.0), ("station.ports", "1.0")),
        (lambda: UPLIConfig(orig_data=Credits(pool=3)), ("upli.orig_data", "3", "4")),
        (lambda: UPLIConfig(init_done_qualification=1), ("init_done_qualification", "1")),
        (lambda: UPLIConfig(lean=1), ("upli.lean", "1", "False, True")),
        (lambda: TLConfig(lean="yes"), ("tl.lean", "'yes'", "False, True")),
        (lambda: TLConfig(req_data=Credits(pool=1, vc=(3, 3, 3, 3))), ("tl.req_data", "4")),
        (
            lambda: TLConfig(req_cmd=Credits(pool=9), rsp_cmd=Credits(pool=20), cmd_counter_bits=4),
            ("tl.rsp_cmd", "4 bits"),
        ),
        (
            lambda: TLConfig(req_cmd=Credits(pool=1), req_data=Credits(vc=(4, 0, 0, 0))),
            ("req_cmd", "req_data", "common"),
        ),
        (
            lambda: TLConfig(rsp_cmd=Credits(vc=(1, 1, 0, 0)), rsp_data=Credits(vc=(4, 3, 0, 0))),
            ("tl.rsp_data.vc[1]", "3", "4 or more"),
        ),
        (
            lambda: TLConfig(shared_data_buffer=True, req_data=Credits(pool=7), rsp_data=Credits()),
            ("tl.req_data.pool", "7 credits", "8 or more"),
        ),
        (lambda: TLConfig(device="bridge"), ("tl.device", "'bridge'")),
        (lambda: TLConfig(credit_return_delay=0), ("credit_return_delay", "0")),
        (lambda: AddressCacheConfig(ways=5), ("ways", "5")),
        (lambda: AddressCacheConfig(rows=1025), ("rows", "1025", "1024")),
        (lambda: SwitchConfig(stations=64, route_entries=128), ("route_entries", "128", "256")),
        (lambda: DLConfig(replay_depth=True), ("dl.replay_depth", "True")),
        (lambda: PhyConfig(rate=300), ("phy.rate", "300", "100, 200, 400, 800")),
        (lambda: PhyConfig(rate=100.0), ("phy.rate", "100.0")),
        (lambda: PhyConfig(rates=(200, 300)), ("phy.rates[1]", "300", "100, 200, 400, 800")),
        (lambda: PhyConfig(rates=(200, 100, 400)), ("phy.rates", "(200, 100, 400)", "1, 2 or 4")),
        (lambda: PhyConfig(rates=[200]), ("phy.rates", "[200]", "1, 2 or 4")),
        (lambda: PhyConfig(idle_interval=3), ("phy.idle_interval", "3", "4")),
        (lambda: PhyConfig(marker_interval=8192), ("phy.marker_interval", "8192", "4096")),
        (lambda: PhyConfig(marker_interval=1536), ("phy.marker_interval", "1536", "multiple", "1024")),
        (lambda: PhyConfig(idle_interval=1000), ("phy.marker_interval", "4096", "multiple", "1000")),
        (lambda: PhyConfig(control_flit_blocks=321), ("phy.control_flit_blocks", "321", "320")),
        (lambda: PhyConfig(control_flit_blocks=301), ("phy.control_flit_blocks", "301", "multiple of 4")),
        (lambda: StationConfig(ports=4, phy=PhyConfig(rate=400)), ("phy.rate", "400", "station of 4", "200")),
    ],
)
def test_refusal_names_key_value_and_reason(make, words):
    with pytest.raises(ConfigError) as refusal:
        make()
    assert all(word in str(refusal.value) for word in words)
    assert "\n" not in str(refusal.value)


@pytest.mark.req("TL-166")
def test_a_shared_data_buffer_may_be_announced_as_one_class():
    config = TLConfig(shared_data_buffer=True, req_data=Credits(), rsp_data=Credits(pool=8))
    assert config.req_data.total == 0
    with pytest.raises(ConfigError):
        config.replace(shared_data_buffer=False)


@pytest.mark.req("UPLI-019")
def test_the_ports_of_a_station_carry_800_gb_s_at_most():
    """One of 800, two of 400 or four of 200, and nothing faster, whether all ports have one rate or their own."""
    built = set()
    for ports in (1, 2, 4):
        for rate in (100, 200, 400, 800):
            for phy in (PhyConfig(rate=rate), PhyConfig(rates=(100,) * (ports - 1) + (rate,))):
                try:
                    built.add((StationConfig(ports=ports, phy=phy).ports, rate))
                except ConfigError:
                    assert ports * rate > 800
    assert built == {(1, 100), (1, 200), (1, 400), (1, 800), (2, 100), (2, 200), (2, 400), (4, 100), (4, 200)}


def test_a_station_is_unhurried_where_each_port_always_has_every_fourth_cycle():
    def layers(config):
        return config.agents_upli, config.port_tl, config.port_dl

    assert all(layer.unhurried for layer in layers(StationConfig(ports=4)))
    for hurried in (StationConfig(ports=1), StationConfig(ports=2), StationConfig(ports=4, choosable_ports=True)):
        assert not any(layer.unhurried for layer in layers(hurried))


@pytest.mark.req("PHY-006")
def test_ports_of_a_station_are_equally_wide():
    """Four lanes make one, two or four ports, and nothing else: no three of different width."""
    built = []
    for ports in (*range(8), (2, 1, 1), "2x1"):
        try:
            built.append(StationConfig(ports=ports).ports)
        except ConfigError:
            continue
    assert built == [1, 2, 4]


@pytest.mark.req("PHY-032", "PHY-043")
@pytest.mark.parametrize(
    ("rate", "blocks", "slots"), [(100, 20, 4096), (200, 16, 4096), (400, 32, 8192), (800, 64, 16384)]
)
def test_a_rate_of_a_port_fixes_its_markers(rate, blocks, slots):
    config = PhyConfig(rate=rate)
    assert (config.marker_blocks, config.marker_slots, config.control_interval) == (blocks, slots, 1024)


@pytest.mark.parametrize(("marker", "control"), [(8, 8), (2048, 1024), (1024, 1024), (1023, 1023)])
def test_markers_may_be_closer(marker, control):
    assert PhyConfig(marker_interval=marker).control_interval == control


def test_replace_checks_again():
    config = StationConfig()
    assert config.replace(ports=4).ports == 4
    with pytest.raises(ConfigError):
        config.replace(ports=5)


def test_from_dict_builds_nested_values():
    config = from_dict(
        SwitchConfig,
        {"stations": 8, "station": {"dl": {"replay_depth": 9}, "tl": {"req_cmd": {"pool": 1, "vc": [9, 0, 0, 0]}}}},
        "x",
    )
    assert (config.stations, config.station.dl.replay_depth) == (8, 9)
    assert config.station.tl.req_cmd == Credits(pool=1, vc=(9, 0, 0, 0))
    assert config.station.phy is None


def test_a_part_that_may_be_left_out_is_built_where_it_is_given():
    assert from_dict(StationConfig, {"phy": {"rate": 400}}, "x").phy == PhyConfig(rate=400)
    assert from_dict(StationConfig, {"phy": None}, "x") == StationConfig()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"sations": 4}, ("x.toml", "'sations'", "stations")),
        ({"station": {"dl": {"replay_depth": 1}}}, ("x.toml.station.dl", "replay_depth")),
        ({"station": 4}, ("x.toml.station", "table")),
        ({"station": {"phy": True}}, ("x.toml.station.phy", "True", "table")),
        ({"station": {"phy": {"rate": 300}}}, ("x.toml.station.phy", "phy.rate", "300")),
        ({"station": {"dl": None}}, ("x.toml.station.dl", "None", "table")),
        ({"station": {"dl": {"crc_covers_zero_field": 1}}}, ("crc_covers_zero_field", "true or false")),
    ],
)
def test_from_dict_refusals_name_the_place(values, words):
    with pytest.raises(ConfigError) as refusal:
        from_dict(SwitchConfig, values, "x.toml")
    assert all(word in str(refusal.value) for word in words)
