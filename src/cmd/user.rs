//! `sumimi user password NAME`: for whoever has lost their password and has a shell on the server. It works on the
//! database itself, so the server must be stopped; it holds the lock of the data directory while it works.

use std::fs;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use crate::auth::password;
use crate::store::Store;
use crate::store::accounts::Accounts;

/// Sets a new password: the given one (`SUMIMI_NEW_PASSWORD`), else the first line of standard input if that is a
/// pipe, else a generated one, which is printed. All logins of the user end.
///
/// # Errors
/// One line that tells what to do.
pub fn password(data_dir: &Path, username: &str, given: Option<String>) -> Result<()> {
    let given = given.filter(|password| !password.is_empty());
    let given = given.map_or_else(piped_line, |password| Ok(Some(password)))?;
    let generated = set_password(data_dir, username, given)?;
    let mut out = std::io::stdout().lock();
    match generated {
        Some(password) => writeln!(out, "The new password of {username} is {password}")?,
        None => writeln!(out, "The password of {username} is changed")?,
    }
    Ok(())
}

/// As [`password()`], without terminal; returns the password if it was generated.
///
/// # Errors
/// One line that tells what to do.
pub fn set_password(
    data_dir: &Path,
    username: &str,
    given: Option<String>,
) -> Result<Option<String>> {
    if let Some(given) = &given {
        password::check_new(given).map_err(anyhow::Error::msg)?;
    }
    if !data_dir.join("sumimi.duckdb").exists() {
        bail!(
            "there is no database in {}: name the directory with SUMIMI_DATA_DIR (--data-dir)",
            data_dir.display()
        );
    }
    let lock = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(data_dir.join("lock"))
        .with_context(|| format!("cannot write in {}", data_dir.display()))?;
    if lock.try_lock().is_err() {
        bail!("the server is running: stop it, repeat this command, and start it again");
    }
    let accounts = Accounts::open(Arc::new(Store::open(data_dir)?))?;
    let Some(account) = accounts.by_name(username) else {
        bail!("there is no user {username:?}: names are case-sensitive");
    };
    let (password, generated) = if let Some(given) = given {
        (given, None)
    } else {
        let generated = password::generate()?;
        (generated.clone(), Some(generated))
    };
    accounts.set_password(account.id, &password::hash(&password)?)?;
    Ok(generated)
}

/// The first line of standard input, if somebody pipes one in.
fn piped_line() -> Result<Option<String>> {
    let input = std::io::stdin();
    if input.is_terminal() {
        return Ok(None);
    }
    let mut line = String::new();
    input.lock().read_line(&mut line).context("cannot read the password from standard input")?;
    let password = line.trim_end_matches(['\n', '\r']);
    Ok((!password.is_empty()).then(|| password.to_owned()))
}
