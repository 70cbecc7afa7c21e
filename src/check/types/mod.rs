//! Rules about types and their arguments.

pub mod bounds;
pub mod deep_type;
pub mod expanding_recursion;
pub mod recursive_type;
pub mod too_many_values;
pub mod undeclared_type;
pub mod unsatisfied_bound;
