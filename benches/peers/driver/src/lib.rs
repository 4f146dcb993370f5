//! Runs every peer in fresh processes, interleaved, and writes the tables.
