//! The directory of known websites, links and pixels: who may receive events and under which small key they are stored,
//! and which share shows which of them. Read on every event without a lock; replaced whole when one of them changes.
//! The tables `main.website`, `main.link` and `main.share` are the truth.

use std::collections::HashMap;
use std::sync::Arc;

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
    pub owner: Owner,
}

/// Whom something belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    #[default]
    Nobody,
    User(Uuid),
    Team(Uuid),
}

impl Owner {
    /// From the two columns of a table, of which one is filled at most.
    #[must_use]
    pub fn of(user: Option<Uuid>, team: Option<Uuid>) -> Self {
        match (team, user) {
            (Some(team), _) => Self::Team(team),
            (None, Some(user)) => Self::User(user),
            (None, None) => Self::Nobody,
        }
    }

    /// The user, if it is one.
    #[must_use]
    pub fn user(self) -> Option<Uuid> {
        if let Self::User(id) = self { Some(id) } else { None }
    }

    /// The team, if it is one.
    #[must_use]
    pub fn team(self) -> Option<Uuid> {
        if let Self::Team(id) = self { Some(id) } else { None }
    }
}

/// What has a short address: a link leads somewhere, a pixel is a picture of nothing. Both count who asks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    Link,
    Pixel,
}

impl LinkKind {
    /// Its name in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Pixel => "pixel",
        }
    }

    /// The kind of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Link, Self::Pixel].into_iter().find(|kind| kind.name() == name)
    }
}

/// A link or pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub kind: LinkKind,
    /// What stands in a website's place in its events, and in questions about them.
    pub subject: Website,
    /// The last part of its short address; no other of its kind has it.
    pub slug: String,
    /// Where a link leads; empty for a pixel.
    pub url: String,
}

/// All websites by id, all links and pixels by id and by slug.
#[derive(Default)]
pub struct Directory {
    websites: ArcSwap<HashMap<Uuid, Website>>,
    links: ArcSwap<Links>,
    /// What each share shows.
    shares: ArcSwap<HashMap<Uuid, Uuid>>,
}

#[derive(Default)]
struct Links {
    by_id: HashMap<Uuid, Arc<Link>>,
    /// By [`LinkKind`].
    by_slug: [HashMap<String, Arc<Link>>; 2],
}

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
        self.websites.load().get(&id).copied()
    }

    /// What questions can be asked about: the website of an id, or what stands in the place of one.
    #[must_use]
    pub fn subject(&self, id: Uuid) -> Option<Website> {
        self.get(id).or_else(|| self.links.load().by_id.get(&id).map(|link| link.subject))
    }

    /// The link or pixel of an id.
    #[must_use]
    pub fn link(&self, kind: LinkKind, id: Uuid) -> Option<Arc<Link>> {
        self.links.load().by_id.get(&id).filter(|link| link.kind == kind).cloned()
    }

    /// The link or pixel of a slug.
    #[must_use]
    pub fn link_of_slug(&self, kind: LinkKind, slug: &str) -> Option<Arc<Link>> {
        self.links.load().by_slug[kind as usize].get(slug).cloned()
    }

    /// The website, link or pixel that a share shows.
    #[must_use]
    pub fn shared(&self, share_id: Uuid) -> Option<Uuid> {
        self.shares.load().get(&share_id).copied()
    }

    /// Number of shares.
    #[must_use]
    pub fn shares_len(&self) -> usize {
        self.shares.load().len()
    }

    /// Puts the shares, and what each of them shows, in place of the old ones.
    pub fn replace_shares(&self, shares: HashMap<Uuid, Uuid>) {
        self.shares.store(Arc::new(shares));
    }

    /// Puts a new list in place of the old one, at once for all readers.
    pub fn replace(&self, websites: Vec<Website>) {
        let map = websites.into_iter().map(|website| (website.id, website)).collect();
        self.websites.store(Arc::new(map));
    }

    /// The same for links and pixels.
    pub fn replace_links(&self, all: Vec<Link>) {
        let mut links = Links::default();
        for link in all.into_iter().map(Arc::new) {
            links.by_slug[link.kind as usize].insert(link.slug.clone(), Arc::clone(&link));
            links.by_id.insert(link.subject.id, link);
        }
        self.links.store(Arc::new(links));
    }

    /// Adds a website or replaces the one of the same id. Changes come one at a time (`store::websites` makes them
    /// while it holds the configuration connection), so no other change can be lost.
    pub fn put(&self, website: Website) {
        let mut map = HashMap::clone(&self.websites.load());
        map.insert(website.id, website);
        self.websites.store(Arc::new(map));
    }

    /// Takes a website out; events for it are refused from now on.
    pub fn remove(&self, id: Uuid) {
        let mut map = HashMap::clone(&self.websites.load());
        map.remove(&id);
        self.websites.store(Arc::new(map));
    }

    /// Number of websites.
    #[must_use]
    pub fn len(&self) -> usize {
        self.websites.load().len()
    }

    /// Number of links and pixels.
    #[must_use]
    pub fn links_len(&self) -> usize {
        self.links.load().by_id.len()
    }

    /// Whether there is no website.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
