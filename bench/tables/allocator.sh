# The allocator as it ships, with its own default decay, and the C library's: as it is, and with the three settings that
# make it return pages. Each at a rate and at saturation.
allocator() {
    row allocator "$1 20000/s" 64 20000 1 "${@:2}"
    row allocator "$1 saturation" 256 0 1 "${@:2}"
}
allocator "jemalloc as shipped"
allocator "jemalloc default decay" MALLOC_CONF=dirty_decay_ms:10000,muzzy_decay_ms:0
if [ -n "$system_server" ]; then
    program=$system_server
    allocator glibc
    allocator "glibc with three settings" MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=65536
    program=
else
    echo "bench: allocator: a given --server has one allocator, the C library's is left out" >&2
fi
