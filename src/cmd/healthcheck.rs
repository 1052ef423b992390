//! `sumimi healthcheck`: asks the server on the configured address for its heartbeat, for images without curl.
//! Exit code 0 when it says it is well, 1 with one line otherwise.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::config::Config;

/// # Errors
/// When there is no answer within three seconds, or it is not `ok`.
pub fn run(config: &Config) -> Result<()> {
    let mut address = config.listen;
    if address.ip().is_unspecified() {
        let loopback: std::net::IpAddr = if address.is_ipv4() {
            [127, 0, 0, 1].into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        };
        address.set_ip(loopback);
    }
    let base_path = config.base_path.as_deref().unwrap_or_default();
    let url = format!("http://{address}{base_path}/api/heartbeat");
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(3)))
        .http_status_as_error(false)
        .build()
        .new_agent();
    let response = agent.get(&url).call().with_context(|| format!("no answer from {url}"))?;
    if response.status() != 200 {
        bail!(
            "{url} answers {}: events are not being stored, see the server's log",
            response.status()
        );
    }
    println!("ok");
    Ok(())
}
