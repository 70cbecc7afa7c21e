//! All integration tests, in one binary: one module per kind of test, with data in the folders next to `suite/`.

mod support;

mod ahead;
mod attack;
mod beginners;
mod bench;
mod build_script;
mod c;
mod cases;
mod ci;
mod circles;
mod cli;
mod commands;
mod contract;
mod declared;
mod doc;
mod editors;
mod excerpts;
mod figures;
mod fingerprint;
mod fix;
mod format;
mod fuzz;
mod generation;
mod guarantee;
mod health;
#[cfg(target_os = "linux")]
mod installs;
mod layers;
mod library;
mod limits;
mod lsp;
mod model;
mod nats;
mod networking;
mod oldest;
mod outputs;
mod packages;
mod pages;
mod patterns;
mod pictures;
mod plugins;
mod programs;
mod readme;
mod recipes;
mod relations;
#[cfg(target_os = "linux")]
mod remote;
mod reports;
mod robots;
mod rules;
mod rust;
mod scala;
#[cfg(target_os = "linux")]
mod services;
mod syntax;
mod talk;
mod tidy;
mod trace;
mod web;
mod wire;
mod wording;
