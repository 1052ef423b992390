//! Every setting, its variable and its default.
