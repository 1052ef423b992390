//! A real Chromium, driven through chromedriver. Every test has a process and a profile of its own; both end with it,
//! also when it fails. Hosts that end in `.test` are led to local servers, so that pages, the tracker's server and
//! foreign sites are different origins, as they are in life.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http;

/// Headless Chromium says so in its user agent and would be taken for a robot.
pub const AGENT: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                         Chrome/140.0.0.0 Safari/537.36";
pub const LANGUAGE: &str = "de-CH";
pub const SCREEN: &str = "1366x768";

/// What chromedriver prints before the port it has chosen.
const PORT_FOLLOWS: &str = "started successfully on port ";
/// What it needs of a page may be slow on a busy machine.
const SCRIPT_MS_MAX: u64 = 30_000;

/// Whether to run the tests that need Chromium; says so when not.
pub fn is_enabled() -> bool {
    let is_enabled = std::env::var("SUMIMI_BROWSER_TESTS").is_ok_and(|value| value == "1");
    if !is_enabled {
        println!("skipped: SUMIMI_BROWSER_TESTS is not 1 (needs chromium and chromedriver)");
    }
    is_enabled
}

/// A window of a fresh browser.
pub struct Browser {
    pub page: Client,
    session: String,
    driver: Child,
    driver_address: SocketAddr,
    _profile: TempDir,
}

impl Browser {
    /// Starts it; each of `hosts` is the port 80 of a name and the server that answers there.
    pub async fn start(hosts: &[(&str, SocketAddr)]) -> Self {
        let profile = tempfile::tempdir().expect("a temporary directory");
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed");
        let stdout = BufReader::new(driver.stdout.take().expect("standard output is piped"));
        let port: u16 = stdout
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.split_once(PORT_FOLLOWS)?.1.trim_end_matches('.').parse().ok())
            .expect("chromedriver says its port");
        let mut browser = ClientBuilder::new(HttpConnector::new());
        let options = capabilities(hosts, &profile);
        browser.capabilities(options.as_object().expect("an object").clone());
        let page = browser.connect(&format!("http://127.0.0.1:{port}")).await;
        let page = page.unwrap_or_else(|error| {
            let _ = driver.kill();
            panic!("Chromium does not start: {error}");
        });
        let session = page.session_id().await.expect("a session").expect("its id");
        let driver_address = SocketAddr::from(([127, 0, 0, 1], port));
        Self { page, session, driver, driver_address, _profile: profile }
    }

    /// Loads a page and waits until it is complete.
    pub async fn goto(&self, url: &str) {
        self.page.goto(url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    /// Clicks as a person does, with a real pointer event.
    pub async fn click(&self, css: &str) {
        let element = self.page.find(Locator::Css(css)).await;
        let element = element.unwrap_or_else(|error| panic!("{css}: {error}"));
        element.click().await.unwrap_or_else(|error| panic!("{css}: {error}"));
    }

    /// Runs a script in the page and returns what it returns.
    pub async fn run(&self, script: &str) -> Value {
        let value = self.page.execute(script, Vec::new()).await;
        value.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Runs a script in the page until it calls `done`.
    pub async fn run_until_done(&self, script: &str) -> Value {
        let script = format!("const done = arguments[0];\n{script}");
        let value = self.page.execute_async(&script, Vec::new()).await;
        value.unwrap_or_else(|error| panic!("{script}: {error}"))
    }
}

impl Drop for Browser {
    /// Ends the browser through its driver, which is the only one who knows its processes.
    fn drop(&mut self) {
        let end = http::Request::new("DELETE", &format!("/session/{}", self.session));
        let _ = http::Client::new(self.driver_address).send(&end);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn capabilities(hosts: &[(&str, SocketAddr)], profile: &TempDir) -> Value {
    let hosts: Vec<String> =
        hosts.iter().map(|(name, address)| format!("MAP {name}:80 {address}")).collect();
    let args = [
        "--headless".to_owned(),
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--disable-quic".to_owned(),
        "--no-first-run".to_owned(),
        "--disable-background-networking".to_owned(),
        "--disable-component-update".to_owned(),
        "--disable-sync".to_owned(),
        // The hosts of the tests have no TLS, and Chromium would try it first.
        "--disable-features=HttpsUpgrades,LocalNetworkAccessChecks".to_owned(),
        format!("--host-resolver-rules={}", hosts.join(",")),
        format!("--screen-info={{{SCREEN}}}"),
        format!("--accept-lang={LANGUAGE}"),
        format!("--user-agent={AGENT}"),
        format!("--user-data-dir={}", profile.path().display()),
    ];
    json!({
        "browserName": "chrome",
        "timeouts": { "script": SCRIPT_MS_MAX },
        "goog:chromeOptions": { "args": args },
    })
}
