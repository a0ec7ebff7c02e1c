//! Rules about entering a channel, changing one's own messages, and reading the history.

use muster_domain::chat::{Channel, ChannelKind, Speaker, check_join};
use muster_domain::limits::{MESSAGE_CONTENT_BYTES_MAX, USER_MESSAGE_BYTES_PER_DAY};
use muster_domain::ports::chat::{Message, MessageCode};
use muster_domain::ports::storage::Authority;
use muster_domain::{ErrorKind, UserId};
use serde_json::{Value, json};

use crate::world::{Player, World};

const MALFORMED: &str = "The channel ID is not valid.";
const NO_MESSAGE: &str = "The history of this channel has no message of yours with this ID.";
const NO_GROUP: &str = "There is no group of this ID that you are a member of.";

fn user(player: &Player) -> UserId {
    player.id().parse().unwrap()
}

fn lobby() -> Channel {
    Channel::room("lobby").unwrap()
}

fn speaker<'a>(world: &'a World, player: &Player, username: &'a str) -> Speaker<'a> {
    let (store, clock, entropy) = (&*world.store, &*world.clock, &*world.entropy);
    Speaker { store, clock, entropy, user_id: user(player), username, authority: Authority::Client(user(player)) }
}

fn say(world: &World, player: &Player, channel: &Channel, number: usize) -> Message {
    let content = json!({ "n": number }).to_string();
    world.run(speaker(world, player, "ann").send(channel.clone(), content, true)).unwrap()
}

fn page(world: &World, player: &Player, channel: &Channel, query: &str) -> Value {
    world.ok("GET", &format!("/v2/channel/{channel}?{query}"), &player.bearer(), "")
}

/// The numbers in the messages of a page.
fn numbers(page: &Value) -> Vec<u64> {
    let messages = page["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let number = |message: &Value| {
        let content: Value = serde_json::from_str(message["content"].as_str().unwrap()).unwrap();
        content["n"].as_u64().unwrap()
    };
    messages.iter().map(number).collect()
}

fn cursor<'a>(page: &'a Value, name: &str) -> &'a str {
    page[name].as_str().unwrap_or_default()
}

#[test]
fn what_is_said_is_listed() {
    let world = World::new();
    let (ann, bob) = (world.device("0123456789"), world.device("9876543210"));
    let direct = Channel::direct(user(&bob), user(&ann)).unwrap();
    world.advance_micros(1_999_999);
    let said = say(&world, &ann, &lobby(), 7);
    let time = "2023-11-14T22:13:21Z";
    let expect = json!({
        "channel_id": "2...lobby", "message_id": said.id.to_string(), "code": 0, "sender_id": ann.id(),
        "username": "ann", "content": r#"{"n":7}"#, "create_time": time, "update_time": time, "persistent": true,
        "room_name": "lobby",
    });
    let found = page(&world, &bob, &lobby(), "");
    assert_eq!(found["messages"], json!([expect]));
    assert_eq!((cursor(&found, "next_cursor"), cursor(&found, "prev_cursor")), ("", ""));
    assert_ne!(cursor(&found, "cacheable_cursor"), "");

    say(&world, &ann, &direct, 8);
    let found = page(&world, &bob, &direct, "");
    let users = [user(&ann), user(&bob)];
    let [one, two] = [users.iter().min(), users.iter().max()].map(|user| user.unwrap().to_string());
    let ids = ["user_id_one", "user_id_two"].map(|name| found["messages"][0][name].as_str().unwrap());
    assert_eq!((ids, &found["messages"][0]["channel_id"]), ([&*one, &*two], &json!(format!("4.{one}.{two}."))));

    let transient = world.run(speaker(&world, &ann, "ann").send(lobby(), "{}".into(), false)).unwrap();
    assert!(!transient.persistent);
    assert_eq!(numbers(&page(&world, &ann, &lobby(), "limit=100")), [7]);
    assert_eq!(page(&world, &ann, &Channel::room("empty").unwrap(), ""), json!({}));
}

