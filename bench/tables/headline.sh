# Events answered and committed on one core, beside the yardstick at as many connections.
"${pin_server[@]}" "$tools/release/bare" "127.0.0.1:$port" &
pid=$!
wait_until_it_answers "$base/"
echo 11111111-1111-4111-8111-111111111111 >"$work/ids"
send_load headline bare 64 0
echo "$line,,,,,,,,,," | tee -a "$out/raw.csv"
kill "$pid" && wait "$pid" 2>/dev/null || true
pid=
row headline sumimi 64 0 1
