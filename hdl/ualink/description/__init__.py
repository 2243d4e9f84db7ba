"""Files that describe a pod or a device: TOML text to checked values, and the configuration of hardware among them."""
