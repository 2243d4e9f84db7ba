"""Requirements of the standard and the tests that show them."""
