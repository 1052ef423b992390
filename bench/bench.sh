#!/usr/bin/env bash
# The one script behind every number about the write side. Builds what ships, runs each row on a fresh server with its
# own data, and leaves benchmarks/<date>-<machine>/ (README.md, raw.csv, result.json). Fails when an answered event was
# lost or doubled, or a peak is beyond the budget.
#
#   bench/bench.sh [--fast] [--quick] [--only TABLE,…] [--seconds N] [--runs N] [--events N] [--server FILE] [--out DIR]
#
# --fast links DuckDB's prebuilt library; --server takes a program that is built; --quick is for CI: two short tables.
# A table is a file in bench/tables; --events is for those that fill the store. Server on CPU 0, load on CPU 1.
set -euo pipefail
cd "$(dirname "$0")/.."
command="bench/bench.sh $*"

fast=0 quick=0 seconds= runs=2 only= out= events=5000000 server=
while [ $# -gt 0 ]; do
    case "$1" in
        --fast) fast=1 ;;
        --quick) quick=1 seconds="${seconds:-3}" runs=1 only="${only:-headline,rate}" ;;
        --only) only=$2 && shift ;;
        --seconds) seconds=$2 && shift ;;
        --runs) runs=$2 && shift ;;
        --events) events=$2 && shift ;;
        --server) server=$(realpath "$2") && shift ;;
        --out) out=$2 && shift ;;
        *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    esac
    shift
done
only="${only:-headline,rate,connections,websites,durability,allocator,link,refusal,hostile,disk,start,cgroup}"
# What --seconds said, for tables with a duration of their own.
seconds_asked=$seconds
seconds="${seconds:-10}"
wanted() { [[ ",$only," == *",$1,"* ]]; }
for table in ${only//,/ }; do
    [ -e "bench/tables/$table.sh" ] || { echo "bench: no table is called $table" >&2 && exit 2; }
done

# --- what is measured -------------------------------------------------------------------------------------------------
tools="${BENCH_TARGET_DIR:-$HOME/.cache/sumimi-load-target}"
# build FEATURE…: the server with features beside the usual ones, in $built.
build() {
    if [ "$fast" = 1 ]; then
        local library target="${TARGET_DIR:-$HOME/.cache/sumimi-target}"
        library=$(.ci/duckdb-library)
        DUCKDB_LIB_DIR=$library RUSTFLAGS="-Clink-arg=-Wl,-rpath,$library" CARGO_TARGET_DIR=$target \
            cargo build --release --no-default-features --bin sumimi --features "$*"
        built="$target/release/sumimi"
    elif [ -n "$*" ]; then
        make --no-print-directory release "BUNDLED_FLAGS=--release --target \$(BUNDLED_TARGET) \
            --target-dir \$(BUNDLED_TARGET_DIR) --features $*"
        built="$PWD/dist/sumimi"
    else
        make --no-print-directory release
        built="$PWD/dist/sumimi"
    fi
}
work=$(mktemp -d)
pid= clean_up=:
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; $clean_up; rm -rf "$work"' EXIT
system_server=
if [ -n "$server" ]; then
    kind="$server"
else
    if wanted allocator; then
        build system-allocator
        system_server="$work/sumimi-system-allocator"
        cp "$built" "$system_server"
    fi
    build
    server=$built kind="what ships (DuckDB compiled in, static)"
    [ "$fast" = 0 ] || kind="DuckDB's prebuilt library"
fi
for tool in load bare; do
    (cd "bench/$tool" && CARGO_TARGET_DIR="$tools" cargo build --release)
done

pin_server=(taskset -c 0) pin_load=(taskset -c 1)
if [ "$(nproc)" -lt 2 ] || ! taskset -c 1 true 2>/dev/null; then
    echo "bench: cannot pin to CPUs; server and load share them, figures are of little worth" >&2
    pin_server=() pin_load=()
fi

machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
out="${out:-benchmarks/$(date +%F)-$(echo "$machine" | tr -cs 'A-Za-z0-9\n' '-' | tr 'A-Z' 'a-z' | sed 's/-*$//')}"
mkdir -p "$out"
load_before=$(cut -d' ' -f1-3 /proc/loadavg)
columns=table,variant,run,rate,connections,seconds,ok,refused,other,failed,ok_per_s,p50_ms,p99_ms,max_ms,load_cpu,server_cpu
columns+=,rows,drain_s,committed_per_s,peak_heartbeat_mb,peak_proc_mb,batches
columns+=,refused_p50_ms,refused_p99_ms,bytes_per_event,start_s
echo "$columns" >"$out/raw.csv"
failures=0
. bench/server.sh

# --- the tables -------------------------------------------------------------------------------------------------------
echo "$columns"
for run in $(seq "$runs"); do
    for table in ${only//,/ }; do
        . "bench/tables/$table.sh"
    done
done

# --- what is left -----------------------------------------------------------------------------------------------------
awk -F, -f bench/tables.awk "$out/raw.csv" >"$work/tables"
{
    echo "# Measured on $(date +%F)"
    echo
    echo "- Command: \`${command% }\`"
    echo "- Commit: $(git rev-parse HEAD)$(git diff --quiet HEAD || echo ', with changes')"
    echo "- Program: $kind"
    echo "- Machine: $machine, $(nproc) CPUs, Linux $(uname -r); server pinned to CPU 0, load to CPU 1: ${pin_load[*]:-no}"
    echo "- Load average before: $load_before; after: $(cut -d' ' -f1-3 /proc/loadavg)"
    echo "- Lost, doubled, or beyond the budget: $failures"
    echo
    cat "$work/tables"
} >"$out/README.md"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; printf "["; next }
    { printf "%s\n{", (NR > 2 ? "," : "")
      for (i = 1; i <= NF; i++)
          printf "%s\"%s\":%s", (i > 1 ? "," : ""), name[i], (i > 2 ? ($i == "" ? "null" : $i + 0) : "\"" $i "\"")
      printf "}" } END { print "\n]" }' "$out/raw.csv" >"$out/result.json"
cat "$work/tables"
echo "bench: $out"
[ "$failures" = 0 ] || { echo "bench: $failures rows failed" >&2 && exit 1; }
