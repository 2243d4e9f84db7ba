"""Parameters of the DCUA primitive of an ECP5 for raw words, the protocol 10BSER.

The values are those that public designs carry. They were not compared with Lattice's usage guide of the SERDES
(FPGA-TN-02206), and have not run on hardware here. Of those called undocumented nothing is known but the value.
"""

from .ecp5_rate import Ecp5Rate

__all__ = ["channel_parameters", "unit_parameters"]

_UNDOCUMENTED_UNIT = {
    "D_CMUSETBIASI": "0b00",
    "D_CMUSETI4CPP": "0d3",
    "D_CMUSETI4CPZ": "0d3",
    "D_CMUSETI4VCO": "0b00",
    "D_CMUSETICP4P": "0b01",
    "D_CMUSETICP4Z": "0b101",
    "D_CMUSETINITVCT": "0b00",
    "D_CMUSETISCL4VCO": "0b000",
    "D_CMUSETP1GM": "0b000",
    "D_CMUSETP2AGM": "0b000",
    "D_CMUSETZGM": "0b000",
    "D_PD_ISET": "0b11",
    "D_REQ_ISET": "0b011",
    "D_RG_EN": "0b0",
    "D_RG_SET": "0b00",
    "D_SETICONST_AUX": "0b01",
    "D_SETICONST_CH": "0b10",
    "D_SETIRPOLY_AUX": "0b01",
    "D_SETIRPOLY_CH": "0b01",
    "D_SETPLLRC": "0d1",
}

_UNDOCUMENTED_CHANNEL = {
    "AUTO_CALIB_EN": "0b1",
    "AUTO_FACQ_EN": "0b1",
    "DCOATDCFG": "0b00",
    "DCOATDDLY": "0b00",
    "DCOBYPSATD": "0b1",
    "DCOCALDIV": "0b000",
    "DCOCTLGI": "0b011",
    "DCODISBDAVOID": "0b0",
    "DCOFLTDAC": "0b00",
    "DCOFTNRG": "0b001",
    "DCOIOSTUNE": "0b010",
    "DCOITUNE": "0b00",
    "DCOITUNE4LSB": "0b010",
    "DCOIUPDNX2": "0b1",
    "DCONUOFLSB": "0b100",
    "DCOSCALEI": "0b01",
    "DCOSTARTVAL": "0b010",
    "DCOSTEP": "0b11",
}

_FIFTY_OHM = "0d19"


def unit_parameters(rate: Ecp5Rate) -> dict[str, str]:
    """What both channels share: power, transmit PLL."""
    return {
        "D_MACROPDB": "0b1",
        "D_IB_PWDNB": "0b1",
        "D_TXPLL_PWDNB": "0b1",
        "D_REFCK_MODE": rate.multiplier_code,
        "D_TX_MAX_RATE": rate.rate_class,
        "D_TX_VCO_CK_DIV": rate.divider_code,
        "D_BITCLK_LOCAL_EN": "0b1",
        "D_LOW_MARK": "0d4",
        "D_HIGH_MARK": "0d12",
        **_UNDOCUMENTED_UNIT,
    }


def channel_parameters(rate: Ecp5Rate, *, twenty_bits: bool) -> dict[str, str]:
    """Of one channel, without the ``CHx_`` before each name; ``twenty_bits``: the 1:2 gearing is on."""
    geared = "0b1" if twenty_bits else "0b0"
    return {
        # Raw words: no 8b10b code, no word alignment, no clock tolerance compensation.
        "PROTOCOL": "10BSER",
        "UC_MODE": "0b1",
        "ENC_BYPASS": "0b1",
        "DEC_BYPASS": "0b1",
        "WA_BYPASS": "0b1",
        "LSM_DISABLE": "0b1",
        "ENABLE_CG_ALIGN": "0b0",
        "CTC_BYPASS": "0b1",
        # Gearing: the full-rate word clock (10 bit) or its half (20 bit).
        "TX_GEAR_MODE": geared,
        "FF_TX_H_CLK_EN": geared,
        "FF_TX_F_CLK_DIS": geared,
        "RX_GEAR_MODE": geared,
        "FF_RX_H_CLK_EN": geared,
        "FF_RX_F_CLK_DIS": geared,
        # Receiver: 50 ohm, no equalization, recovered clock, phase detector off without signal.
        "RPWDNB": "0b1",
        "REQ_EN": "0b0",
        "RX_RATE_SEL": "0d10",
        "RTERM_RX": _FIFTY_OHM,
        "RXIN_CM": "0b11",
        "RXTERM_CM": "0b11",
        "CDR_MAX_RATE": rate.rate_class,
        "RX_DCO_CK_DIV": rate.divider_code,
        "SEL_SD_RX_CLK": "0b1",
        "PDEN_SEL": "0b1",
        # Loss of signal.
        "RLOS_SEL": "0b1",
        "RX_LOS_EN": "0b1",
        "RX_LOS_LVL": "0b100",
        "RX_LOS_CEQ": "0b11",
        # Transmitter: 1000 mV, 50 ohm, no emphasis.
        "TPWDNB": "0b1",
        "TXAMPLITUDE": "0d1000",
        "RTERM_TX": _FIFTY_OHM,
        "TDRV_SLICE0_CUR": "0b011",
        "TDRV_SLICE0_SEL": "0b01",
        "TDRV_SLICE1_CUR": "0b000",
        "TDRV_SLICE1_SEL": "0b00",
        "TDRV_SLICE2_CUR": "0b11",
        "TDRV_SLICE2_SEL": "0b01",
        "TDRV_SLICE3_CUR": "0b10",
        "TDRV_SLICE3_SEL": "0b01",
        "TDRV_SLICE4_CUR": "0b00",
        "TDRV_SLICE4_SEL": "0b00",
        "TDRV_SLICE5_CUR": "0b00",
        "TDRV_SLICE5_SEL": "0b00",
        **_UNDOCUMENTED_CHANNEL,
    }
