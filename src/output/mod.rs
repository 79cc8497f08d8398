//! Layer 5: what leaves the program other than the screen.
//!
//! [`figures`] picks numbers of one moment that add up, [`problems`] collects what is missing and why, and the two documents,
//! [`json`] and [`table`], are functions of a snapshot and a time. [`tips`] prints the catalogue of advice, [`explain`]
//! what a log says about its failure.

mod anatomy;
pub mod explain;
pub mod figures;
#[cfg(test)]
mod fixture;
pub mod json;
pub mod problems;
mod prose;
pub mod report;
pub mod table;
pub mod tips;
