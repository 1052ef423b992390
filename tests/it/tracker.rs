//! What the tracker sends, seen from the outside: a real browser loads real pages with the served script, and a
//! stand-in for the server writes down what arrives.

use serde_json::{Value, json};

use crate::chromium::{self, LANGUAGE, SCREEN};
use crate::process::WEBSITE;
use crate::recorder::{Recorder, page, summaries, tag};

/// Navigates as a router does: the address at once, the title a little later.
const ROUTER: &str = "<script>
    const title = path => setTimeout(() => { document.title = 'Title of ' + path; }, 50);
    const push = path => { history.pushState({}, '', path); title(path); };
    const replace = path => { history.replaceState({}, '', path); title(path); };
    addEventListener('popstate', () => title(location.pathname));
</script>";

/// What the page does, and path, title and the referrer's path of each view that follows.
type Step<'a> = (&'a str, &'a [(&'a str, &'a str, &'a str)]);
/// Attributes of the tag, what comes before it, and address and title of each view.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

#[tokio::test]
async fn a_page_load_is_one_view_that_needs_no_permission_and_no_cookie() {
    if !chromium::is_enabled() {
        return;
    }
    let link = "<a href='http://site.test/page?a=1#top' referrerpolicy=unsafe-url>go</a>";
    let recorder = Recorder::start(&[
        ("/news", link.to_owned()),
        ("/page", page("Ä page", "data-tag='beta'", "<script>document.cookie = 'a=b'</script>")),
    ]);
    let browser = recorder.browser().await;
    browser.goto("http://news.test/news?id=7").await;
    browser.click("a").await;
    let first = recorder.take(&browser, 1).await.remove(0);
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/api/send"));
    assert_eq!(first.headers["content-type"], "text/plain;charset=UTF-8");
    assert_eq!(first.headers["origin"], "http://site.test");
    assert!(!first.headers.contains_key("cookie"));
    let expected = json!({ "type": "event", "payload": {
        "website": WEBSITE, "hostname": "site.test", "screen": SCREEN, "language": LANGUAGE,
        "title": "Ä page", "url": "http://site.test/page?a=1#top",
        "referrer": "http://news.test/news?id=7", "tag": "beta",
    }});
    assert_eq!(first.body, expected);

    browser.run("umami.track('next')").await;
    let second = recorder.take(&browser, 1).await.remove(0);
    assert_eq!(second.body["cache"], "token 1", "the token of the last answer comes back");

    browser.run("location.href = '/page'").await;
    let third = recorder.take(&browser, 1).await.remove(0);
    assert_eq!(*third.field("referrer"), "", "the own site is no referrer of a first view");
}

#[tokio::test]
async fn each_real_change_of_the_address_is_one_view() {
    if !chromium::is_enabled() {
        return;
    }
    let two_tags = format!("{}{ROUTER}", tag(""));
    let recorder = Recorder::start(&[("/a", page("Title of /a", "", &two_tags))]);
    let browser = recorder.browser().await;
    browser.goto("http://site.test/a").await;
    let loaded = recorder.take(&browser, 1).await;
    assert_eq!(summaries(&loaded), ["event /a"], "a second tag counts nothing");

    let steps: [Step; 12] = [
        ("push('/b')", &[("/b", "Title of /b", "/a")]),
        ("push('/b')", &[]),
        ("replace('/b'); replace(location.href)", &[]),
        ("push('/a')", &[("/a", "Title of /a", "/b")]),
        ("history.back()", &[("/b", "Title of /b", "/a")]),
        ("push('/c?x=1')", &[("/c?x=1", "Title of /c?x=1", "/b")]),
        ("location.hash = 'chapter'; setTimeout(() => replace(location.href))", &[]),
        ("location.hash = '#/route'", &[("/c?x=1#/route", "Title of /c", "/c?x=1#chapter")]),
        ("push('/old'); replace('/new')", &[("/new", "Title of /new", "/c?x=1#/route")]),
        (
            "push('/one'); push('/two')",
            &[("/one", "Title of /new", "/new"), ("/two", "Title of /two", "/one")],
        ),
        ("replace('/three')", &[("/three", "Title of /three", "/two")]),
        ("umami.track()", &[("/three", "Title of /three", "/two")]),
    ];
    for (step, expected) in steps {
        browser.run(step).await;
        let messages = recorder.take(&browser, expected.len()).await;
        for (message, (path, title, referrer)) in messages.iter().zip(expected) {
            assert_eq!(*message.field("url"), format!("http://site.test{path}"), "{step}");
            assert_eq!(*message.field("title"), *title, "{step}");
            assert_eq!(*message.field("referrer"), format!("http://site.test{referrer}"), "{step}");
        }
    }
}

