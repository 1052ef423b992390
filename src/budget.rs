//! How much memory there is, how much of it Sumimi may use, and what for. The budget is half of the memory seen
//! (the smaller of the machine's and the control group's); every part that is allocated is a line here and the sum
//! must fit. The admission rate follows from the budget: 20,000 requests a second for 256 MB, in proportion.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::limits;

const MIB: u64 = 1 << 20;
/// Requests a second for each [`RATE_TIER_BYTES`] of budget.
const RATE_PER_TIER: u64 = 20_000;
const RATE_TIER_BYTES: u64 = 256 * MIB;
/// Workers beyond this do not make a server on one DuckDB file faster.
const WORKERS_MAX: usize = 8;

/// What the process may use and what it is divided into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Memory that the machine and its control group leave to this process.
    pub memory_seen_bytes: u64,
    pub budget_bytes: u64,
    /// HTTP workers, and so rings.
    pub workers: usize,
    pub ring_bytes_each: u64,
    /// Admitted requests per second.
    pub rate: u64,
    /// Name and bytes of every part.
    pub parts: Vec<(&'static str, u64)>,
}

impl Budget {
    /// From the settings and what the machine has.
    #[must_use]
    pub fn new(config: &Config, memory_seen_bytes: u64, cpus: usize) -> Self {
        let memory_seen_bytes = config.memory.map_or(memory_seen_bytes, |bytes| bytes.0);
        let budget_bytes = memory_seen_bytes / 2;
        let workers = config.workers.map_or(cpus, |count| count as usize).clamp(1, WORKERS_MAX);
        // An eighth for the rings, but no more than is useful: a full ring is minutes of writer trouble.
        let rings = (budget_bytes / 8).clamp(4 * MIB, 256 * MIB);
        let ring_bytes_each = (rings / workers as u64).max(2 * MIB) & !4095;
        let rate = budget_bytes * RATE_PER_TIER / RATE_TIER_BYTES;
        let parts = vec![
            ("engine limit", limits::ENGINE_MEMORY_MB as u64 * MIB),
            ("engine beyond its limit", limits::ENGINE_OVERHEAD_MB as u64 * MIB),
            ("rings", ring_bytes_each * workers as u64),
            ("request bodies", limits::BODIES_IN_FLIGHT_BYTES_MAX as u64),
            ("workers", workers as u64 * limits::WORKER_BYTES as u64),
            ("visits", limits::VISIT_SLOTS as u64 * 8),
            ("passwords", limits::PASSWORD_BYTES as u64),
            ("answers", limits::ANSWERS_BYTES_MAX as u64),
            ("exports", (limits::EXPORTS_MAX * limits::EXPORT_BYTES) as u64),
            ("recordings", (limits::RECORDINGS_MAX * limits::RECORDING_BYTES) as u64),
            ("program and tables", limits::PROGRAM_BYTES as u64),
        ];
        let rate = config.rate.unwrap_or(rate.max(1_000));
        Self { memory_seen_bytes, budget_bytes, workers, ring_bytes_each, rate, parts }
    }

    /// Bytes of all parts together.
    #[must_use]
    pub fn sum_bytes(&self) -> u64 {
        self.parts.iter().map(|(_, bytes)| bytes).sum()
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mb = |bytes: u64| format!("{} MB", bytes / MIB);
        writeln!(f, "memory seen      {}", mb(self.memory_seen_bytes))?;
        writeln!(f, "budget           {}", mb(self.budget_bytes))?;
        writeln!(f, "rate             {}/s", self.rate)?;
        writeln!(f, "workers          {}", self.workers)?;
        for (name, bytes) in &self.parts {
            writeln!(f, "  {name:<24} {:>7}", mb(*bytes))?;
        }
        writeln!(f, "  {:<24} {:>7}", "sum", mb(self.sum_bytes()))?;
        if self.sum_bytes() > self.budget_bytes {
            writeln!(f, "  the sum is larger than the budget: give the machine more memory")?;
        }
        Ok(())
    }
}

/// Processors this process may use: its affinity and its control group's quota.
#[must_use]
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Memory the process may use, in bytes: the smaller of the machine's and of every control group above it, in
/// version 1 or 2. `root` is `/`, or a fixture tree in tests.
#[must_use]
pub fn memory_seen_bytes(root: &Path) -> u64 {
    let machine = fs::read_to_string(root.join("proc/meminfo")).ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib * 1024)
    });
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|line| group_limits(root, line));
    limits.chain(machine).min().unwrap_or(512 * MIB)
}

