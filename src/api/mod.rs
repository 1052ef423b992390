//! The management and query API: the route table.
