//! The columns that can be filtered and listed: a closed enum, their names in a query and in the event table.

/// A column that can be filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Path,
    Query,
    Title,
    Referrer,
    Hostname,
    Tag,
    Event,
    UtmSource,
    UtmMedium,
    UtmCampaign,
    UtmContent,
    UtmTerm,
    Browser,
    Os,
    Device,
    Screen,
    Language,
    Country,
    Region,
    City,
    DistinctId,
}

/// The columns by their names in a query, and whether the name counts without a digit behind it.
const NAMES: [(&str, Column, bool); 26] = [
    ("path", Column::Path, true),
    ("url", Column::Path, true),
    ("entry", Column::Path, false),
    ("exit", Column::Path, false),
    ("query", Column::Query, true),
    ("title", Column::Title, true),
    ("referrer", Column::Referrer, true),
    ("domain", Column::Referrer, false),
    ("hostname", Column::Hostname, true),
    ("host", Column::Hostname, true),
    ("tag", Column::Tag, true),
    ("event", Column::Event, true),
    ("utmSource", Column::UtmSource, true),
    ("utmMedium", Column::UtmMedium, true),
    ("utmCampaign", Column::UtmCampaign, true),
    ("utmContent", Column::UtmContent, true),
    ("utmTerm", Column::UtmTerm, true),
    ("browser", Column::Browser, true),
    ("os", Column::Os, true),
    ("device", Column::Device, true),
    ("screen", Column::Screen, false),
    ("language", Column::Language, true),
    ("country", Column::Country, true),
    ("region", Column::Region, true),
    ("city", Column::City, true),
    ("distinctId", Column::DistinctId, true),
];

impl Column {
    /// Of a parameter's name, with or without digits behind it.
    #[must_use]
    pub fn of_parameter(name: &str) -> Option<Self> {
        let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let numbered = base.len() < name.len();
        let (_, column, alone) = NAMES.into_iter().find(|(known, ..)| *known == base)?;
        (alone || numbered).then_some(column)
    }

    /// Of a name as segments have it: any of the names, a digit or not.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        NAMES.into_iter().find(|(known, ..)| *known == base).map(|(_, column, _)| column)
    }

    /// Its name in the event table.
    #[must_use]
    pub fn sql(self) -> &'static str {
        match self {
            Self::Path => "url_path",
            Self::Query => "url_query",
            Self::Title => "page_title",
            Self::Referrer => "referrer_domain",
            Self::Hostname => "hostname",
            Self::Tag => "tag",
            Self::Event => "event_name",
            Self::UtmSource => "utm_source",
            Self::UtmMedium => "utm_medium",
            Self::UtmCampaign => "utm_campaign",
            Self::UtmContent => "utm_content",
            Self::UtmTerm => "utm_term",
            Self::Browser => "browser",
            Self::Os => "os",
            Self::Device => "device",
            Self::Screen => "screen",
            Self::Language => "language",
            Self::Country => "country",
            Self::Region => "region",
            Self::City => "city",
            Self::DistinctId => "distinct_id",
        }
    }

    /// What is compared: the column, or with `whole` a text even where there is no value.
    #[must_use]
    pub fn subject(self, whole: bool) -> String {
        if whole { format!("coalesce({}, '')", self.sql()) } else { self.sql().to_owned() }
    }

    /// What a value means: an unknown browser, country, … is one without a value.
    #[must_use]
    pub fn meant(self, value: &str) -> &str {
        let of_client = matches!(
            self,
            Self::Browser
                | Self::Os
                | Self::Device
                | Self::Screen
                | Self::Language
                | Self::Country
                | Self::Region
                | Self::City
        );
        if of_client && value.eq_ignore_ascii_case("(unknown)") { "" } else { value }
    }
}
