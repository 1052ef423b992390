//! Adds up what every part may use and derives the rate from it.