#[test]
fn pages_lead_to_each_other_in_both_directions() {
    let world = World::new();
    let ann = world.device("0123456789");
    for number in 0..10 {
        say(&world, &ann, &lobby(), number);
        // With this step four messages fall into each second.
        world.advance_micros(250_001);
    }
    let get = |query: String| page(&world, &ann, &lobby(), &query);
    assert_eq!(numbers(&get(String::new())), [0], "one, the oldest");
    let first = get("limit=4".into());
    let second = get(format!("limit=4&cursor={}", cursor(&first, "next_cursor")));
    let third = get(format!("limit=4&cursor={}", cursor(&second, "next_cursor")));
    assert_eq!((numbers(&first), numbers(&second), numbers(&third)), (vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]));
    assert_eq!(cursor(&third, "next_cursor"), "");
    let back = get(format!("limit=4&cursor={}", cursor(&third, "prev_cursor")));
    assert_eq!(numbers(&back), numbers(&second));
    let back = get(format!("limit=4&cursor={}", cursor(&back, "prev_cursor")));
    assert_eq!((numbers(&back), cursor(&back, "prev_cursor")), (numbers(&first), ""));

    let newest = get("limit=4&forward=false".into());
    let older = get(format!("limit=4&forward=false&cursor={}", cursor(&newest, "next_cursor")));
    assert_eq!((numbers(&newest), numbers(&older)), (vec![9, 8, 7, 6], vec![5, 4, 3, 2]));
    let back = get(format!("limit=4&forward=false&cursor={}", cursor(&older, "prev_cursor")));
    assert_eq!((numbers(&back), cursor(&back, "prev_cursor")), (numbers(&newest), ""));

    // The cursor for polling leads to messages that are newer than its page, in whichever direction the page was
    // listed.
    let poll = |page: &Value| get(format!("limit=100&cursor={}", cursor(page, "cacheable_cursor")));
    let nothing = poll(&newest);
    assert!(numbers(&nothing).is_empty());
    assert_eq!((numbers(&poll(&third)), numbers(&poll(&older))), (vec![], vec![6, 7, 8, 9]));
    say(&world, &ann, &lobby(), 10);
    assert_eq!((numbers(&poll(&newest)), numbers(&poll(&nothing))), (vec![10], vec![10]));
}

#[test]
fn a_cursor_is_good_for_its_own_listing_only() {
    let world = World::new();
    let ann = world.device("0123456789");
    (0..3).for_each(|number| drop(say(&world, &ann, &lobby(), number)));
    let first = page(&world, &ann, &lobby(), "");
    let next = cursor(&first, "next_cursor");
    let refused = |target: String, message| world.refused(("GET", &target, &ann.bearer(), ""), (400, 3, message));
    let foreign = "The cursor is not valid for this listing. Start again without one.";
    refused(format!("/v2/channel/2...other?cursor={next}"), foreign);
    refused(format!("/v2/notification?cacheable_cursor={next}"), foreign);
    refused("/v2/channel/2...lobby?cursor=x".into(), foreign);
    let turned = "The cursor is of a listing in the other direction.";
    refused(format!("/v2/channel/2...lobby?forward=false&cursor={next}"), turned);
    for limit in ["0", "101", "-1"] {
        refused(format!("/v2/channel/2...lobby?limit={limit}"), "The limit must be between 1 and 100.");
    }
}

#[test]
fn histories_are_read_by_those_who_belong_there() {
    let world = World::new();
    let [ann, bob, eve] = ["0123456789", "9876543210", "eve-of-the-web"].map(|device| world.device(device));
    let direct = Channel::direct(user(&ann), user(&bob)).unwrap();
    say(&world, &ann, &direct, 1);
    assert_eq!(numbers(&page(&world, &bob, &direct, "")), [1]);
    let refused = |channel: &str, message| {
        world.refused(("GET", &format!("/v2/channel/{channel}"), &eve.bearer(), ""), (400, 3, message));
    };
    refused(&direct.to_string(), MALFORMED);
    refused("3.018bcfe5-6800-7000-8040-80c1014181c2..", NO_GROUP);
    for id in ["lobby", "2...", "1...lobby", "3...", "4...", "2...a%0Ab"] {
        refused(id, MALFORMED);
    }
    let (status, _) = world.call("GET", "/v2/channel/2...lobby", "", "");
    assert_eq!(status, 401);
}

#[test]
fn joining_asks_for_an_allowed_target() {
    let world = World::new();
    let (ann, bob) = (world.device("0123456789"), world.device("9876543210"));
    let join = |kind, target: &str| {
        let outcome = world.run(check_join(&*world.store, user(&ann), kind, target));
        outcome.map(|channel| channel.to_string()).map_err(|error| (error.kind, error.message.into_owned()))
    };
    assert_eq!(join(ChannelKind::Room, "lobby"), Ok("2...lobby".into()));
    let direct = Channel::direct(user(&ann), user(&bob)).unwrap().to_string();
    assert_eq!(join(ChannelKind::Direct, &bob.id()), Ok(direct));
    let refusal = |message: &str| Err((ErrorKind::InvalidArgument, message.to_owned()));
    assert_eq!(join(ChannelKind::Room, ""), refusal("The name of a room must be 1 to 64 bytes long."));
    assert_eq!(join(ChannelKind::Room, "a\tb"), refusal("The name of a room must not contain control characters."));
    assert_eq!(join(ChannelKind::Direct, "bob"), refusal("The user ID is not a valid UUID."));
    assert_eq!(join(ChannelKind::Direct, &ann.id()), refusal("A direct channel needs two users; this is one."));
    let system = "A direct channel cannot be opened with the system user.";
    assert_eq!(join(ChannelKind::Direct, &UserId::SYSTEM.to_string()), refusal(system));
    let nobody = "018bcfe5-6800-7000-8040-80c1014181c2";
    assert_eq!(join(ChannelKind::Direct, nobody), refusal("There is no user of this ID."));
    assert_eq!(join(ChannelKind::Group, nobody), refusal(NO_GROUP));
    assert_eq!(join(ChannelKind::Group, "friends"), refusal("The group ID is not a valid UUID."));
}

