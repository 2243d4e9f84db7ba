"""The packing examples of UALink_200 §5.2 to §5.4, §5.6.1 and §5.7, one row a TL flit: lower half | upper half | limit.

A control half-flit lists `sectors field=kind`, the other sectors being NOP fields ("-": all); kinds are R, W, WF
(Read, Write, WriteFull), AR, AN (AtomicR, AtomicNR), RR, WR (Read and Write Response), a number of 64-byte beats,
`!b` for a corrupt beat b, `+` for CLOAD=1. `Req0.3` is a Data half-flit, `Req0.BE` its byte enables, `POISON` a poison
message, `NOP` a mandatory NOP, `TAGS` an AuthTags half-flit, lowest slot first. Misprints of the tables are set right.
"""

GRIDS = {
    "5-5": """
        7:4 Req0=R4 | NOP
    """,
    "5-6": """
        7:4 Req0=WF4 | Req0.0
        Req0.1 | Req0.2
        Req0.3 | Req0.4
        Req0.5 | Req0.6
        3 FC | Req0.7
    """,
    "5-7": """
        3:0 Req0=W3 | Req0.0
        Req0.1 | Req0.2
        Req0.3 | Req0.4
        Req0.5 | Req0.BE
    """,
    "5-8": """
        7:4 Req1=AR, 3 FC, 1:0 Req0=W1 | Req0.0
        Req0.1 | Req0.BE
        Req1.0 | Req1.1
        5 FC, 3 FC, 2 FC | Req1.BE
    """,
    "5-9": """
        7:4 Req1=AR, 3:0 Req0=AN | Req0.0
        Req0.1 | Req0.BE
        Req1.0 | Req1.1
        - | Req1.BE
    """,
    "5-10": """
        7:4 Req2=AN, 3:2 Req1=WF4, 1:0 Req0=W4 | Req0.0
        Req0.1 | Req0.2
        Req0.3 | Req0.4
        Req0.5 | Req0.6
        Req0.7 | Req0.BE
        Req1.0 | Req1.1
        Req1.2 | Req1.3
        Req1.4 | Req1.5
        Req1.6 | Req1.7
        Req2.0 | Req2.1
        7 FC | Req2.BE
    """,
    "5-11": """
        7:4 Req2=AN, 3:2 Req1=WF4, 1:0 Req0=WF4 | TAGS Req0 Req1 Req2
        Req0.0 | Req0.1
        Req0.2 | Req0.3
        Req0.4 | Req0.5
        Req0.6 | Req0.7
        Req1.0 | Req1.1
        Req1.2 | Req1.3
        Req1.4 | Req1.5
        Req1.6 | Req1.7
        Req2.0 | Req2.1
        5 FC, 3 FC, 2 FC | Req2.BE
    """,
    "5-12 Tx": """
        7:4 Req2=R2, 3:2 Req1=R2, 1:0 Req0=R2 | NOP
    """,
    "5-12 Rx": """
        7:6 Rsp1=RR2, 5:4 Rsp2=RR2, 2 Rsp0=RR2 | Rsp0.0
        Rsp0.1 | Rsp0.2
        Rsp0.3 | Rsp2.0
        Rsp2.1 | Rsp2.2
        Rsp2.3 | Rsp1.0
        Rsp1.1 | Rsp1.2
        - | Rsp1.3
    """,
    "5-13": """
        7:4 Req0=WF4!1 | Req0.0
        Req0.1 | POISON
        POISON | Req0.4
        Req0.5 | Req0.6
        3 FC | Req0.7
    """,
    "5-14": """
        7:4 Req1=AR!0, 3 FC, 1:0 Req0=W1 | Req0.0
        Req0.1 | Req0.BE
        POISON | POISON
        5 FC, 3 FC, 2 FC | Req1.BE
    """,
    "5-15": """
        7:4 Req0=WF4, 3:2 RspA=WR, 0 FC | Req0.0
        Req0.1 | Req0.2
        Req0.3 | Req0.4
        Req0.5 | Req0.6
        7:4 Req1=WF4, 3:2 RspB=WR, 0 FC | Req0.7
        Req1.0 | Req1.1
        Req1.2 | Req1.3
        Req1.4 | Req1.5
        Req1.6 | Req1.7
    """,
    "5-16": """
        7:4 Req1=WF4, 3:0 Req0=WF4 | Req0.0
        Req0.1 | Req0.2
        Req0.3 | Req0.4
        Req0.5 | Req0.6
        Req0.7 | Req1.0
        Req1.1 | Req1.2
        Req1.3 | Req1.4
        Req1.5 | Req1.6
        7:4 Req2=WF4, 3 RspC=WR, 2 RspB=WR, 1 RspA=WR, 0 FC | Req1.7
        Req2.0 | Req2.1
        Req2.2 | Req2.3
        Req2.4 | Req2.5
        Req2.6 | Req2.7
    """,
    "5-17": """
        7:6 Req1=WF4, 5:4 Req0=WF4, 3 RspB=WR, 2 RspA=WR, 0 FC | Req0.0
        Req0.1 | Req0.2
        Req0.3 | Req0.4
        Req0.5 | Req0.6
        Req0.7 | Req1.0
        Req1.1 | Req1.2
        Req1.3 | Req1.4
        Req1.5 | Req1.6
        7:6 Req3=WF4, 5:4 Req2=WF4, 3 RspD=WR, 2 RspC=WR, 0 FC | Req1.7
        Req2.0 | Req2.1
        Req2.2 | Req2.3
        Req2.4 | Req2.5
        Req2.6 | Req2.7
        Req3.0 | Req3.1
        Req3.2 | Req3.3
        Req3.4 | Req3.5
        Req3.6 | Req3.7
    """,
    "5-18": """
        7:6 Req2=WF4, 5:4 Req1=WF4, 3 RspB=WR, 2 RspA=WR, 1:0 Req0=WF4 | Req0.0
        Req0.1 | Req0.2
        Req0.3 | Req0.4
        Req0.5 | Req0.6
        Req0.7 | Req1.0
        Req1.1 | Req1.2
        Req1.3 | Req1.4
        Req1.5 | Req1.6
        Req1.7 | Req2.0
        Req2.1 | Req2.2
        Req2.3 | Req2.4
        Req2.5 | Req2.6
        7:6 Req4=WF4, 5:4 Req3=WF4, 3 RspE=WR, 2 RspD=WR, 1 RspC=WR, 0 FC | Req2.7
        Req3.0 | Req3.1
        Req3.2 | Req3.3
        Req3.4 | Req3.5
        Req3.6 | Req3.7
        Req4.0 | Req4.1
        Req4.2 | Req4.3
        Req4.4 | Req4.5
        Req4.6 | Req4.7
    """,
    "5-19": """
        7:6 Req1=WF4, 5:4 Req0=WF4, 3 RspB=WR, 2 RspA=WR, 0 FC | TAGS RspA RspB Req0 Req1
        Req0.0 | Req0.1
        Req0.2 | Req0.3
        Req0.4 | Req0.5
        Req0.6 | Req0.7
        Req1.0 | Req1.1
        Req1.2 | Req1.3
        Req1.4 | Req1.5
        Req1.6 | Req1.7
    """,
    "5-20": """
        7:6 ReqB=R4, 5:4 ReqA=R4, 3 Rsp2=RR4, 2 Rsp1=RR4, 1 Rsp0=RR4, 0 FC | Rsp0.0
        Rsp0.1 | Rsp0.2
        Rsp0.3 | Rsp0.4
        Rsp0.5 | Rsp0.6
        Rsp0.7 | Rsp1.0
        Rsp1.1 | Rsp1.2
        Rsp1.3 | Rsp1.4
        Rsp1.5 | Rsp1.6
        Rsp1.7 | Rsp2.0
        Rsp2.1 | Rsp2.2
        Rsp2.3 | Rsp2.4
        Rsp2.5 | Rsp2.6
        7:6 ReqE=R4, 5:4 ReqD=R4, 3 Rsp4=RR4, 2 Rsp3=RR4, 1:0 ReqC=R4 | Rsp2.7
        Rsp3.0 | Rsp3.1
        Rsp3.2 | Rsp3.3
        Rsp3.4 | Rsp3.5
        Rsp3.6 | Rsp3.7
        Rsp4.0 | Rsp4.1
        Rsp4.2 | Rsp4.3
        Rsp4.4 | Rsp4.5
        Rsp4.6 | Rsp4.7
    """,
    "5-21": """
        7:6 ReqB=R4, 5:4 ReqA=R4, 3 Rsp1=RR4, 2 Rsp0=RR4, 0 FC | TAGS Rsp0 Rsp1 ReqA ReqB
        Rsp0.0 | Rsp0.1
        Rsp0.2 | Rsp0.3
        Rsp0.4 | Rsp0.5
        Rsp0.6 | Rsp0.7
        Rsp1.0 | Rsp1.1
        Rsp1.2 | Rsp1.3
        Rsp1.4 | Rsp1.5
        Rsp1.6 | Rsp1.7
    """,
    "5-22": """
        7:6 Req2=WF4, 5:4 Req1=WF4, 3 RspB=WR, 2 RspA=RR4, 1:0 Req0=R4 | RspA.0
        RspA.1 | RspA.2
        RspA.3 | RspA.4
        RspA.5 | RspA.6
        RspA.7 | Req1.0
        Req1.1 | Req1.2
        Req1.3 | Req1.4
        Req1.5 | Req1.6
        Req1.7 | Req2.0
        Req2.1 | Req2.2
        Req2.3 | Req2.4
        Req2.5 | Req2.6
        7:6 Req4=WF4, 5:4 Req3=R4, 3 RspE=WR, 2 RspD=WR, 1 RspC=RR4, 0 FC | Req2.7
        RspC.0 | RspC.1
        RspC.2 | RspC.3
        RspC.4 | RspC.5
        RspC.6 | RspC.7
        Req4.0 | Req4.1
        Req4.2 | Req4.3
        Req4.4 | Req4.5
        Req4.6 | Req4.7
    """,
    "5-23": """
        7:6 Req2=R4, 5:4 Req1=R4, 3:0 Req0=R4+ | NOP
        1:0 Req3=R4 | NOP
    """,
    "5-24": """
        7:6 Req3=R4, 5:4 Req2=R4, 3:2 Req1=R4, 1:0 Req0=R4 | NOP | 4
        5:4 Req4=R4 | NOP | 1
        1:0 Req5=R4 | NOP | 1
        - | NOP | 1
        7:4 Req7=R4, 3:2 Req6=R4 | NOP | 2
        7:4 Req8=R4 | NOP | 1
    """,
    "5-25": """
        7:6 Req3=W1, 5:4 Req2=W1, 3:2 Req1=WF1, 1:0 Req0=WF1 | Req0.0 | 4
        Req0.1 | Req1.0 | 1
        Req1.1 | Req2.0 | 2
        Req2.1 | Req2.BE | 3
        Req3.0 | Req3.1 | 4
        - | Req3.BE | 4
    """,
}

AUTHENTICATED = ("5-11", "5-19", "5-21")
"""Tables that show a channel with authentication enabled."""


def rows(table):
    """(lower, upper, allowance or None) of each flit of ``table``."""
    for line in GRIDS[table].strip().splitlines():
        lower, upper, *allowance = (cell.strip() for cell in line.split("|"))
        yield lower, upper, int(allowance[0]) if allowance else None


def control_items(cell):
    """(lowest sector, sectors, name, kind) of each field of a control half-flit; kind is None for Flow Control."""
    for item in [] if cell == "-" else cell.split(", "):
        sectors, what = item.split(" ")
        high, _, low = sectors.partition(":")
        name, _, kind = what.partition("=")
        yield int(low or high), int(high) - int(low or high) + 1, name, kind or None


def is_control(cell):
    """True when ``cell`` of the lower half shows a Control half-flit."""
    return cell == "-" or " " in cell
