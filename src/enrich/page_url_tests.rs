//! Addresses as tables of cases, and the fast way against the rules.

use proptest::prelude::*;

use super::*;

fn path_query(address: &str) -> Result<(String, String), InvalidUrl> {
    let mut scratch = Scratch::default();
    let page = page(Some(address), Some("example.com"), PathRules::default(), &mut scratch)?;
    Ok((scratch.text(&page.path).to_owned(), scratch.text(&page.query).to_owned()))
}

#[test]
fn one_page_has_one_path() {
    for (address, path, query) in [
        ("/", "/", ""),
        ("", "/", ""),
        ("undefined", "", ""),
        ("/undefined", "", ""),
        ("https://example.com/undefined", "", ""),
        ("/undefined?x=1", "", "x=1"),
        ("/a/b?c=d&e=%20f", "/a/b", "c=d&e=%20f"),
        ("https://example.com", "/", ""),
        ("https://www.example.com:8443/a?b", "/a", "b"),
        ("https://other.example/x", "/x", ""),
        ("/blog/论文", "/blog/论文", ""),
        ("/blog/%E8%AE%BA%E6%96%87", "/blog/论文", ""),
        ("/blog/%e8%ae%ba%e6%96%87", "/blog/论文", ""),
        ("/a b", "/a b", ""),
        ("/a%20b", "/a b", ""),
        ("/a%2Fb%3Fc%23d", "/a%2Fb%3Fc%23d", ""),
        ("/a/./b/../c", "/a/c", ""),
        ("/a\\b", "/a/b", ""),
        ("/a\tb\n", "/ab", ""),
        ("/#/home", "/#/home", ""),
        ("/p#", "/p", ""),
        ("/p/?q=1#frag", "/p/#frag", "q=1"),
        ("/%E0%A4%A", "/%E0%A4%A", ""),
        ("/%zz", "/%zz", ""),
        ("/%FF%FE", "/%FF%FE", ""),
        ("/%00", "/\u{fffd}", ""),
        ("/é?x=é", "/é", "x=%C3%A9"),
        ("javascript:alert(1)", "alert(1)", ""),
        ("mailto:a@b.c", "a@b.c", ""),
        ("//cdn.example/x", "/x", ""),
    ] {
        let want = (path.to_owned(), query.to_owned());
        assert_eq!(path_query(address), Ok(want), "{address:?}");
    }
    for address in ["http://", "http://[bad", "https://exa mple.com"] {
        assert_eq!(path_query(address), Err(InvalidUrl), "{address}");
    }
}

#[test]
fn a_trailing_slash_goes_when_asked() {
    let rules = PathRules { remove_trailing_slash: true, ..PathRules::default() };
    for (address, want) in [("/", "/"), ("/a/", "/a"), ("/p/#x", "/p#x"), ("/a", "/a")] {
        let mut scratch = Scratch::default();
        let page = page(Some(address), None, rules, &mut scratch).expect("is valid");
        assert_eq!(scratch.text(&page.path), want);
    }
}

#[test]
fn utm_values_are_decoded_and_the_first_counts() {
    let mut scratch = Scratch::default();
    let address = "/?utm_source=my%20src&utm_campaign=%C3%A9t%C3%A9+2026&utm_source=b&utm_term=&gclid=1&fbclid=2";
    let page = page(Some(address), None, PathRules::default(), &mut scratch).expect("is valid");
    let utm: Vec<_> =
        page.utm.iter().map(|piece| piece.as_ref().map(|p| scratch.text(p))).collect();
    assert_eq!(utm, [Some("my src"), None, Some("été 2026"), None, Some("")]);
    assert_eq!(page.click_id, Some("gclid"));
}

#[test]
fn hosts_lose_their_www_and_nothing_else() {
    for (address, want) in [
        ("https://www.example.com/", "example.com"),
        ("https://wwwfoo.example.com/", "wwwfoo.example.com"),
        ("https://EXAMPLE.com/", "example.com"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("/relative", ""),
    ] {
        let mut scratch = Scratch::default();
        let page = page(Some(address), None, PathRules::default(), &mut scratch).expect("is valid");
        assert_eq!(scratch.text(&page.host), want, "{address}");
    }
}

#[test]
fn referrers_are_a_domain_a_path_and_a_query() {
    for (address, want) in [
        ("https://www.Google.com:443/search?q=a", Some(("google.com", "/search", "q=a"))),
        ("https://user:pw@example.org/%C3%A9", Some(("example.org", "/é", ""))),
        ("/inside", Some(("example.com", "/inside", ""))),
        ("android-app://com.google.android.gm/", Some(("com.google.android.gm", "/", ""))),
        ("ftp://ftp.example.net/x", Some(("ftp.example.net", "/x", ""))),
        ("about:blank", Some(("", "blank", ""))),
        ("data:text/html,x", Some(("", "text/html,x", ""))),
        ("javascript:alert(1)", Some(("", "alert(1)", ""))),
        ("chrome-extension://abc/", Some(("", "/", ""))),
        ("", None),
    ] {
        let mut scratch = Scratch::default();
        let found = referrer(Some(address), Some("example.com"), &mut scratch).expect("is valid");
        let found = found.as_ref().map(|referrer| {
            let text = |piece| scratch.text(piece);
            (text(&referrer.domain), text(&referrer.path), text(&referrer.query))
        });
        assert_eq!(found, want, "{address}");
    }
}

#[test]
fn titles_are_decoded_when_the_whole_can_be() {
    for (text, want) in [
        ("Caf%C3%A9", "Café"),
        ("100% legit", "100% legit"),
        ("plain", "plain"),
        ("a%00b", "a\u{fffd}b"),
    ] {
        let mut scratch = Scratch::default();
        let piece = title(text, &mut scratch);
        assert_eq!(scratch.text(&piece), want);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_fast_way_agrees_with_the_rules(
        address in "(https?://[a-z0-9.-]{1,12}(:[0-9]{1,5})?)?(/[a-zA-Z0-9%.'_~!-]{0,6}){0,3}(\\?[a-z0-9=&%/?\\[\\]|'-]{0,8})?(#[a-z0-9/?#'%-]{0,5})?"
    ) {
        if let Some(fast) = ordinary(&address) {
            let mut scratch = Scratch::default();
            let slow = unusual(&address, Some("page.example"), &mut scratch);
            prop_assert!(slow.is_ok(), "the rules refuse {}", address);
            let Ok(slow) = slow else { return Ok(()) };
            let none = Scratch::default();
            for (fast, slow) in [
                (&fast.host, &slow.host), (&fast.path, &slow.path),
                (&fast.query, &slow.query), (&fast.fragment, &slow.fragment),
            ] {
                prop_assert_eq!(none.text(fast), scratch.text(slow));
            }
        }
    }

    #[test]
    fn no_address_panics(address in any::<String>()) {
        let mut scratch = Scratch::default();
        let _ = page(Some(&address), Some("h"), PathRules { remove_trailing_slash: true, bare: false }, &mut scratch);
        let _ = referrer(Some(&address), Some("h"), &mut scratch);
        let _ = title(&address, &mut scratch);
    }
}
