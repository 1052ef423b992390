# One to a thousand connections, closed loop.
for connections in 1 8 64 256 1000; do row connections "$connections" "$connections" 0 1; done
