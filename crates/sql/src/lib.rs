//! Lexing and classifying statements, and splicing their text.