#[test]
fn authors_change_and_remove_what_they_said() {
    let world = World::new();
    let (ann, bob) = (world.device("0123456789"), world.device("9876543210"));
    let said = say(&world, &ann, &lobby(), 1);
    let id = said.id.to_string();
    world.advance_sec(5);
    let (author, other) = (speaker(&world, &ann, "renamed"), speaker(&world, &bob, "bob"));
    let update = |speaker: Speaker<'_>, channel: Channel, id: &str, persistent| {
        let outcome = world.run(speaker.update(channel, id, r#"{"n":2}"#.into(), persistent));
        outcome.map_err(|error| error.message.into_owned())
    };
    // However authors joined, they cannot change messages of others, or messages of another channel.
    for persistent in [true, false] {
        assert_eq!(update(other, lobby(), &id, persistent), Err(NO_MESSAGE.into()));
        assert_eq!(update(author, Channel::room("other").unwrap(), &id, persistent), Err(NO_MESSAGE.into()));
        let removed = world.run(other.remove(lobby(), &id, persistent));
        assert_eq!(removed.unwrap_err().message, NO_MESSAGE);
    }
    let unknown = "018bcfe5-6800-7000-8040-80c1014181c2";
    assert_eq!(update(author, lobby(), unknown, true), Err(NO_MESSAGE.into()));
    assert_eq!(update(author, lobby(), "x", true), Err("The message ID is not a valid UUID.".into()));
    let wrong = world.run(author.update(lobby(), &id, "[]".into(), true));
    assert_eq!(wrong.unwrap_err().message, "The content must be a JSON object.");

    let heard = update(author, lobby(), &id, true).unwrap();
    let update_time = said.create_time.plus_seconds(5);
    assert_eq!(
        (heard.code, heard.create_time, heard.update_time),
        (MessageCode::UPDATE, said.create_time, update_time)
    );
    let found = page(&world, &bob, &lobby(), "");
    assert_eq!(numbers(&found), [2]);
    assert_eq!(found["messages"][0]["code"], 0, "stored messages keep their code");
    assert_eq!(
        (&found["messages"][0]["username"], &found["messages"][0]["message_id"]),
        (&json!("renamed"), &json!(id))
    );

    let heard = world.run(author.remove(lobby(), &id, true)).unwrap();
    assert_eq!((heard.code, heard.content.as_str(), heard.persistent), (MessageCode::REMOVE, "{}", true));
    assert_eq!(page(&world, &bob, &lobby(), ""), json!({}));
    // A message that was never stored is changed for the sessions that heard it.
    let heard = update(author, lobby(), unknown, false).unwrap();
    assert_eq!((heard.code, heard.persistent, heard.create_time), (MessageCode::UPDATE, false, update_time));
}

#[test]
fn only_so_much_is_kept_of_one_day() {
    let world = World::new();
    let ann = world.device("0123456789");
    let long = json!({ "a": "x".repeat(MESSAGE_CONTENT_BYTES_MAX - 8) }).to_string();
    let send = |content: &str, persistent| {
        world.run(speaker(&world, &ann, "ann").send(lobby(), content.to_owned(), persistent))
    };
    for _ in 0..USER_MESSAGE_BYTES_PER_DAY as usize / MESSAGE_CONTENT_BYTES_MAX {
        send(&long, true).unwrap();
    }
    let refused = send("{}", true).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::ResourceExhausted);
    // The world begins at 22:13:20.
    assert_eq!(refused.retry_after_sec.map(u32::from), Some(6_400));
    send("{}", false).unwrap();
    let as_server = Speaker { authority: Authority::Server, ..speaker(&world, &ann, "ann") };
    world.run(as_server.send(lobby(), "{}".to_owned(), true)).unwrap();
    world.advance_sec(6_400);
    send("{}", true).unwrap();
}
