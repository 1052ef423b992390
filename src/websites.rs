//! The directory of known websites: who may receive events and under which small key they are stored.
//! Read on every event without a lock; replaced whole when websites change. The table `main.website` is the truth.

use std::collections::HashMap;

use arc_swap::ArcSwap;
use uuid::Uuid;

/// What intake and questions need to know of a website.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Website {
    /// The number in the event tables; given once, never reused.
    pub key: u32,
    pub id: Uuid,
    /// Events before this time (ms since 1970 UTC) are not shown.
    pub reset_at: Option<i64>,
    /// The user it belongs to.
    pub owner: Option<Uuid>,
}

/// All websites by id.
#[derive(Default)]
pub struct Directory(ArcSwap<HashMap<Uuid, Website>>);

impl Directory {
    #[must_use]
    pub fn new(websites: Vec<Website>) -> Self {
        let directory = Self::default();
        directory.replace(websites);
        directory
    }

    /// The website of an id; ids compare case-insensitively because they are parsed.
    #[must_use]
    pub fn get(&self, id: Uuid) -> Option<Website> {
        self.0.load().get(&id).copied()
    }

    /// Puts a new list in place of the old one, at once for all readers.
    pub fn replace(&self, websites: Vec<Website>) {
        let map = websites.into_iter().map(|website| (website.id, website)).collect();
        self.0.store(std::sync::Arc::new(map));
    }

    /// Adds a website or replaces the one of the same id. Changes come one at a time (`store::websites` makes them
    /// while it holds the configuration connection), so no other change can be lost.
    pub fn put(&self, website: Website) {
        let mut map = HashMap::clone(&self.0.load());
        map.insert(website.id, website);
        self.0.store(std::sync::Arc::new(map));
    }

    /// Takes a website out; events for it are refused from now on.
    pub fn remove(&self, id: Uuid) {
        let mut map = HashMap::clone(&self.0.load());
        map.remove(&id);
        self.0.store(std::sync::Arc::new(map));
    }

    /// Number of websites.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.load().len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
