//! What goes with a website when it goes, and which ids belong to one website only.

use super::*;
use crate::store::annotations::Note;

const OWNER: Uuid = Uuid::from_u128(7);

fn new(id: u128, name: &str, share_id: Option<&str>) -> NewWebsite {
    NewWebsite {
        id: Uuid::from_u128(id),
        name: name.to_owned(),
        domain: format!("{id}.example"),
        share_id: share_id.map(str::to_owned),
        owner: Owner::User(OWNER),
        created_by: OWNER,
    }
}

/// One row in every event table.
fn add_events(store: &Store, key: u32) {
    store
        .with_admin(|connection| {
            for sql in [
                "INSERT INTO facts.event (website_key, event_id, session_id, visit_id,
                     created_at, event_type, has_data) VALUES (?, 1, 1, 1, 1, 1, false)",
                "INSERT INTO facts.event_data (website_key, event_id, session_id, created_at,
                     data_key, data_type) VALUES (?, 1, 1, 1, 'k', 1)",
                "INSERT INTO facts.session_data (website_key, event_id, session_id,
                     created_at, data_key, data_type) VALUES (?, 1, 1, 1, 'k', 1)",
                "INSERT INTO facts.revenue VALUES (?, 1, 1, 1, 'e', 'EUR', 1)",
            ] {
                connection.execute(sql, [key])?;
            }
            Ok(())
        })
        .expect("rows");
}

fn rows_of(store: &Store, key: u32) -> i64 {
    let sql = "SELECT (SELECT count(*) FROM facts.event WHERE website_key = $1)
        + (SELECT count(*) FROM facts.event_data WHERE website_key = $1)
        + (SELECT count(*) FROM facts.session_data WHERE website_key = $1)
        + (SELECT count(*) FROM facts.revenue WHERE website_key = $1)";
    store.with_admin(|c| Ok(c.query_row(sql, [key], |row| row.get(0))?)).expect("a count")
}

#[test]
fn what_goes_with_a_website_is_its_own_and_its_key_is_not_used_again() {
    let temporary = tempfile::tempdir().expect("a directory");
    let store = Store::open(temporary.path()).expect("a new store");
    let directory = Directory::new(store.websites().expect("works"));
    let create =
        |id| store.create_website(&directory, &new(id, "n", None)).expect("works").expect("new");
    let (one, two) = (create(1), create(2));
    add_events(&store, one.key);
    add_events(&store, two.key);

    assert!(store.reset_website(&directory, one.id).expect("works"));
    assert_eq!((rows_of(&store, one.key), rows_of(&store, two.key)), (0, 4));
    assert!(directory.get(one.id).expect("known").reset_at.is_some());

    let note = Note { noted_at: 5, all_day: false, text: "n".to_owned() };
    let annotate =
        |key| store.annotate(key, OWNER, &note).expect("works").expect("room for a note").id;
    let (of_one, of_two) = (annotate(one.key), annotate(two.key));
    let is_kept = |key, id| store.annotation(key, id).expect("works").is_some();
    assert!(store.reset_website(&directory, one.id).expect("works"));
    assert!(is_kept(one.key, of_one) && !is_kept(two.key, of_one));

    add_events(&store, one.key);
    assert!(store.delete_website(&directory, one.id).expect("works"));
    assert!(!is_kept(one.key, of_one) && is_kept(two.key, of_two));
    assert!(!store.delete_website(&directory, one.id).expect("works"));
    assert!(!store.reset_website(&directory, one.id).expect("works"));
    assert_eq!((rows_of(&store, one.key), rows_of(&store, two.key)), (0, 4));
    assert!(directory.get(one.id).is_none());

    assert!(create(1).key > two.key, "a new website under the old id has another key");
    assert_eq!(store.websites().expect("works").len(), directory.len());
}

#[test]
fn ids_and_share_ids_belong_to_one_website() {
    let temporary = tempfile::tempdir().expect("a directory");
    let store = Store::open(temporary.path()).expect("a new store");
    let directory = Directory::default();
    let create = |new| store.create_website(&directory, &new).expect("works").err();
    let share = |id, share_id: &str| {
        let share_id = Some(Some(share_id.to_owned()));
        let change = WebsiteChange { share_id, ..WebsiteChange::default() };
        store.change_website(&directory, Uuid::from_u128(id), &change).expect("works").err()
    };
    assert_eq!(create(new(1, "a", Some("share"))), None);
    assert_eq!(create(new(1, "b", None)), Some(Refused::IdTaken));
    assert_eq!(create(new(2, "b", Some("share"))), Some(Refused::ShareIdTaken));
    assert_eq!(create(new(2, "b", Some("other"))), None);
    assert_eq!(share(2, "share"), Some(Refused::ShareIdTaken));
    assert_eq!(share(2, "other"), None);
    assert_eq!(share(3, "new"), Some(Refused::Unknown));
}
