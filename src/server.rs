//! build_app: the HTTP application, used by serve and by tests alike.
