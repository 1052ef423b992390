# Three times the rate that the server admits: how long a refused request waits for its answer, and that memory does not
# grow. First the rate that follows from the memory, then a small one, so that nearly all are refused.
row refusal "default rate" 256 60000 1 SUMIMI_RATE=
row refusal "rate 1000/s" 256 60000 1 SUMIMI_RATE=1000
