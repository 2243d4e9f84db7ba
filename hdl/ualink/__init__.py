"""An open UALink_200 Rev 1.0 controller and switch in Amaranth HDL."""
