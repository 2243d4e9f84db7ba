# Xilinx VCU118: configuration banks at 1.8 V, dual SPI flash of 8 bits.
set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS true [current_design]
set_property BITSTREAM.CONFIG.EXTMASTERCCLK_EN DIV-1 [current_design]
set_property BITSTREAM.CONFIG.SPI_32BIT_ADDR YES [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 8 [current_design]
set_property BITSTREAM.CONFIG.SPI_FALL_EDGE YES [current_design]
# The oscillator at the reference input of quad 231.
create_clock -name qsfp_reference -period 6.4 [get_ports qsfp_reference_0__p__io]
# No two clocks of this design have anything to do with each other; every crossing is a synchronizer.
set_clock_groups -asynchronous \
    -group [get_clocks -include_generated_clocks clk125_0__p] \
    -group [get_clocks -include_generated_clocks tx0_clock] \
    -group [get_clocks -include_generated_clocks rx0_clock] \
    -group [get_clocks -include_generated_clocks rx1_clock] \
    -group [get_clocks -include_generated_clocks rx2_clock] \
    -group [get_clocks -include_generated_clocks rx3_clock]
# A person looks at these.
set_false_path -to [get_ports -regexp {(led_\d|qsfp_(select|reset|low_power)_0|uart_0__tx)__io}]
set_false_path -from [get_ports -regexp {(rst_0|uart_0__rx)__io}]
