//! Layer 6: one file per subcommand; the only place where parts are put together.
