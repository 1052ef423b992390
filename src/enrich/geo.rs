//! Country, region and city of an address, from a proxy's headers or a mapped MaxMind file.
