"""Names of UPLI signals as the standard spells them (UALink_200 §2.6, Tables 2-2, 2-8, 2-11, 2-14, §4.3)."""

__all__ = ["standard_name"]

_CHANNELS = {"req": "Req", "orig_data": "OrigData", "rd_rsp": "RdRsp", "wr_rsp": "WrRsp"}
_ABBREVIATIONS = {"id": "ID", "vc": "VC", "asi": "ASI"}


def standard_name(path: str) -> str:
    """``"req.src_phys_acc_id"`` is ``ReqSrcPhysAccID``, ``"rd_rsp.credit.port_num.2"`` is ``RdRspCreditPort2Num``."""
    channel, *parts = path.split(".")
    if not parts:
        return _camel(channel)
    if parts[0] == "credit":
        port = f"Port{parts[2]}{_camel(parts[1].removeprefix('port_'))}" if len(parts) == 3 else _camel(parts[1])
        return f"{_CHANNELS[channel]}Credit{port}"
    name = parts[0]
    if channel == "orig_data" and name.startswith("data"):
        # The data of this channel have its own name: OrigData, OrigDataParity.
        name = name.removeprefix("data").removeprefix("_")
    return _CHANNELS[channel] + _camel(name)


def _camel(name: str) -> str:
    return "".join(_ABBREVIATIONS.get(word, word.capitalize()) for word in name.split("_"))
