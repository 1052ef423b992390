//! What agents were found to be, remembered: a table of fixed size per worker, indexed by a hash, where a new agent
//! pushes out the one that had its place. Only the hash is kept, never the agent. A million different agents cost
//! time, not memory.

use std::hash::{BuildHasher, RandomState};

use super::{Client, classify};
use crate::limits;

/// One worker's cache.
pub struct AgentCache {
    hasher: RandomState,
    slots: Box<[Option<(u64, Client)>]>,
}

impl Default for AgentCache {
    fn default() -> Self {
        Self { hasher: RandomState::new(), slots: vec![None; limits::AGENT_SLOTS].into() }
    }
}

impl AgentCache {
    /// What an agent is; what lies beyond the limit of length is not looked at.
    pub fn get(&mut self, agent: &str) -> Client {
        let agent = &agent[..agent.floor_char_boundary(limits::AGENT_BYTES_MAX)];
        let hash = self.hasher.hash_one(agent);
        let slot = &mut self.slots[hash as usize % limits::AGENT_SLOTS];
        match slot {
            Some((kept, client)) if *kept == hash => *client,
            _ => {
                let client = classify(agent);
                *slot = Some((hash, client));
                client
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_without_mixing_up() {
        let mut cache = AgentCache::default();
        for round in 0..3 {
            for n in 0..5_000 {
                let agent =
                    format!("Mozilla/5.0 (X11; Linux x86_64; rv:{n}.0) Gecko Firefox/{n}.0");
                assert_eq!(cache.get(&agent), classify(&agent), "round {round}");
            }
        }
        assert_eq!(cache.get(&"é".repeat(5_000)).browser, None);
    }
}
