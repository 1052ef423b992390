//! Creates, locks, maps and syncs a ring file: the only unsafe code.
