//! `docs/definitions.md` is true: its example is read from the page, its visitors, visits and channels are made by the
//! program, and every figure that the page tells is asked for over the API. The files that it names exist.

use std::collections::BTreeMap;
use std::path::Path;

use sumimi::enrich::channel::{Landing, channel};
use sumimi::identity::{Identity, Rotation, SaltCache, Visitor};

use super::{MARCH, SITE, Seed, TestApp, at, event, page};

const PAGE: &str = include_str!("../../../docs/definitions.md");

/// The rows of the table whose heading begins so, cell by cell.
fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let lines = PAGE.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|'));
    let cells = |row: &'static str| row.trim_matches('|').split('|').map(str::trim).collect();
    rows.map(cells).collect()
}

/// The events of the example as the program stores them.
fn events() -> Vec<Seed> {
    let identity = Identity::new("a secret for this test", Rotation::Month);
    let mut salt = SaltCache::default();
    let mut seeds = Vec::new();
    for row in table("| when (UTC)") {
        let [when, who, what, name, query, referrer] = row[..] else { panic!("{row:?}") };
        let website = SITE.rsplit('/').next().expect("an id");
        let visitor = Visitor { website, address: who, agent: "a browser", distinct_id: None };
        let resolved = identity.resolve(&mut salt, &visitor, 1, None, None, at(when));
        let (session, visit) = (resolved.session_id, resolved.claims.visit_id);
        let seed = match what {
            "view" => page(when, session, visit, name),
            "vitals" => page(when, session, visit, name).kind(5),
            "event" => event(when, session, visit, name),
            _ => panic!("{what}"),
        };
        let landing = Landing {
            referrer_domain: Some(referrer).filter(|domain| !domain.is_empty()),
            hostname: Some("example.com"),
            query,
            utm_medium: query.strip_prefix("utm_medium="),
            ..Landing::default()
        };
        let mut seed = seed.with("url_query", query);
        if let Some(channel) = channel(&landing).filter(|_| what == "view") {
            seed = seed.with("channel", channel);
        }
        if let Some(domain) = landing.referrer_domain {
            seed = seed.with("referrer_domain", domain);
        }
        seeds.push(seed);
    }
    seeds
}

#[actix_web::test]
async fn the_example_of_the_page_comes_out_as_it_says() {
    let events = events();
    assert_eq!(events.len(), 11);
    let app = TestApp::new(&events);
    let mut figures = BTreeMap::new();
    let stats = app.answer(&format!("{SITE}/stats?{MARCH}")).await;
    for name in ["pageviews", "visitors", "visits", "bounces", "totaltime"] {
        figures.insert(name.to_owned(), stats[name].as_i64().expect("a number"));
    }
    for kind in ["entry", "exit", "channel"] {
        let path = format!("{SITE}/metrics?{MARCH}&type={kind}");
        for (value, visitors) in app.pairs(&path, "x", "y").await {
            figures.insert(format!("{kind} {value}"), visitors);
        }
    }
    let told: BTreeMap<String, i64> = table("| figure ")
        .iter()
        .map(|row| (row[0].to_owned(), row[1].parse().expect("a number")))
        .collect();
    assert_eq!(figures, told);
}

/// A visit is the same by minutes, hours and days: so are its figures, summed or not.
#[actix_web::test]
async fn the_same_visits_are_bounces_in_the_expanded_form() {
    let app = TestApp::new(&events());
    let rows = app.answer(&format!("{SITE}/metrics/expanded?{MARCH}&type=hostname")).await;
    let names = ["pageviews", "visitors", "visits", "bounces", "totaltime"];
    let told = table("| figure ");
    for name in names {
        let row = told.iter().find(|row| row[0] == name).expect("a figure of the page");
        assert_eq!(rows[0][name].to_string(), row[1], "{name}");
    }
}

#[test]
fn the_files_that_the_page_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named: Vec<&str> = PAGE
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| {
            [Some("sql"), Some("rs")].contains(&code.rsplit_once('.').map(|(_, end)| end))
        })
        .collect();
    assert!(named.len() >= 8, "{named:?}");
    for file in named {
        assert!(root.join(file).is_file(), "{file}");
    }
}
