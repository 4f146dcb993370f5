//! Nothing: the test is what this package is for.
