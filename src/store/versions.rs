//! Which state of a website's events an answer was given from: a number that is never the same again after something
//! was stored or deleted. Read before a question begins, raised after the change is committed and before anybody is
//! told of it, so that an answer is never older than what its reader knows to be stored.
//!
//! Websites share numbers when there are more of them than places here: then an answer is merely computed once more.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::limits;

const PLACES: usize = limits::VERSION_PLACES;

/// The numbers of all websites.
pub struct Versions(Box<[AtomicU32]>);

impl Default for Versions {
    fn default() -> Self {
        Self((0..PLACES).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Versions {
    /// The number of a website's events as they are now.
    #[must_use]
    pub fn of(&self, website_key: u32) -> u32 {
        self.0[place(website_key)].load(Ordering::Acquire)
    }

    /// Says that a website's events have changed.
    pub fn raise(&self, website_key: u32) {
        self.0[place(website_key)].fetch_add(1, Ordering::Release);
    }

    /// Says that the events of all these websites have changed, and forgets which they were.
    pub fn raise_all(&self, touched: &mut Touched) {
        for (word, bits) in touched.0.iter_mut().enumerate() {
            while *bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                self.0[place].fetch_add(1, Ordering::Release);
                *bits &= *bits - 1;
            }
        }
    }
}

/// Websites whose events a transaction changes; noting one costs a bit.
pub struct Touched(Box<[u64]>);

impl Default for Touched {
    fn default() -> Self {
        Self(vec![0; PLACES / 64].into_boxed_slice())
    }
}

impl Touched {
    /// Notes a website.
    pub fn note(&mut self, website_key: u32) {
        let place = place(website_key);
        self.0[place / 64] |= 1 << (place % 64);
    }
}

fn place(website_key: u32) -> usize {
    website_key as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_noted_is_raised_and_once() {
        let (versions, mut touched) = (Versions::default(), Touched::default());
        for key in [1, 64, 64, 65, PLACES as u32 - 1] {
            touched.note(key);
        }
        versions.raise_all(&mut touched);
        versions.raise_all(&mut touched);
        versions.raise(65);
        let raised: Vec<(u32, u32)> = (0..PLACES as u32)
            .map(|key| (key, versions.of(key)))
            .filter(|(_, version)| *version > 0)
            .collect();
        assert_eq!(raised, [(1, 1), (64, 1), (65, 2), (PLACES as u32 - 1, 1)]);
        assert_eq!(versions.of(PLACES as u32 + 64), 1, "places are shared");
    }
}
