"""TL flits with their parity, as every bench drives them into a stream of TL flits."""

__all__ = ["byte_parity", "tl_flit", "tl_flit_good"]

_ODD = [byte.bit_count() & 1 for byte in range(256)]


def byte_parity(data: int, count: int = 64) -> int:
    """Even parity of each of ``count`` bytes: bit n belongs to bits 8n+7..8n of ``data``."""
    return sum(_ODD[byte] << n for n, byte in enumerate(data.to_bytes(count, "little")))


def tl_flit(data: int, message: int = 0, error: int = 0) -> dict:
    """The payload of ``tl_flit_signature`` for 64 bytes of data and two message bits."""
    return {
        "data": data,
        "message": message,
        "error": error,
        "parity": byte_parity(data),
        "control_parity": (message.bit_count() + error) & 1,
    }


def tl_flit_good(flit) -> bool:
    """Whether a sampled TL flit has right parity over its data and over its control bits."""
    control = flit.message.bit_count() + flit.error + flit.control_parity
    return flit.parity == byte_parity(flit.data) and control % 2 == 0
