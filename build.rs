//! Links the static binary. jemalloc takes the place of the C library's allocator for the engine as well; in a static
//! build the library's own copy is pulled in beside it (glibc keeps other symbols in the same object), and the linker
//! must be told that the first definition, jemalloc's, is meant.

#[allow(clippy::disallowed_methods, reason = "cargo speaks to this program through variables")]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    let is_static = set("CARGO_CFG_TARGET_FEATURE").split(',').any(|name| name == "crt-static");
    if is_static && set("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo:rustc-link-arg=-Wl,--allow-multiple-definition");
    }
}
