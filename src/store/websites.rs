//! The rows of the website table.
