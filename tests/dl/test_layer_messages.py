"""DL messages between two data links, in the alternative sectors of flits that carry TL flits as well."""

import pytest

from support.link_bench import DATA_LINKS, Bench

pytestmark = DATA_LINKS

HALF_RATE = 15_625
WORDS = 40


@pytest.mark.req("DL-002", "DL-005", "DL-007", "DL-037")
def test_all_services_run_beside_tl_flits():
    """Device ID, port number, rate and UART, both ways at once; TL flits arrive whole and in order."""
    bench = Bench(seed=4)

    async def story(bench, ctx):
        devices = {"a": {"id": 0x155, "type": 1, "valid": 1}, "b": {"id": 0x2AA, "type": 0, "valid": 1}}
        ports = {"a": {"number": 3, "valid": 1}, "b": {"number": 0x3FF, "valid": 1}}
        for end in bench.ends:
            config = end.link.config
            ctx.set(config.local_device, devices[end.name])
            ctx.set(config.local_port, ports[end.name])
            ctx.set(config.channel_4_online, 1)
            ctx.set(config.rate, HALF_RATE if end is bench.a else 31_250)
        await bench.bring_up(ctx)
        await bench.until(ctx, lambda: all(end.status(ctx, "online_4") for end in bench.ends))
        for end in bench.ends:
            for ask in ("ask_device", "ask_port", "announce_rate"):
                ctx.set(getattr(end.link.config, ask), 1)
            end.to_send.extend((bench.rng.getrandbits(512), 0) for _ in range(60))
        written = {end.name: [bench.rng.getrandbits(32) for _ in range(WORDS)] for end in bench.ends}
        to_write = {name: list(words) for name, words in written.items()}
        read: dict[str, list[int]] = {"a": [], "b": []}
        for _ in range(900):
            for end in bench.ends:
                link, words = end.link, to_write[end.name]
                ctx.set(link.uart_tx.valid, bool(words))
                ctx.set(link.uart_tx.payload, words[0] if words else 0)
                ctx.set(link.uart_rx.ready, 1)
                if words and ctx.get(link.uart_tx.ready):
                    words.pop(0)
                if ctx.get(link.uart_rx.valid):
                    read[end.name].append(ctx.get(link.uart_rx.payload))
            await bench.step(ctx)
            if len(read["a"]) == len(read["b"]) == WORDS and not bench.a.to_send and not bench.b.to_send:
                break
        await bench.step(ctx, 60)

        for end, other in (bench.ends, bench.ends[::-1]):
            assert read[end.name] == written[other.name]
            assert end.received == other.sent and len(end.received) == 60
            told, number = ctx.get(end.link.status.partner_device), ctx.get(end.link.status.partner_port)
            assert {"id": told.id, "type": told.type, "valid": told.valid} == devices[other.name]
            assert {"number": number.number, "valid": number.valid} == ports[other.name]
            for answer in ("device_answered", "port_answered", "rate_answered"):
                assert end.status(ctx, answer)
            assert end.status(ctx, "protocol_errors") == end.status(ctx, "unknown_messages") == 0
        assert bench.b.status(ctx, "partner_rate") == HALF_RATE
        assert bench.a.status(ctx, "partner_rate") == 31_250

    bench.run(story)
