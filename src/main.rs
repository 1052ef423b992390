//! The program: reads the command line, runs one command, turns an error into one line and an exit code.
//! The allocator is jemalloc, which gives pages back; see `MEMORY.md`.

use std::process::ExitCode;

use sumimi::cmd;
use sumimi::config::{self, Cli, Command, UserAction};

#[cfg(not(feature = "system-allocator"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = match Cli::from_process() {
        Ok(cli) => cli,
        Err(line) => return fail(&line, 2),
    };
    let outcome = match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => cmd::serve::run(&cli.config),
        Command::Config => {
            cmd::config::run(&cli.config);
            Ok(())
        }
        Command::User { action: UserAction::Password { name } } => {
            cmd::user::password(&cli.config.data_dir, &name, config::new_password())
        }
        Command::Healthcheck => cmd::healthcheck::run(&cli.config),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("{error:#}"), 1),
    }
}

fn fail(line: &str, code: u8) -> ExitCode {
    eprintln!("sumimi: {line}");
    ExitCode::from(code)
}
