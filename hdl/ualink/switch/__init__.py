"""The switch (UALink_200 chapter 10)."""
