//! The pages in `docs/` say what the program does.
