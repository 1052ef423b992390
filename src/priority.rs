//! Who goes first when there are fewer processors than busy threads: answering an event is a matter of microseconds and
//! somebody waits for it, a batch or a question takes long. The threads of the engine's work step back, so that a batch
//! being committed on a machine of one core does not hold up what arrives meanwhile.
//!
//! What must stay true: stepping back is a matter of shares and not of starving. When events use up a core the writer
//! still gets what it needs to keep up with them, about a fifth of it.

use rustix::process::{getpriority_process, setpriority_process};

/// Of -20 (first) to 19 (last). At 4 a thread has 29 % of a core that one ordinary thread wants for itself as well.
const BACKGROUND_NICE: i32 = 4;

/// Makes the calling thread step back behind those that answer events.
pub fn step_back() {
    // `None` is the calling thread, not the process: Linux counts priorities by thread.
    if getpriority_process(None).is_ok_and(|nice| nice < BACKGROUND_NICE) {
        let _ = setpriority_process(None, BACKGROUND_NICE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_that_steps_back_does() {
        let nice = || getpriority_process(None).expect("a priority");
        let before = nice();
        let after = std::thread::spawn(move || {
            step_back();
            step_back();
            nice()
        });
        assert_eq!(after.join().expect("ends"), before.max(BACKGROUND_NICE));
        assert_eq!(nice(), before, "other threads stay as they are");
    }
}
