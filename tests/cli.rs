//! Output and exit codes of the commands.
