//! The columns of an event out of a message: what its addresses, its sender and its kind say. Pure; everything is cut
//! to its column's length on a character boundary.

use super::payload::{Message, Payload, Target, Type, cut};
use crate::enrich::channel::{Landing, channel};
use crate::enrich::geo::Place;
use crate::enrich::page_url::{self, PathRules, Piece, Referrer, Scratch};
use crate::enrich::user_agent::{Client, device_with_screen};
use crate::event::{Event, EventKind, Text, Vitals};
use crate::limits;

/// Page and referrer, still in pieces.
pub struct Urls<'s> {
    page: page_url::PageUrl<'s>,
    referrer: Option<Referrer<'s>>,
    title: Option<Piece<'s>>,
}

/// The same as texts.
pub struct UrlTexts<'s> {
    host: &'s str,
    path: &'s str,
    query: &'s str,
    title: Option<&'s str>,
    utm: [Option<&'s str>; 5],
    click_id: Option<&'static str>,
    referrer: Option<[&'s str; 3]>,
}

impl<'b> Urls<'b> {
    /// # Errors
    /// When an address is none.
    pub fn read(
        message: &Message<'_, 'b>,
        rules: PathRules,
        scratch: &mut Scratch,
    ) -> Result<Self, page_url::InvalidUrl> {
        let payload = &message.payload;
        let rules = PathRules { bare: message.kind == Type::Performance, ..rules };
        let page = page_url::page(payload.url, payload.hostname, rules, scratch)?;
        let referrer = page_url::referrer(payload.referrer, payload.hostname, scratch)?;
        let title = payload.title.map(|title| page_url::title(title, scratch));
        Ok(Self { page, referrer, title })
    }

    pub fn texts<'s>(&'s self, scratch: &'s Scratch) -> UrlTexts<'s> {
        let long = |piece: &'s Piece<'b>| cut(scratch.text(piece), limits::LONG_TEXT_CHARS_MAX);
        let page = &self.page;
        let utm = page.utm.each_ref().map(|piece| {
            piece.as_ref().map(|piece| cut(scratch.text(piece), limits::UTM_CHARS_MAX))
        });
        UrlTexts {
            host: cut(scratch.text(&page.host), limits::HOSTNAME_CHARS_MAX),
            path: long(&page.path),
            query: long(&page.query),
            title: self.title.as_ref().map(long),
            utm,
            click_id: page.click_id,
            referrer: self
                .referrer
                .as_ref()
                .map(|r| [long(&r.domain), long(&r.path), long(&r.query)]),
        }
    }
}

/// What every event says of the visitor.
pub fn fill_client<'e>(
    event: &mut Event<'e>,
    payload: &Payload<'_, 'e>,
    client: &Client,
    place: &'e Place<'e>,
    scratch: &'e Scratch,
) {
    let named = |text: Option<&'e str>| text.map(|text| cut(text, limits::CLIENT_TEXT_CHARS_MAX));
    let screen = payload.screen.map(|screen| cut(screen, limits::SCREEN_CHARS_MAX));
    event.set(Text::Browser, named(payload.browser).or(client.browser));
    event.set(Text::Os, named(payload.os).or(client.os));
    let device = device_with_screen(client.device, screen);
    event.set(Text::Device, named(payload.device).or(Some(device)));
    event.set(Text::Screen, screen);
    event.set(Text::Language, payload.language.map(|text| cut(text, limits::LANGUAGE_CHARS_MAX)));
    event.set(Text::DistinctId, payload.id.map(|text| cut(text, limits::DISTINCT_ID_CHARS_MAX)));
    let part = |piece: &'e Option<Piece<'e>>, units_max| {
        piece.as_ref().map(|piece| cut(scratch.text(piece), units_max))
    };
    event.set(Text::Country, part(&place.country, limits::CLIENT_TEXT_CHARS_MAX));
    event.set(Text::Region, part(&place.region, limits::CLIENT_TEXT_CHARS_MAX));
    event.set(Text::City, part(&place.city, limits::CITY_CHARS_MAX));
}

/// What depends on the kind of message.
pub fn fill_kind<'e>(event: &mut Event<'e>, message: &Message<'_, 'e>, urls: &UrlTexts<'e>) {
    let payload = &message.payload;
    event.kind = match message.kind {
        Type::Identify => EventKind::Identify,
        Type::Performance => EventKind::Performance,
        Type::Event if matches!(payload.target, Some(Target::Link(_))) => EventKind::Link,
        Type::Event if matches!(payload.target, Some(Target::Pixel(_))) => EventKind::Pixel,
        Type::Event if payload.name.is_some_and(|name| !name.is_empty()) => EventKind::Custom,
        Type::Event => EventKind::PageView,
    };
    match event.kind {
        EventKind::Identify => {}
        EventKind::Performance => {
            event.set(Text::UrlPath, Some(urls.path));
            event.set(Text::PageTitle, urls.title);
            event.vitals = payload.vitals;
        }
        _ => fill_page(event, payload, urls),
    }
    if event.kind != EventKind::Performance {
        event.vitals = Vitals::default();
    }
}

fn fill_page<'e>(event: &mut Event<'e>, payload: &Payload<'_, 'e>, urls: &UrlTexts<'e>) {
    let named = payload.hostname.filter(|host| !host.is_empty());
    let named = named.map(|host| cut(host, limits::HOSTNAME_CHARS_MAX));
    // An address without a host is relative to this machine, as in Umami.
    let hostname = named.or(Some(urls.host).filter(|host| !host.is_empty())).or(Some("localhost"));
    event.set(Text::Hostname, hostname);
    event.set(Text::UrlPath, Some(urls.path));
    event.set(Text::UrlQuery, Some(urls.query));
    event.set(Text::PageTitle, urls.title);
    if let Some([domain, path, query]) = urls.referrer {
        event.set(Text::ReferrerDomain, Some(domain));
        event.set(Text::ReferrerPath, Some(path));
        event.set(Text::ReferrerQuery, Some(query));
    }
    let [source, medium, campaign, content, term] = urls.utm;
    event.set(Text::UtmSource, source);
    event.set(Text::UtmMedium, medium);
    event.set(Text::UtmCampaign, campaign);
    event.set(Text::UtmContent, content);
    event.set(Text::UtmTerm, term);
    event.set(Text::ClickId, urls.click_id);
    event.set(
        Text::EventName,
        payload
            .name
            .filter(|name| !name.is_empty())
            .map(|name| cut(name, limits::EVENT_NAME_CHARS_MAX)),
    );
    event.set(Text::Tag, payload.tag.map(|tag| cut(tag, limits::TAG_CHARS_MAX)));
    let landing = Landing {
        referrer_domain: urls.referrer.map(|[domain, ..]| domain),
        hostname,
        query: urls.query,
        utm_source: source,
        utm_medium: medium,
        utm_campaign: campaign,
    };
    event.set(Text::Channel, channel(&landing));
}
