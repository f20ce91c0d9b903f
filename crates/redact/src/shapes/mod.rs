//! The forms of secrets, as their providers describe them in public.

mod models;
mod platforms;
mod services;
mod spoken;

use crate::shape::Shape;

/// Every form there is.
pub(crate) fn all() -> impl Iterator<Item = &'static Shape> {
    models::SHAPES.iter().chain(&platforms::SHAPES).chain(&services::SHAPES).chain(&spoken::SHAPES)
}
