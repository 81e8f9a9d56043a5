//! All tests of the engine.
