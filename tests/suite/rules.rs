//! Errors and rules: every fixture fires exactly the rule of its folder.
