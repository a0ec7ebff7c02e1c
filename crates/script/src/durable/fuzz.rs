//! Damaged logs and recordings of durable matches.

use bytes::Bytes;
use muster_testenv::fuzz::Fuzz;
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What as RecordKind;

use super::history::read;
use super::parts::split;
use super::transcript::Transcript;
use crate::value::Value;

/// Records of one match.
fn records() -> Vec<wire::Record> {
    let origin = wire::Origin {
        handler: "game".into(),
        created_at: 1_000,
        seed: vec![7; 32].into(),
        node: "n".into(),
        version: "v".into(),
    };
    let presence = wire::Presence {
        place: 65_536,
        key: 3,
        session_id: vec![1; 16].into(),
        user_id: vec![2; 16].into(),
        username: "ann".into(),
        ..wire::Presence::default()
    };
    let params = Value::Record(vec![("value", Value::text("x"))]).encode();
    let inputs = vec![wire::Input { sender: 0, op_code: -1, data: vec![1, 2].into(), ..wire::Input::default() }];
    let callback = wire::called::Callback::Loop(wire::Loop { senders: vec![presence.clone()], inputs });
    let answer = wire::answered::Answer::Value(params.clone().into());
    let act = wire::act::Act::Label("label".into());
    let kinds = [
        RecordKind::Begun(wire::Begun {
            origin: Some(origin.clone()),
            params: params.clone().into(),
            latest_write: None,
        }),
        RecordKind::Called(wire::Called { call: 1, now: 5, tick: 1, callback: Some(callback) }),
        RecordKind::Answered(wire::Answered {
            call: 1,
            function: "sql_query".into(),
            answer: Some(answer),
            ..Default::default()
        }),
        RecordKind::Returned(wire::Returned {
            call: 1,
            outcome: "on".into(),
            acts: vec![wire::Act { act: Some(act) }],
        }),
        RecordKind::Snapshot(wire::Snapshot {
            origin: Some(origin),
            calls: 1,
            state: params.into(),
            tick_rate: 10,
            players: vec![wire::Seated { presence: Some(presence), has_joined: true, is_kicked: false }],
            timers: vec![wire::Timer { name: "t".into(), due_tick: 9, data: "d".into() }],
            ..wire::Snapshot::default()
        }),
        RecordKind::Ended(wire::Ended { why: "over".into(), latest_write: None }),
    ];
    kinds.into_iter().map(|what| wire::Record { match_id: vec![9; 16].into(), what: Some(what) }).collect()
}

/// Records behind their lengths, as an input has them.
fn listed(records: &[wire::Record]) -> Vec<u8> {
    let parts = records.iter().flat_map(|record| split(record).expect("it is small"));
    parts.flat_map(|part| [&(part.len() as u16).to_le_bytes()[..], &part].concat()).collect()
}

#[test]
fn damaged_logs_are_read_as_far_as_they_can_be() {
    let all = records();
    let carried = RecordKind::Carried(wire::Carried { records: all.clone(), ..wire::Carried::default() });
    let carried = wire::Record { match_id: vec![9; 16].into(), what: Some(carried) };
    let seeds = [listed(&all), listed(&all[..4]), listed(&[all[4].clone(), all[1].clone()]), listed(&[carried])];
    let tried = Fuzz::new("match-records").seeds(seeds).run(|mut input| {
        let mut records = Vec::new();
        while let Some((length, rest)) = input.split_first_chunk::<2>() {
            let (record, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
            input = rest;
            records.push(Bytes::copy_from_slice(record));
        }
        let contents = read(records.clone());
        assert!(contents.ended.keys().all(|id| !contents.histories.contains_key(id)));
        let transcript = Transcript::read(records);
        // A match that goes on was begun, so its history and a recording of it have the same beginning.
        if let (Ok(transcript), None) = (&transcript, &contents.unreadable)
            && let Some(Ok(history)) = contents.histories.get(&transcript.id()).map(|history| history.calls.as_ref())
        {
            assert!(history.calls.len() <= transcript.calls.len());
        }
        !contents.histories.is_empty()
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}
