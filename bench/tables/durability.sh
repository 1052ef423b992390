# Answers after the journal is written, or after the disk has it.
row durability process 256 0 1 SUMIMI_DURABILITY=process
row durability power 256 0 1 SUMIMI_DURABILITY=power
