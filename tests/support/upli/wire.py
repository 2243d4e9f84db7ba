"""A UPLI interface watched cycle by cycle: the rules of UALink_200 §2.5-2.7 and §4.3 on plain values.

``sample(ctx, upli)`` reads the interface of a simulation; ``WireRules`` judges the samples one after the other, raising
AssertionError with the cycle and the rule that was broken. Nothing here looks inside an agent.
"""

from types import SimpleNamespace

FIELDS = {
    "req": (
        "vld port_id pool asi auth_tag src_phys_acc_id dst_phys_acc_id tag num_beats addr cmd len attr meta_data vc "
        "vld_parity addr_parity parity"
    ),
    "orig_data": (
        "vld port_id pool data byte_en offset last error vc vld_parity data_parity byte_en_parity fields_parity"
    ),
    "rd_rsp": (
        "vld port_id pool auth_tag src_phys_acc_id dst_phys_acc_id tag num_beats data status offset last data_error vc "
        "vld_parity data_parity parity"
    ),
    "wr_rsp": "vld port_id pool auth_tag src_phys_acc_id dst_phys_acc_id tag status vc vld_parity parity",
}

# Table 2-2, 2-8, 2-11 and 2-14: parity signal, its cover, and how many bits that cover has together.
PARITY = {
    "req": {
        "addr_parity": ("addr", 57),
        "parity": (
            "tag len attr cmd meta_data vc src_phys_acc_id dst_phys_acc_id port_id num_beats",
            65,
        ),
    },
    "orig_data": {
        "byte_en_parity": ("byte_en", 64),
        "fields_parity": ("last error offset port_id vc", 8),
    },
    "rd_rsp": {
        "parity": (
            "tag status offset last num_beats vc src_phys_acc_id dst_phys_acc_id port_id data_error",
            45,
        )
    },
    "wr_rsp": {"parity": ("tag status src_phys_acc_id dst_phys_acc_id port_id vc", 39)},
}
CONTROLS = ("orig_clk_req", "comp_clk_ack", "comp_clk_req", "orig_clk_ack")
CHANNELS = tuple(FIELDS)


def ones(value: int) -> int:
    return bin(value).count("1")


def sample(ctx, upli) -> SimpleNamespace:
    """Every signal of the interface as plain values."""
    seen = SimpleNamespace(**{name: ctx.get(getattr(upli, name)) for name in CONTROLS})
    for name, fields in FIELDS.items():
        channel = getattr(upli, name)
        credit = channel.credit
        values = SimpleNamespace(vld=ctx.get(channel.vld), vld_parity=ctx.get(channel.vld_parity))
        if values.vld:
            for field in fields.split():
                setattr(values, field, ctx.get(getattr(channel, field)))
        elif name != "orig_data":
            values.auth_tag = ctx.get(channel.auth_tag)
        values.credit = SimpleNamespace(
            init_done=ctx.get(credit.init_done),
            vld=ctx.get(credit.vld),
            pool=ctx.get(credit.pool),
            vc=[ctx.get(credit.port_vc[n]) for n in range(4)],
            num=[ctx.get(credit.port_num[n]) for n in range(4)],
            vld_parity=ctx.get(credit.vld_parity),
            parity=ctx.get(credit.parity),
        )
        setattr(seen, name, values)
    return seen


