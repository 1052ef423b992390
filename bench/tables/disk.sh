# Bytes of the file for each event, after the server has folded its log into it.
fresh_server 1
fill disk "$events events"
stop_server
bytes_per_event=$(awk -v r="$rows" -v b="$(stat -c %s "$work/data/sumimi.duckdb")" 'BEGIN { printf "%.1f", b / r }')
record
bytes_per_event=
