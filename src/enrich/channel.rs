//! The acquisition channel of a page view, from its referrer and landing query.