class WireRules:
    """Judges the samples of one interface of ``ports`` ports from the first cycle without reset.

    ``released[channel]`` are the Credits that the receiver of ``channel`` announces per port. ``beats[channel][port]``
    gathers what crossed; ``in_use`` counts credits spent and not returned, by (channel, port, pool, vc).
    """

    def __init__(self, ports: int, released: dict):
        self.ports = ports
        self.released = released
        self.cycle = 0
        self.before = dict.fromkeys(CONTROLS, 0)
        self.phase: dict[str, int] = {}
        self.held: dict[tuple, int] = {}
        self.in_use: dict[tuple, int] = {}
        self.initial: dict[tuple, int] = {}
        self.init_done_since: dict[tuple, int] = {}
        self.open_transfer: dict[tuple, list] = {}
        self.beats = {channel: [[] for _ in range(ports)] for channel in CHANNELS}

    def step(self, seen) -> None:
        self._handshake(seen)
        for channel in CHANNELS:
            self._credit_return(channel, seen)
        for channel in CHANNELS:
            self._beat(channel, seen)
        self._transfers(seen)
        self.cycle += 1

    def _demand(self, condition, rule):
        assert condition, f"cycle {self.cycle}: {rule}"

    def _handshake(self, seen):
        now = {name: getattr(seen, name) for name in CONTROLS}
        if self.cycle == 0:
            self._demand(not any(now.values()), "control signals are low in the first cycle after reset")
        for name in CONTROLS:
            self._demand(now[name] >= self.before[name], f"{name} fell")
        self._demand(not now["comp_clk_ack"] or self.before["orig_clk_req"], "CompClkAck before OrigClkReq was sampled")
        self._demand(not now["orig_clk_ack"] or self.before["comp_clk_req"], "OrigClkAck before CompClkReq was sampled")
        # What is on the wire in this cycle was decided on the samples of the one before.
        self.o2c = self.before["orig_clk_req"] and self.before["comp_clk_ack"]
        self.c2o = self.before["comp_clk_req"] and self.before["orig_clk_ack"]
        self.before = now

    def _credit_return(self, channel, seen):
        credit = getattr(seen, channel).credit
        allowed = self.c2o if channel in ("req", "orig_data") else self.o2c
        self._demand(ones(credit.vld) % 2 == credit.vld_parity, f"{channel} credit vld parity")
        self._demand(allowed or not (credit.vld or credit.init_done), f"{channel} credits before the connection")
        self._demand(not (credit.vld | credit.init_done) >> self.ports, f"{channel} credits of a port that is not")
        if credit.vld:
            total = ones(credit.pool) + sum(map(ones, credit.vc)) + sum(map(ones, credit.num))
            self._demand(total % 2 == credit.parity, f"{channel} credit parity")
        for port in range(self.ports):
            done = credit.init_done >> port & 1
            since = self.init_done_since.get((channel, port))
            self._demand(done or since is None, f"{channel} CreditInitDone[{port}] fell")
            if done and since is None:
                self.init_done_since[channel, port] = self.cycle
                expected = self.released[channel]
                for pool, vc, count in [(1, 0, expected.pool), *((0, v, n) for v, n in enumerate(expected.vc))]:
                    self._demand(self.initial.get((channel, port, pool, vc), 0) == count, f"{channel} initial release")
            if not credit.vld >> port & 1:
                continue
            pool, vc, number = credit.pool >> port & 1, credit.vc[port], credit.num[port] + 1
            if since is None and not done:
                key = (channel, port, pool, vc)
                self.initial[key] = self.initial.get(key, 0) + number
            else:
                key = (channel, port, pool, vc)
                self.in_use[key] = self.in_use.get(key, 0) - number
                self._demand(self.in_use[key] >= 0, f"{channel} returned a credit that no beat of {key} spent")
            account = (channel, port, pool, 0 if pool else vc)
            self.held[account] = self.held.get(account, 0) + number

    def _beat(self, channel, seen):
        beat = getattr(seen, channel)
        self._demand(beat.vld == beat.vld_parity, f"{channel} vld parity")
        if not beat.vld:
            self._demand(channel == "orig_data" or beat.auth_tag == 0, f"{channel} AuthTag without a beat")
            return
        self._demand(self.o2c and self.c2o, f"{channel} beat before the connection")
        port = beat.port_id
        self._demand(port < self.ports, f"{channel} beat of port {port}")
        group = "req" if channel == "orig_data" else channel
        phase = self.phase.setdefault(group, (port - self.cycle) % self.ports)
        self._demand((self.cycle + phase) % self.ports == port, f"{channel} beat of port {port} outside of its slot")
        since = self.init_done_since.get((channel, port), self.cycle)
        self._demand(self.cycle - since >= 2, f"{channel} beat within two cycles of CreditInitDone[{port}]")
        account = (channel, port, beat.pool, 0 if beat.pool else beat.vc)
        self._demand(self.held.get(account, 0) > 0, f"{channel} beat without a credit of {account}")
        self.held[account] -= 1
        key = (channel, port, beat.pool, beat.vc)
        self.in_use[key] = self.in_use.get(key, 0) + 1
        for name, (cover, _) in PARITY[channel].items():
            total = sum(ones(getattr(beat, field)) for field in cover.split())
            self._demand(total % 2 == getattr(beat, name), f"{channel} {name}")
        if channel in ("orig_data", "rd_rsp"):
            for group in range(8):
                total = ones(beat.data >> 64 * group & (1 << 64) - 1)
                self._demand(total % 2 == beat.data_parity >> group & 1, f"{channel} data parity {group}")
        self.beats[channel][port].append(beat)

    def _transfers(self, seen):
        req, data = seen.req, seen.orig_data
        begins = req.vld and req.cmd >> 5 & 1
        owner = None
        if "req" in self.phase:
            owner = (self.cycle + self.phase["req"]) % self.ports
        self._burst("orig_data", owner, begins, req.num_beats if begins else 0, req.vc if begins else 0, data)
        rd_rsp = seen.rd_rsp
        if rd_rsp.vld:
            owner = rd_rsp.port_id
        elif "rd_rsp" in self.phase:
            owner = (self.cycle + self.phase["rd_rsp"]) % self.ports
        begins = rd_rsp.vld and rd_rsp.num_beats and not self.open_transfer.get(("rd_rsp", owner))
        if begins or self.open_transfer.get(("rd_rsp", owner)):
            self._burst("rd_rsp", owner, begins, rd_rsp.num_beats if begins else 0, rd_rsp.vld and rd_rsp.vc, rd_rsp)

    def _burst(self, channel, port, begins, num_beats, vc, beat):
        transfer = self.open_transfer.setdefault((channel, port), [])
        if begins:
            self._demand(not transfer, f"{channel} transfer begins during another of port {port}")
            transfer.extend((offset, offset == num_beats, vc) for offset in range(num_beats + 1))
        if transfer:
            self._demand(beat.vld, f"{channel} transfer of port {port} has a gap")
            self._demand((beat.offset, beat.last, beat.vc) == transfer.pop(0), f"{channel} offset, last or VC")
        else:
            self._demand(not beat.vld, f"{channel} beat outside of a transfer")