/// The limits that one line of `/proc/self/cgroup` (`id:controllers:path`) leads to, from the group up to the root.
fn group_limits(root: &Path, line: &str) -> Vec<u64> {
    let mut fields = line.splitn(3, ':');
    let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next())
    else {
        return Vec::new();
    };
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        names if names.split(',').any(|name| name == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let mount = root.join(mount);
    // Inside a container the path may name a group that only the host can see: then the mount is the group itself.
    let mut group = mount.join(path.trim_start_matches('/'));
    let mut limits = Vec::new();
    while group.starts_with(&mount) {
        limits.extend(read_limit(&group.join(file)));
        if !group.pop() {
            break;
        }
    }
    limits
}

/// A limit file's number; `max`, an absent file and version 1's "no limit" (near 2^63) are none.
fn read_limit(file: &PathBuf) -> Option<u64> {
    let limit: u64 = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    (limit < 1 << 60).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Cli;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("creates");
            fs::write(path, text).expect("writes");
        }
        dir
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:        2097152 kB\nMemFree: 1 kB\n");
    const V1_NONE: &str = "9223372036854771712\n";

    #[test]
    fn the_smallest_limit_on_the_way_up_counts() {
        let cases: [(&str, &[(&str, &str)], u64); 8] = [
            ("no groups", &[MEMINFO], 2 << 30),
            (
                "version 2, in a container",
                &[
                    MEMINFO,
                    ("proc/self/cgroup", "0::/\n"),
                    ("sys/fs/cgroup/memory.max", "536870912\n"),
                ],
                512 << 20,
            ),
            (
                "version 2, max",
                &[MEMINFO, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")],
                2 << 30,
            ),
            (
                "version 2, the parent is smaller",
                &[
                    MEMINFO,
                    ("proc/self/cgroup", "0::/a.slice/b.service\n"),
                    ("sys/fs/cgroup/a.slice/memory.max", "268435456\n"),
                    ("sys/fs/cgroup/a.slice/b.service/memory.max", "536870912\n"),
                ],
                256 << 20,
            ),
            (
                "version 2, the host's path seen inside",
                &[
                    MEMINFO,
                    ("proc/self/cgroup", "0::/docker/abc\n"),
                    ("sys/fs/cgroup/memory.max", "536870912\n"),
                ],
                512 << 20,
            ),
            (
                "version 1",
                &[
                    MEMINFO,
                    (
                        "proc/self/cgroup",
                        "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n1:name=systemd:/\n",
                    ),
                    ("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "536870912\n"),
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", V1_NONE),
                ],
                512 << 20,
            ),
            (
                "version 1, none",
                &[
                    MEMINFO,
                    ("proc/self/cgroup", "4:memory:/\n"),
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", V1_NONE),
                ],
                2 << 30,
            ),
            (
                "a limit above the machine",
                &[
                    MEMINFO,
                    ("proc/self/cgroup", "0::/\n"),
                    ("sys/fs/cgroup/memory.max", "99999999999\n"),
                ],
                2 << 30,
            ),
        ];
        for (name, files, want) in cases {
            assert_eq!(memory_seen_bytes(tree(files).path()), want, "{name}");
        }
    }

    fn budget(args: &[&str], memory_mib: u64) -> Budget {
        let args = ["sumimi"].iter().chain(args).map(std::ffi::OsString::from);
        let config = Cli::from_args(args, |_| None).expect("parses").config;
        Budget::new(&config, memory_mib * MIB, 2)
    }

    #[test]
    fn the_rate_follows_the_budget_and_the_parts_fit_in_it() {
        let small = budget(&[], 512);
        assert_eq!((small.budget_bytes, small.rate), (256 * MIB, 20_000));
        assert!(small.sum_bytes() <= small.budget_bytes, "{small}");
        assert_eq!(budget(&[], 1024).rate, 40_000);
        assert_eq!(budget(&["--memory", "1GB"], 512).rate, 40_000);
        assert_eq!(budget(&["--rate", "77"], 512).rate, 77);
    }
}
