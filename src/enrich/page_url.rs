//! Path, query, referrer, UTM and click ids out of the addresses a tracker sends.
