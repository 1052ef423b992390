//! Clients that were written for Umami, unchanged: its own tracker as a browser sends it, byte for byte, and its SDK
//! for Node.js from npm. They must work after a change of the address and nothing else.

use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::http::{Answer, Client};
use crate::process::{AGENT, Server, WEBSITE};

const SDK: &str = "@umami/node@0.4.0";

#[test]
fn the_requests_of_umamis_own_tracker_are_understood() {
    let mut server = Server::builder().start();
    server.create_website();
    let mut client = server.client();

    let answer = permission(&mut client, "content-type");
    assert!(matches!(answer.status, 200 | 204), "{}", answer.status);
    let first = tracker_request(&mut client, "https://shop.example/?utm_source=mail#top", "");
    let token = first["cache"].as_str().expect("a token").to_owned();
    permission(&mut client, "content-type,x-umami-cache");
    let echo = format!("x-umami-cache: {token}\r\n");
    let second = tracker_request(&mut client, "https://shop.example/cart", &echo);
    assert_eq!(second["sessionId"], first["sessionId"]);
    assert_eq!(second["visitId"], first["visitId"]);
    for field in ["sessionId", "visitId"] {
        assert_eq!(first[field].as_str().map(str::len), Some(36), "{field} is a UUID");
    }

    server.wait_until_committed();
    let range = last_hour();
    let stats = server.ask(&format!("/api/websites/{WEBSITE}/stats?{range}"));
    let counted = [&stats["pageviews"], &stats["visitors"], &stats["visits"]];
    assert_eq!(counted, [&json!(2), &json!(1), &json!(1)], "{stats}");
}

/// Asks as a browser does before a request with headers of its own.
fn permission(client: &mut Client, names: &str) -> Answer {
    let request = format!(
        "OPTIONS /api/send HTTP/1.1\r\nHost: stats.example\r\nConnection: keep-alive\r\n\
         Accept: */*\r\nAccess-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: {names}\r\nOrigin: https://shop.example\r\n\
         User-Agent: {AGENT}\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Site: cross-site\r\n\
         Sec-Fetch-Dest: empty\r\nReferer: https://shop.example/\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: de-CH,de;q=0.9\r\n\r\n"
    );
    let answer = client.send_bytes(request.as_bytes(), false).expect("an answer");
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let allowed = answer.header("access-control-allow-headers").unwrap_or_default();
    let allows = |name: &str| allowed.split(',').any(|one| one.trim().eq_ignore_ascii_case(name));
    assert!(allows("*") || names.split(',').all(allows), "{allowed}");
    answer
}

/// A page view as Umami's tracker sends it from Chrome; `echo` is its header with the last token, if any.
fn tracker_request(client: &mut Client, url: &str, echo: &str) -> Value {
    let body = format!(
        "{{\"type\":\"event\",\"payload\":{{\"website\":\"{WEBSITE}\",\"screen\":\"1366x768\",\
         \"language\":\"de-CH\",\"title\":\"Shop\",\"hostname\":\"shop.example\",\"url\":\"{url}\",\
         \"referrer\":\"https://www.google.com/\"}}}}"
    );
    let length = body.len();
    let request = format!(
        "POST /api/send HTTP/1.1\r\nHost: stats.example\r\nConnection: keep-alive\r\n\
         Content-Length: {length}\r\nsec-ch-ua-platform: \"Windows\"\r\nUser-Agent: {AGENT}\r\n\
         sec-ch-ua: \"Chromium\";v=\"131\", \"Not_A Brand\";v=\"24\"\r\n{echo}\
         Content-Type: application/json\r\nsec-ch-ua-mobile: ?0\r\nAccept: */*\r\n\
         Origin: https://shop.example\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n\
         Sec-Fetch-Dest: empty\r\nReferer: https://shop.example/\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: de-CH,de;q=0.9\r\n\r\n{body}"
    );
    let answer = client.send_bytes(request.as_bytes(), false).expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    answer.json()
}

#[test]
fn umamis_sdk_for_node_works_unchanged() {
    if !std::env::var("SUMIMI_NODE_TESTS").is_ok_and(|value| value == "1") {
        println!("skipped: SUMIMI_NODE_TESTS is not 1 (needs node, npm and the network)");
        return;
    }
    let mut server = Server::builder().start();
    server.create_website();
    let answers = run_sdk(&format!("http://{}", server.address()));
    let statuses: Vec<&Value> = answers.iter().map(|answer| &answer["status"]).collect();
    assert_eq!(statuses, [200; 4], "{answers:?}");
    let sessions: Vec<&Value> = answers.iter().map(|answer| &answer["body"]["sessionId"]).collect();
    assert!(sessions[0].is_string() && sessions[1] == sessions[0] && sessions[2] == sessions[0]);
    // Umami takes its own SDK for a robot unless it is given a browser's name. Here its events count.
    assert!(sessions[3].is_string() && sessions[3] != sessions[0], "{answers:?}");

    server.wait_until_committed();
    let range = last_hour();
    let stats = server.ask(&format!("/api/websites/{WEBSITE}/stats?{range}"));
    assert_eq!([&stats["pageviews"], &stats["visitors"]], [&json!(1), &json!(1)], "{stats}");
    for (kind, expected, figure) in [("path", "/from-node", 1), ("event", "signup", 2)] {
        let rows = server.ask(&format!("/api/websites/{WEBSITE}/metrics?type={kind}&{range}"));
        assert_eq!(rows, json!([{ "x": expected, "y": figure }]), "{kind}");
    }
}

/// A page view, an event, an identification, and an event without a user agent: status and body of each.
fn run_sdk(host: &str) -> Vec<Value> {
    let script = "
        const { Umami } = require('@umami/node');
        const [hostUrl, websiteId, userAgent] = process.argv.slice(1);
        const umami = new Umami({ hostUrl, websiteId, userAgent });
        const unnamed = new Umami({ hostUrl, websiteId });
        (async () => {
            const answers = [];
            for (const call of [
                () => umami.track({ hostname: 'example.com', url: '/from-node', title: 'Node' }),
                () => umami.track('signup', { plan: 'pro', seats: 3 }),
                () => umami.identify({ plan: 'pro' }),
                () => unnamed.track('signup'),
            ]) {
                const answer = await call();
                answers.push({ status: answer.status, body: await answer.json() });
            }
            console.log(JSON.stringify(answers));
        })();
    ";
    let node = Command::new("node")
        .current_dir(installed_sdk())
        .args(["-e", script, "--", host, WEBSITE, AGENT])
        .output()
        .expect("node is installed");
    let errors = String::from_utf8_lossy(&node.stderr);
    assert!(node.status.success(), "{errors}");
    serde_json::from_slice(&node.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

/// The folder with the SDK, installed from npm when it is not there yet.
fn installed_sdk() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("umami-sdk");
    std::fs::create_dir_all(&folder).expect("the folder of the build can be written");
    if !folder.join("node_modules/@umami/node/package.json").exists() {
        let npm = Command::new("npm")
            .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"])
            .arg(&folder)
            .arg(SDK)
            .output()
            .expect("npm is installed");
        assert!(npm.status.success(), "{}", String::from_utf8_lossy(&npm.stderr));
    }
    folder
}

fn last_hour() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let now = now.as_millis();
    format!("startAt={}&endAt={}", now - 3_600_000, now + 60_000)
}
