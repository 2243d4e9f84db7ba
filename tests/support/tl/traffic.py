"""Legal random traffic for a TL receiver, and the beats that it must give."""

import random
from dataclasses import dataclass, field

from support.tl.receive import ALL_ONES, CHANNELS, CLASSES, COMMANDS, READS
from ualink_sim.model.tl.compression import AddressCache
from ualink_sim.model.tl.fields import (
    COMPRESSED_COMMANDS,
    CompressedReadResponse,
    CompressedRequest,
    CompressedResponse,
    Credit,
    FlowControl,
    UncompressedRequest,
    UncompressedResponse,
)
from ualink_sim.model.tl.sequence import NOP_MESSAGE, POISONED_DATA, Issue, TransmitSequence, message_half_flit

SPARE_BITS = {UncompressedResponse: 16, CompressedReadResponse: 1, CompressedResponse: 1}
"""At the low end of the fields (UALink_200 Tables 5-30, 5-34, 5-36)."""

ISOLATE = 0xF
"""WrRspStatus that no link may bring: such a Write Response is dropped (UALink_200 Table 2-12)."""


@dataclass
class Expected:
    """Beats that legal traffic must give, per channel in order, and the credits that its FC fields return."""

    req: list = field(default_factory=list)
    orig_data: list = field(default_factory=list)
    rd_rsp: list = field(default_factory=list)
    wr_rsp: list = field(default_factory=list)
    fc: list = field(default_factory=list)

    def add(self, issue, uwm_has_byte_enables=True, expanded=None):
        """The beats of ``issue`` (UALink_200 §5.9, rulings D04, D05, D07); ``expanded`` is what a Compressed Request
        stands for."""
        control = expanded or issue.field
        if control.is_request:
            self._request(issue, control, uwm_has_byte_enables)
        elif control.is_response:
            self._response(issue, control)

    def _beats(self, issue):
        for n in range(issue.field.data_beats()):
            poisoned = n in issue.poisoned
            data = 0 if poisoned else int.from_bytes(issue.data[64 * n : 64 * n + 64], "little")
            yield n, n == issue.field.data_beats() - 1, data, int(poisoned)

    def _request(self, issue, control, uwm_has_byte_enables):
        self.req.append(
            {
                "asi": control.asi,
                "auth_tag": issue.tag,
                "src_phys_acc_id": control.src_acc_id,
                "dst_phys_acc_id": control.dst_acc_id,
                "tag": control.tag,
                "num_beats": 0 if control.cmd == 0x03 else control.num_beats,
                "addr": control.addr << 2,
                "cmd": control.cmd,
                "len": control.len,
                "attr": control.attr,
                "meta_data": control.meta_data,
                "vc": control.vchan,
            }
        )
        for n, last, data, error in self._beats(issue):
            start = 8 * (((control.addr >> 4) + n) % 4)
            enables = int.from_bytes(issue.byte_enables[start : start + 8], "little")
            has_enables = control.has_byte_enables(uwm_has_byte_enables)
            self.orig_data.append(
                {
                    "data": data,
                    "byte_en": enables if has_enables else ALL_ONES,
                    "offset": n,
                    "last": int(last),
                    "error": error,
                    "vc": control.vchan,
                }
            )

    def _response(self, issue, control):
        common = {
            "auth_tag": issue.tag,
            "src_phys_acc_id": getattr(control, "src_acc_id", 0),
            "dst_phys_acc_id": control.dst_acc_id,
            "tag": control.tag,
            "status": getattr(control, "status", 0),
            "vc": control.vchan,
        }
        if not control.is_read and common["status"] != ISOLATE:
            self.wr_rsp.append(common)
        beats = control.data_beats()
        for n, last, data, error in self._beats(issue):
            alone = beats == 1 and not isinstance(control, CompressedResponse)
            self.rd_rsp.append(
                {
                    **common,
                    "num_beats": beats - 1,
                    "data": data,
                    "offset": control.offset if alone else n,
                    "last": control.last if alone else int(last),
                    "data_error": error,
                }
            )