#[tokio::test]
async fn leaving_a_page_loses_nothing_and_coming_back_is_a_view() {
    if !chromium::is_enabled() {
        return;
    }
    let watch =
        "<script>addEventListener('pageshow', e => { window.isRestored = e.persisted })</script>";
    let recorder = Recorder::start(&[
        ("/a", page("A", "", &format!("{ROUTER}{watch}"))),
        ("/elsewhere", "<title>Elsewhere</title>".to_owned()),
    ]);
    let browser = recorder.browser().await;
    browser.goto("http://site.test/a").await;
    recorder.take(&browser, 1).await;

    browser.run("push('/b'); location.href = 'http://news.test/elsewhere'").await;
    let left = recorder.take(&browser, 1).await;
    assert_eq!(summaries(&left), ["event /b"], "the view did not wait for its title");

    browser.page.back().await.expect("there is a page before");
    assert_eq!(browser.run("return window.isRestored").await, true, "the page was kept whole");
    let back = recorder.take(&browser, 1).await;
    assert_eq!(summaries(&back), ["event /b"]);
    assert_eq!(*back[0].field("referrer"), "");

    let other = browser.page.new_window(true).await.expect("a second tab");
    browser.run("umami.track('last'); push('/c')").await;
    browser.page.close_window().await.expect("it can be closed");
    browser.page.switch_to_window(other.handle).await.expect("the other is there");
    browser.goto("http://news.test/elsewhere").await;
    let mut closed = summaries(&recorder.take(&browser, 2).await);
    closed.sort();
    assert_eq!(closed, ["event /c", "event last /b"]);
}

#[tokio::test]
async fn a_click_on_a_marked_element_is_an_event_and_links_are_followed() {
    if !chromium::is_enabled() {
        return;
    }
    let body = "<button id=buy data-umami-event=buy data-umami-event-price=9 data-umami-event-my-id=x>\
                <b>Buy</b></button><p><button id=own data-sumimi-event=own data-sumimi-event-k=v>x</button>\
                <p id=plain>plain</p><p><a href=/next data-umami-event=leave>next</a>";
    let recorder = Recorder::start(&[("/a", page("A", "", body)), ("/next", page("Next", "", ""))]);
    let browser = recorder.browser().await;
    browser.goto("http://site.test/a").await;
    recorder.take(&browser, 1).await;

    browser.click("#plain").await;
    browser.click("#buy b").await;
    let bought = recorder.take(&browser, 1).await;
    assert_eq!(summaries(&bought), ["event buy /a"]);
    assert_eq!(*bought[0].field("data"), json!({ "price": "9", "my-id": "x" }));

    browser.click("#own").await;
    let own = recorder.take(&browser, 1).await;
    assert_eq!(
        (summaries(&own), own[0].field("data")),
        (vec!["event own /a".to_owned()], &json!({ "k": "v" }))
    );

    browser.click("a").await;
    let mut followed = summaries(&recorder.take(&browser, 2).await);
    followed.sort();
    assert_eq!(followed, ["event /next", "event leave /a"]);
    assert_eq!(browser.page.title().await.expect("a title"), "Next");
}

