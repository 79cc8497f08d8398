//! Layer 1: simulated nodes as scenario files, shared by the demo, the fake driver, the tests and the README's pictures.
