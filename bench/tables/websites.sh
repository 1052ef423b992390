# The same load over more websites.
for count in 1 100 10000; do row websites "$count" 64 10000 "$count"; done
