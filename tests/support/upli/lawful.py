"""Both agents under traffic that keeps every rule: Requests with their data, each answered once."""

from support.upli.pair import Traffic, field, pack

ALL = (1 << 64) - 1
READ, WRITE, FULL, MESSAGE, ATOMIC_R, ATOMIC_NR = 3, 0x28, 0x29, 0x2A, 0x30, 0x32
READS, WRITES, ATOMICS = range(0x08, 0x10), range(0x2C, 0x30), range(0x3C, 0x40)
STATUSES = (0, 2, 3, 6, 8)
REGIONS = (0x1555555555555, 0x0AAAAAAAAAAAA)


class LawfulTraffic(Traffic):
    """Like ``Traffic``, but the Requests fit Table 2-6 and section 2.8, and the Completer's device answers them."""

    MOST = 6
    """Requests outstanding per port."""

    def restart(self):
        super().restart()
        self.busy = {port: {} for port in range(self.pair.ports)}
        self.to_answer = {port: [] for port in range(self.pair.ports)}
        self.taken = dict.fromkeys(self.pending, 0)
        self.answered = 0
        self.asks = True
        self.stuck = False

    def drive(self, ctx, *, more=True):
        """While ``stuck``, the Completer's device takes neither Requests nor their data."""
        super().drive(ctx, more=more)
        if self.stuck:
            for channel in ("req", "orig_data"):
                for stream in self.receivers[channel]:
                    ctx.set(stream.ready, 0)

    def refill(self, port):
        self._free(port)
        if self.asks and not self.pending["req", port] and len(self.busy[port]) < self.MOST:
            self._ask(port)
        seen = self.received["req", port]
        while self.taken["req", port] < len(seen):
            self.to_answer[port].append(seen[self.taken["req", port]])
            self.taken["req", port] += 1
        self.rng.shuffle(self.to_answer[port])
        for request in list(self.to_answer[port]):
            channel = "rd_rsp" if self._reads(request) else "wr_rsp"
            if not self.pending[channel, port]:
                self.to_answer[port].remove(request)
                self._answer(port, channel, request)

    def _free(self, port):
        """Tags whose last beat has come may be used again."""
        for channel in ("rd_rsp", "wr_rsp"):
            beats = self.received[channel, port]
            while self.taken[channel, port] < len(beats):
                beat = beats[self.taken[channel, port]]
                self.taken[channel, port] += 1
                if channel == "wr_rsp" or field(channel, beat, "last"):
                    del self.busy[port][field(channel, beat, "dst_phys_acc_id"), field(channel, beat, "tag")]
                    self.answered += 1

    def _ask(self, port):
        rng = self.rng
        source, tag = rng.choice((5, 0x3F6)), rng.randrange(8)
        if (source, tag) in self.busy[port]:
            return
        first = rng.randrange(64)
        length = rng.randrange(64 - first)
        fields = dict(
            cmd=rng.choice((READ, WRITE, FULL, MESSAGE, ATOMIC_R, ATOMIC_NR, READS[2], WRITES[1], ATOMICS[3])),
            attr=self.bits(8),
            meta_data=self.bits(8),
            asi=self.bits(2),
            len=length,
            addr=rng.choice(REGIONS) << 8 | first << 2,
            num_beats=((first & 15) + length) >> 4,
        )
        cmd = fields["cmd"]
        base = fields["addr"] >> 8 << 8
        if cmd == READ:
            fields["num_beats"] = 0
        elif cmd == FULL:
            blocks = rng.randrange(1, 5)
            start = rng.randrange(5 - blocks)
            fields.update(addr=base | start << 6, len=16 * blocks - 1, num_beats=blocks - 1)
        elif cmd == MESSAGE:
            kind = rng.choice((0, 1, 2, 3, 0xF7))
            fields["meta_data"] = kind
            if kind < 4:
                fields.update(addr=0, asi=0, attr=0, num_beats=0)
        elif cmd in (ATOMIC_R, ATOMIC_NR):
            fields.update(num_beats=0, attr=fields["attr"] & ~2)
            if rng.random() < 0.3:
                fields.update(len=15, addr=base | rng.randrange(8) << 5)
            else:
                pair = rng.randrange(8)
                fields.update(addr=base | pair << 3, len=2 * rng.randrange(1, 9 - pair) - 1)
        else:
            fields.update(num_beats=self.bits(2), len=self.bits(6), addr=self.bits(57)) if cmd != WRITE else None
        vc = rng.choice(self.vcs)
        request = pack(
            "req",
            tag=tag,
            vc=vc,
            auth_tag=self.bits(64),
            dst_phys_acc_id=self.bits(10),
            src_phys_acc_id=source,
            **fields,
        )
        self.busy[port][source, tag] = request
        self.pending["req", port].append(request)
        for offset in range(fields["num_beats"] + 1 if cmd & 0x20 else 0):
            more = dict(data=self._data(cmd, fields), byte_en=self._enables(fields, offset))
            last = offset == fields["num_beats"]
            self.pending["orig_data", port].append(pack("orig_data", **more, offset=offset, last=last, vc=vc))

    def _data(self, cmd, fields):
        return 0 if cmd == MESSAGE and fields["meta_data"] < 4 else self.bits(512)

    def _enables(self, fields, offset):
        cmd, first = fields["cmd"], fields["addr"] >> 2 & 15
        if cmd in (FULL, MESSAGE):
            return ALL
        lanes = 0
        for dword in range(16):
            if first <= 16 * offset + dword <= first + fields["len"]:
                lanes |= 15 << 4 * dword
        if cmd == WRITE:
            return self.bits(64) & lanes
        if cmd in (ATOMIC_R, ATOMIC_NR):
            size = {0: 4, 1: 8, 2: 2, 3: 1}[fields["attr"] >> 2 & 3]
            chosen = sum((1 << size) - 1 << at for at in range(0, 64, size) if self.bits(1))
            return chosen & (ALL if fields["len"] == 15 else lanes)
        return self.bits(64)

    def _reads(self, request):
        cmd = field("req", request, "cmd")
        if cmd in ATOMICS or (cmd == MESSAGE and field("req", request, "meta_data") >= 0xF0):
            return self.rng.random() < 0.5
        message = cmd == MESSAGE and field("req", request, "meta_data") == 2
        return not cmd & 0x20 or cmd == ATOMIC_R or message

    def _answer(self, port, channel, request):
        cmd, rng = field("req", request, "cmd"), self.rng
        null = cmd == MESSAGE and field("req", request, "meta_data") < 4
        response = dict(
            tag=field("req", request, "tag"),
            vc=field("req", request, "vc"),
            dst_phys_acc_id=field("req", request, "src_phys_acc_id"),
            src_phys_acc_id=self.bits(10),
            status=rng.choice([status for status in STATUSES if not null or status not in (3, 6)]),
            auth_tag=self.bits(64),
        )
        if channel == "wr_rsp":
            self.pending[channel, port].append(pack(channel, **response))
            return
        beats = rng.randrange(4)
        if cmd == READ:
            beats = ((field("req", request, "addr") >> 2 & 15) + field("req", request, "len")) >> 4
        elif cmd == ATOMIC_R or null:
            beats = 0
        offsets = list(range(beats + 1))
        single = rng.random() < 0.4
        if single:
            rng.shuffle(offsets)
        for n, offset in enumerate(offsets):
            more = dict(data=self.bits(512), offset=offset, last=n == beats, num_beats=0 if single else beats)
            self.pending[channel, port].append(pack(channel, **response, **more))