#[tokio::test]
async fn the_page_tracks_and_identifies_in_every_form_of_the_api() {
    if !chromium::is_enabled() {
        return;
    }
    let recorder = Recorder::start(&[("/a", page("A", "data-auto-track=false", ""))]);
    let browser = recorder.browser().await;
    browser.goto("http://site.test/a").await;
    assert_eq!(recorder.take(&browser, 0).await.len(), 0, "nothing by itself");
    assert_eq!(browser.run("return window.umami === window.sumimi").await, true);

    let with = |fields: &Value| {
        let mut payload = json!({
            "website": WEBSITE, "hostname": "site.test", "screen": SCREEN, "language": LANGUAGE,
            "title": "A", "url": "http://site.test/a", "referrer": "",
        });
        let payload_fields = payload.as_object_mut().expect("an object");
        payload_fields.extend(fields.as_object().expect("an object").clone());
        payload
    };
    // The call, the type, the whole payload, and whether the token of the last answer goes with it.
    let calls = [
        ("umami.track()", "event", with(&json!({})), false),
        ("umami.track('e')", "event", with(&json!({ "name": "e" })), true),
        (
            "umami.track('e', { n: 1, o: { b: [true] } })",
            "event",
            with(&json!({ "name": "e", "data": { "n": 1, "o": { "b": [true] } } })),
            true,
        ),
        (
            "umami.track(page => ({ ...page, title: 'B' }))",
            "event",
            with(&json!({ "title": "B" })),
            true,
        ),
        ("umami.track({ url: '/x' })", "event", json!({ "website": WEBSITE, "url": "/x" }), true),
        ("umami.identify('u1')", "identify", with(&json!({ "id": "u1" })), false),
        (
            "umami.identify('u2', { plan: 'pro' })",
            "identify",
            with(&json!({ "id": "u2", "data": { "plan": "pro" } })),
            false,
        ),
        (
            "sumimi.identify({ plan: 'free' })",
            "identify",
            with(&json!({ "id": "u2", "data": { "plan": "free" } })),
            false,
        ),
        ("umami.track('e')", "event", with(&json!({ "name": "e", "id": "u2" })), true),
        (
            "history.pushState({}, '', '/b'); umami.track()",
            "event",
            with(&json!({
                "id": "u2", "url": "http://site.test/b", "referrer": "http://site.test/a",
            })),
            true,
        ),
    ];
    for (call, kind, payload, has_token) in calls {
        browser.run(call).await;
        let message = recorder.take(&browser, 1).await.remove(0);
        assert_eq!(message.body["type"], kind, "{call}");
        assert_eq!(message.body["payload"], payload, "{call}");
        assert_eq!(message.body["cache"].is_string(), has_token, "{call}");
    }
}

