//! The one integration binary: routes through the real application, real processes, recorded answers.

mod api;
mod app;
mod auth;
mod ring_model;
mod websites;
