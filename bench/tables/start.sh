# A start with a filled store and a full journal: how long until the first answer, the peak, every event there. The journal
# fills because the writer's thread gets next to no time beside the worker, and stays full because the server is killed.
fresh_server 1
fill start "$events events"
stored=$rows
stop_server
start_server
for thread in "/proc/$pid/task/"*; do
    [ "$(cat "$thread/comm")" != writer ] || chrt --idle --pid 0 "${thread##*/}"
done
filling=$seconds
seconds=10
send_load start "$events events and a full journal" 64 0
seconds=$filling
[ "$(figure refused)" != 0 ] || fail "the journal did not fill up"
kill -9 "$pid" && wait "$pid" 2>/dev/null || true
start_server
settle "$stored"
# The load was sent to the server before.
drain_s=
record
start_s=
stop_server