class Traffic:
    """Endless legal random flits within credits and source rate limits; ``expected`` grows with them.

    There are Compressed Requests if ``config`` has an Rx Address Cache: every CLOAD is kept in mind. Spare bits, and
    what follows the type of a poison message, are random.
    """

    def __init__(
        self,
        config,
        seed,
        *,
        density=0.8,
        messages=0.1,
        poison=0.1,
        idle=0.0,
        data=True,
        requests=0.4,
        authentication=False,
    ):
        self.random, self.meaningless = random.Random(seed), random.Random(seed)
        self.authentication = authentication
        self.cache = None
        if config.rx_cache.rows:
            member = "src_acc_id" if config.device == "accelerator" else "dst_acc_id"
            self.cache = AddressCache(member, config.rx_cache.rows, config.rx_cache.ways)
        self.config = config
        self.density, self.messages, self.poison, self.idle, self.data = density, messages, poison, idle, data
        self.requests = requests
        self.spent, self.compressed = [], 0
        self.sequence = TransmitSequence(authentication, config.uwm_has_byte_enables)
        self.credits = {name: [*getattr(config, name).vc, getattr(config, name).pool] for name in CLASSES}
        self.allow = {"req": 4, "rsp": 8}
        self.expected = Expected()

    def release(self, name, pool, vc, count):
        self.credits[name][4 if pool else vc] += count

    def flits(self, count):
        """``count`` flits that may start something, then as many as the owed data need."""
        while count > 0 or len(self.sequence.owed):
            count -= 1
            yield None if self.random.random() < self.idle else self.flit(count >= 0)

    def flit(self, active=True):
        rng, sequence = self.random, self.sequence
        lower = upper = None
        if active and rng.random() < self.messages:
            lower = self._message()
        if active and rng.random() < self.messages:
            upper = self._message()
        issues = []
        if active and lower is None and sequence.control_slot:
            issues = self._issues()
        for issue in issues:
            self.expected.add(issue, self.config.uwm_has_byte_enables, self.expanded.get(issue.sector))
        if self.authentication and any(issue.tag for issue in issues):
            upper = None
        requests = sum(issue.field.is_request for issue in issues)
        responses = sum(issue.field.is_response for issue in issues)
        self.allow["req"] = min(4, self.allow["req"] - requests + 1)
        self.allow["rsp"] = min(8, self.allow["rsp"] - responses + 1)
        total = {name: [0] * 5 for name in CLASSES}
        for issue in issues:
            if isinstance(issue.field, FlowControl):
                for name in CLASSES:
                    credit = getattr(issue.field, name)
                    total[name][0 if credit.vc is None else 1 + credit.vc] += credit.count
        if any(any(counts) for counts in total.values()):
            self.expected.fc.append({name: tuple(counts) for name, counts in total.items()})
        return self._disguise(issues, *sequence.send(issues, lower, upper))

    def _disguise(self, issues, data, message):
        """The flit with anything in the places that have no meaning."""
        halves = [data[:32], data[32:]]
        for n, half in enumerate(halves):
            if message >> n & 1 and half[0] == POISONED_DATA:
                halves[n] = message_half_flit(POISONED_DATA, self.meaningless.randbytes(31))
        spare = 0
        for issue in issues:
            spare |= self.meaningless.getrandbits(SPARE_BITS.get(type(issue.field), 0)) << 32 * issue.sector
        lower = int.from_bytes(halves[0], "little") | spare
        return lower.to_bytes(32, "little") + halves[1], message

    def _message(self):
        return message_half_flit(NOP_MESSAGE, self.random.randbytes(31))

    def _issues(self):
        self.left = dict(self.allow)
        self.tags_left = (0 if self.sequence.swap else 4) if self.authentication else 8
        self.returned, self.expanded = set(), {}
        issues = []
        for quad in (0, 4):
            issue = self._try(quad, self._request()) if self.random.random() < self.requests else None
            if issue:
                issues.append(issue)
                continue
            for pair in (quad, quad + 2):
                issue = None
                if self.cache and self.random.random() < self.requests:
                    issue = self._try(pair, self._compressed_request())
                elif self.random.random() < 0.3:
                    issue = self._try(pair, self._uncompressed_response())
                if issue:
                    issues.append(issue)
                    continue
                issues += filter(None, (self._try(sector, self._single()) for sector in (pair, pair + 1)))
        return issues

    def _try(self, sector, control):
        """An Issue of ``control`` if allowance and credits suffice and luck wants it."""
        rng = self.random
        if control is None or rng.random() > self.density:
            return None
        if isinstance(control, FlowControl):
            return Issue(sector, control)
        kind = "req" if control.is_request else "rsp"
        bucket = 4 if control.pool else control.vchan
        beats = control.data_beats()
        cmd, data = self.credits[f"{kind}_cmd"], self.credits[f"{kind}_data"]
        if not self.tags_left or not self.left[kind] or not cmd[bucket] or data[bucket] < beats:
            return None
        self.tags_left -= 1
        self.left[kind] -= 1
        cmd[bucket] -= 1
        data[bucket] -= beats
        self.spent.append((f"{kind}_cmd", control.pool, control.vchan, 1))
        self.spent += [(f"{kind}_data", control.pool, control.vchan, 1)] * beats
        if self.cache and isinstance(control, CompressedRequest):
            self.expanded[sector] = self.cache.receive(control)
            self.compressed += 1
        elif self.cache and getattr(control, "cload", 0):
            self.cache.load(control, control.cway)
        enables = control.has_byte_enables(self.config.uwm_has_byte_enables)
        return Issue(
            sector,
            control,
            rng.randbytes(64 * beats),
            rng.randbytes(32) if enables else b"",
            frozenset(n for n in range(beats) if rng.random() < self.poison),
            rng.randrange(1, 1 << 64) if self.authentication else 0,
        )

    def _common(self):
        rng = self.random
        return {"vchan": rng.randrange(4), "tag": rng.randrange(1 << 11), "pool": rng.randrange(2)}

    def _request(self):
        rng = self.random
        cmd = rng.choice(COMMANDS if self.data else READS)
        ids = {name: rng.randrange(1 << 10) for name in ("src_acc_id", "dst_acc_id")}
        cload, cway = rng.randrange(2), rng.randrange(4)
        if self.cache and cload:
            ids[self.cache.row_member] = rng.randrange(self.cache.rows)
            cway = rng.randrange(self.cache.ways)
        return UncompressedRequest(
            **self._common(),
            cmd=cmd,
            asi=rng.randrange(4),
            attr=rng.randrange(256),
            len=rng.randrange(64),
            meta_data=rng.randrange(256),
            addr=rng.randrange(1 << 55),
            **ids,
            cload=cload,
            cway=cway,
            num_beats=0 if cmd in (0x30, 0x32) else rng.randrange(4),
        )

    def _compressed_request(self):
        """One that reads an entry loaded before, or None."""
        rng = self.random
        if not self.cache.entries:
            return None
        row, cway = rng.choice(list(self.cache.entries))
        ids = {"src_acc_id": rng.randrange(1 << 10), "dst_acc_id": rng.randrange(1 << 10), self.cache.row_member: row}
        length = rng.randrange(4)
        return CompressedRequest(
            **self._common(),
            cmd=rng.choice(list(COMPRESSED_COMMANDS) if self.data else [0]),
            asi=rng.randrange(4),
            len=length,
            meta_data=rng.randrange(8),
            addr=rng.randrange(1 << 12) << 2 | rng.randrange(4 - length),
            **ids,
            cway=cway,
        )

    def _uncompressed_response(self):
        rng = self.random
        return UncompressedResponse(
            **self._common(),
            len=rng.randrange(4),
            offset=rng.randrange(4),
            status=rng.randrange(16),
            rd_wr=rng.randrange(2) & self.data,
            last=rng.randrange(2),
            src_acc_id=rng.randrange(1 << 10),
            dst_acc_id=rng.randrange(1 << 10),
        )

    def _single(self):
        rng = self.random
        match rng.randrange(4):
            case 0 if self.data:
                return CompressedReadResponse(
                    **self._common(), dst_acc_id=rng.randrange(1 << 10), offset=rng.randrange(4), last=rng.randrange(2)
                )
            case 0 | 1:
                rd_wr = rng.randrange(2) & self.data
                return CompressedResponse(
                    **self._common(), dst_acc_id=rng.randrange(1 << 10), len=rng.randrange(4) * rd_wr, rd_wr=rd_wr
                )
            case 2:
                return FlowControl(**{name: self._credit(name) for name in CLASSES})
        return None

    def _credit(self, name):
        vc = self.random.choice((None, 0, 1, 2, 3))
        if (name, vc) in self.returned:
            return Credit(0, vc)
        self.returned.add((name, vc))
        return Credit(self.random.randrange(8 if name.endswith("cmd") else 32), vc)


def check(got, expected):
    """Everything expected came, in order, bit for bit, without an error, and nothing else."""
    assert got.errors == []
    for channel in CHANNELS:
        want, have = getattr(expected, channel), got.beats(channel)
        for n, (wanted, had) in enumerate(zip(want, have)):
            assert had == wanted, f"{channel} beat {n}"
        assert len(have) == len(want), channel
    assert got.fc == expected.fc
