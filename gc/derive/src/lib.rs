//! The derive macro of `Collect`.