#[tokio::test]
async fn the_attributes_of_the_tag_are_honoured() {
    if !chromium::is_enabled() {
        return;
    }
    let gpc = "<script>navigator.globalPrivacyControl = true</script>";
    let dnt = "<script>Object.defineProperty(navigator, 'doNotTrack', { value: '1' })</script>";
    let off = "<script>localStorage.setItem('umami.disabled', '1')</script>";
    let check = "<script>
        window.check = (type, payload) => ({ ...payload, title: type });
        window.later = async (type, payload) => ({ ...payload, title: 'later' });
        window.never = () => false;
    </script>";
    let cases: [Case; 19] = [
        ("", "", &[("/p?q=1#h", "T")]),
        ("data-exclude-search=true", "", &[("/p#h", "T")]),
        ("data-exclude-hash=true", "", &[("/p?q=1", "T")]),
        ("data-exclude-search=true data-exclude-hash=true", "", &[("/p", "T")]),
        ("data-domains='site.test, other.test'", "", &[("/p?q=1#h", "T")]),
        ("data-domains=other.test,www.site.test", "", &[]),
        ("data-do-not-track=true", gpc, &[]),
        ("data-do-not-track=true", dnt, &[]),
        ("data-do-not-track=true", "", &[("/p?q=1#h", "T")]),
        ("data-do-not-track=false", dnt, &[("/p?q=1#h", "T")]),
        ("", gpc, &[("/p?q=1#h", "T")]),
        ("data-auto-track=false", "", &[]),
        ("data-before-send=check", check, &[("/p?q=1#h", "event")]),
        ("data-before-send=later", check, &[("/p?q=1#h", "later")]),
        ("data-before-send=never", check, &[]),
        ("data-before-send=missing", "", &[("/p?q=1#h", "T")]),
        ("data-host-url=http://news.test/", "", &[("/p?q=1#h", "T")]),
        ("", "<script>delete Request.prototype.keepalive</script>", &[("/p?q=1#h", "T")]),
        ("", off, &[]),
    ];
    // The page puts on the address that the tracker is to see.
    let rename = "<script>history.replaceState({}, '', '/p?q=1#h')</script>";
    let paths: Vec<String> = (0..cases.len()).map(|number| format!("/{number}")).collect();
    let html = cases
        .map(|(settings, before, _)| format!("<title>T</title>{before}{rename}{}", tag(settings)));
    let pages: Vec<(&str, String)> = paths.iter().map(String::as_str).zip(html).collect();
    let recorder = Recorder::start(&pages);
    let browser = recorder.browser().await;
    for ((settings, before, views), (path, _)) in cases.iter().zip(&pages) {
        browser.goto(&format!("http://site.test{path}")).await;
        let messages = recorder.take(&browser, views.len()).await;
        for (message, (address, title)) in messages.iter().zip(*views) {
            let context = format!("{settings} {before}");
            assert_eq!(*message.field("url"), format!("http://site.test{address}"), "{context}");
            assert_eq!(*message.field("title"), *title, "{context}");
            let host = if settings.contains("host-url") { "news.test" } else { "stats.test" };
            assert_eq!(message.headers["host"], host, "{context}");
        }
    }
}

#[tokio::test]
async fn a_server_that_says_disabled_is_not_asked_again() {
    if !chromium::is_enabled() {
        return;
    }
    let recorder = Recorder::start(&[("/a", page("A", "", ROUTER))]);
    let browser = recorder.browser().await;
    recorder.answer_next(json!({ "disabled": true }));
    browser.goto("http://site.test/a").await;
    recorder.take(&browser, 1).await;
    browser.run("push('/b'); umami.track('e'); umami.identify('u')").await;
    recorder.take(&browser, 0).await;
}

#[tokio::test]
async fn web_vitals_are_sent_once_when_the_page_is_hidden() {
    if !chromium::is_enabled() {
        return;
    }
    let body = format!(
        "{ROUTER}<h1 id=big style='font-size:80px'>Large text</h1><button id=slow>slow</button><script>
            slow.onclick = () => {{ const end = performance.now() + 120; while (performance.now() < end); }};
        </script>"
    );
    let recorder = Recorder::start(&[
        ("/a", page("A", "data-performance=true", &body)),
        ("/elsewhere", "<title>Elsewhere</title>".to_owned()),
    ]);
    let browser = recorder.browser().await;
    browser.goto("http://site.test/a?q=1").await;
    recorder.take(&browser, 1).await;
    browser.click("#slow").await;
    // The text moves by itself, long enough after the click to be no answer to it.
    browser
        .run_until_done(
            "setTimeout(() => { big.style.marginTop = '200px';
             requestAnimationFrame(() => requestAnimationFrame(() => done())); }, 700)",
        )
        .await;
    browser.run("push('/b')").await;
    recorder.take(&browser, 1).await;
    browser.goto("http://news.test/elsewhere").await;
    let message = recorder.take(&browser, 1).await.remove(0);
    assert_eq!(message.summary(), "performance /a?q=1", "times are of the page that was loaded");
    assert_eq!(*message.field("title"), "A");
    for (name, least, most) in [
        ("ttfb", 0.1, 10_000.0),
        ("fcp", 1.0, 60_000.0),
        ("lcp", 1.0, 60_000.0),
        ("inp", 100.0, 10_000.0),
        ("cls", 0.01, 10.0),
    ] {
        let value = message.field(name).as_f64().unwrap_or(-1.0);
        assert!((least..=most).contains(&value), "{name} is {value}: {}", message.body);
    }
}
