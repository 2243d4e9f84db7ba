"""A scenario file becomes a simulated pod."""
