//! All integration tests, in one binary: one module per kind of test, with data in the folders next to `suite/`.

mod support;

mod beginners;
mod bench;
mod build_script;
mod c;
mod cases;
mod ci;
mod circles;
mod cli;
mod config;
mod contract;
mod declared;
mod fingerprint;
mod fix;
mod format;
mod fuzz;
mod generation;
mod layers;
mod networking;
mod oldest;
mod outputs;
mod packages;
mod pages;
mod programs;
mod readme;
mod recipes;
mod relations;
mod remote;
mod reports;
mod rules;
mod rust;
mod scala;
mod tidy;
mod wire;
mod wording;
