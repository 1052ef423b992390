//! What to believe on opening a ring.
