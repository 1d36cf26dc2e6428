//! The binary.
use clap::{Parser, Subcommand};
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}
#[derive(Subcommand)]
enum Command {
    Normalize(toolglot::cli::normalize::Normalize),
}
fn main() {
    let Command::Normalize(n) = Cli::parse().command;
    n.run(&mut std::io::stdin().lock(), &mut std::io::stdout().lock()).unwrap();
}
