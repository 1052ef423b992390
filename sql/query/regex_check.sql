-- Whether the engine accepts a regular expression; it fails if not.
-- Parameters: $pattern VARCHAR.
-- One row: whether the pattern matches the empty text.
SELECT regexp_matches('', $pattern, 'i') AS matches_empty;
