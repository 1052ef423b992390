//! The tests' allocator: the system's, counting what threads allocate. Growing a block counts as well; giving back
//! does not. What must stay true: counting allocates nothing itself.

#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    // Constant and without a destructor: reading it never allocates.
    static COUNTED: Cell<bool> = const { Cell::new(false) };
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Allocations of all threads that called [`count_this_thread`].
static OF_COUNTED_THREADS: AtomicU64 = AtomicU64::new(0);

fn count() {
    ALLOCATIONS.with(|count| count.set(count.get() + 1));
    if COUNTED.with(Cell::get) {
        OF_COUNTED_THREADS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts this thread's allocations for [`of_counted_threads`] from now on.
pub fn count_this_thread() {
    COUNTED.with(|counted| counted.set(true));
}

/// Allocations so far of the threads that are counted.
pub fn of_counted_threads() -> u64 {
    OF_COUNTED_THREADS.load(Ordering::Relaxed)
}

/// Allocations so far of this thread.
pub fn of_this_thread() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract; counting touches
// only plain cells and an atomic.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) }
    }
}
