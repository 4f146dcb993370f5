//! What the parts of the comparison share.
//!
//! | module | what it owns |
//! |---|---|
//! | [`peer`] | what a process says of the allocator it runs on |
//! | [`variants`] | the table of peers: packages and settings |
//! | [`proc`], [`usage`] | counters of this process and others, read without allocating |
//! | [`mapped`] | tables of a workload that the allocator under test never sees |
//! | [`child`], [`cargo`] | running a peer in a fresh process; building it |
//! | [`rounds`], [`samples`] | who goes when; what many rounds come to |
//! | [`table`], [`machine`], [`record`] | what is written down |

pub mod cargo;
pub mod child;
pub mod machine;
pub mod mapped;
pub mod peer;
pub mod proc;
pub mod record;
pub mod rounds;
pub mod samples;
pub mod table;
pub mod usage;
pub mod variants;
