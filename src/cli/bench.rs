//! `toolglot bench`: measurements with real models.

use std::io::Write;

use crate::{config::Environment, error::Error};

mod bfcl;
mod form;
mod judge;
mod live;
mod report;
mod task;
mod way;
mod world;

/// `toolglot bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Give a model the same tasks straight and through the proxy, and recommend how to ask it
    Live(live::Live),
}

impl Bench {
    pub(super) fn run(self, environment: &Environment, out: &mut dyn Write, messages: &mut dyn Write) -> Result<(), Error> {
        match self.what {
            What::Live(live) => live.run(environment, out, messages),
        }
    }
}
