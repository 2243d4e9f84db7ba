"""Two ends of the executable model on a wire, with a checker and coverage at each."""

from ualink_sim.bfm.tl.checker import LinkChecker
from ualink_sim.bfm.tl.coverage import LinkCoverage
from ualink_sim.bfm.tl.legal import LegalTraffic
from ualink_sim.bfm.tl.options import TLOptions
from ualink_sim.model.tl.credits import BUCKETS, CLASSES

SMALL = {(kind, bucket): 4 for kind in CLASSES for bucket in BUCKETS}
LARGE = {(kind, bucket): 36 if kind.endswith("data") else 9 for kind in CLASSES for bucket in BUCKETS}
ONE_CLASS = {account: 0 if account[0] == "rsp_data" else count for account, count in LARGE.items()}


class FakeLink:
    """``ends[0]`` is the device, ``found`` the errors that its checker reports; ``trace`` its flits."""

    def __init__(self, device, partner):
        self.ends = device, partner
        self.found = []
        self.others = []
        self.trace = []
        self.coverage = LinkCoverage(LinkChecker(device.options, self.found.append))
        self.partner_coverage = LinkCoverage(LinkChecker(partner.options, self.others.append))

    def step(self, count=1):
        """Each end sends flits and gets those of the other."""
        device, partner = self.ends
        for _ in range(count):
            flit = device.flit()
            if flit is not None:
                self.trace.append(flit)
                self.coverage.sent(*flit)
                self.partner_coverage.received(*flit)
                partner.receive(*flit)
            flit = partner.flit()
            if flit is not None:
                self.partner_coverage.sent(*flit)
                self.coverage.received(*flit)
                device.receive(*flit)


def random_link(seed=0, weights=None, **options):
    """Random legal traffic both ways."""
    device = TLOptions(**options)
    return FakeLink(LegalTraffic(device, seed, weights), LegalTraffic(device.partner(), seed + 1000, weights))
