//! The limiter over a URL.
