//! Durable matches. Wherever the process of a match is killed, the match goes on like its twin, whose process is never
//! killed.

mod admission;
mod disk;
mod failures;
mod life;
mod node;
mod restored;

use muster_live::matches::{Broadcast, Outcome, Outline, Return};
use serde_json::Value as Json;

use self::disk::Disk;
use self::life::{Life, Script, Shelf, replay};

/// A handler that iterates over tables, draws, reads clock and storage, and pays.
const LUA: &str = "
    local nk = require('nakama')
    local helper = require('helper')
    local M = { durable = true }

    local function shown(state)
        local parts = {}
        for name, count in pairs(state.counts) do parts[#parts + 1] = name .. '=' .. count end
        for player in pairs(state.players) do parts[#parts + 1] = player end
        return table.concat(parts, ' ')
    end

    function M.match_init(context, params)
        local deck = {}
        for card = 1, 52 do deck[card] = card end
        return { counts = { first = helper.start }, players = {}, deck = deck, drawn = math.random(1, 100), pays = params.pays, paid = 0 },
            10, 'label ' .. params.name
    end

    function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
        return state, metadata.team ~= 'blue', 'no blue'
    end

    function M.match_join(context, dispatcher, tick, state, presences)
        for _, presence in ipairs(presences) do state.players[presence.user_id] = { since = os.time(), id = nk.uuid_v4() } end
        dispatcher.match_label_update('players ' .. shown(state))
        return state
    end

    function M.match_leave(context, dispatcher, tick, state, presences)
        for _, presence in ipairs(presences) do state.players[presence.user_id] = nil end
        dispatcher.broadcast_message(3, shown(state))
        return state
    end

    function M.match_loop(context, dispatcher, tick, state, messages)
        for _, message in ipairs(messages) do
            local name = message.data
            state.counts[name] = (state.counts[name] or 0) + message.op_code
            if math.random() < 0.3 then state.counts[name] = nil end
        end
        local first, second = math.random(52), math.random(52)
        state.deck[first], state.deck[second] = state.deck[second], state.deck[first]
        if tick % 4 == 1 then
            local read = nk.storage_read({ { collection = 'game', key = 'shared', user_id = '00000000-0000-0000-0000-000000000000' } })
            state.counts.read = (state.counts.read or 0) + #read
            if state.pays then
                nk.storage_write({ { collection = 'game', key = context.match_id, value = { tick = tick, cards = state.deck } } })
            end
        end
        if state.pays and tick % 3 == 2 then
            local ok, why = pcall(nk.wallet_update, helper.payee, { gold = math.random(10) }, { tick = tick }, true)
            local refused = pcall(nk.wallet_update, helper.payee, { silver = -1 }, {}, true)
            state.paid = state.paid + 1
            dispatcher.broadcast_message_deferred(4, 'paid ' .. tostring(ok or why) .. tostring(refused))
        end
        dispatcher.broadcast_message(1, tick .. ' ' .. os.date('!%X') .. ' ' .. os.clock() .. ' ' .. shown(state))
        return state
    end

    function M.match_timer(context, dispatcher, tick, state, name, data)
        state.counts[data] = (state.counts[data] or 0) + 1
        dispatcher.set_timer('bell', math.random(100, 5000), data)
        if math.random() < 0.3 then dispatcher.cancel_timer('bell') end
        return state
    end

    function M.match_terminate(context, dispatcher, tick, state, grace_seconds) return state end

    function M.match_signal(context, dispatcher, tick, state, data)
        return state, nk.json_encode({ counts = state.counts, players = state.players, deck = state.deck, shown = shown(state),
            drawn = state.drawn, paid = state.paid, chance = math.random() })
    end
    return M";

const JAVASCRIPT: &str = "
    function shown(state) {
        return Object.keys(state.counts).map(n => n + '=' + state.counts[n]).concat(Object.keys(state.players)).join(' ');
    }
    const handler = {
        durable: true,
        matchInit: (ctx, logger, nk, params) => ({
            state: { counts: { first: 3 }, players: {}, drawn: Math.random(), pays: params.pays, paid: 0, missing: undefined, bytes: new Uint8Array([1, 2]) },
            tickRate: 10, label: 'label ' + params.name }),
        matchJoinAttempt: (ctx, logger, nk, dispatcher, tick, state, presence, metadata) =>
            ({ state, accept: metadata.team !== 'blue', rejectMessage: 'no blue' }),
        matchJoin: (ctx, logger, nk, dispatcher, tick, state, presences) => {
            for (const p of presences) state.players[p.userId] = { since: Date.now(), id: nk.uuidv4() };
            dispatcher.matchLabelUpdate('players ' + shown(state));
            return { state };
        },
        matchLeave: (ctx, logger, nk, dispatcher, tick, state, presences) => {
            for (const p of presences) delete state.players[p.userId];
            dispatcher.broadcastMessage(3, shown(state));
            return { state };
        },
        matchLoop: (ctx, logger, nk, dispatcher, tick, state, messages) => {
            for (const m of messages) {
                const name = nk.binaryToString(m.data);
                state.counts[name] = (state.counts[name] || 0) + m.opCode;
                if (Math.random() < 0.3) delete state.counts[name];
            }
            if (tick % 4 === 1) {
                state.counts.read = nk.storageRead([{ collection: 'game', key: 'shared', userId: '00000000-0000-0000-0000-000000000000' }]).length;
                if (state.pays) nk.storageWrite([{ collection: 'game', key: ctx.matchId, value: { tick }, permissionRead: 1 }]);
            }
            if (state.pays && tick % 3 === 2) {
                nk.walletUpdate('d0000000-0000-4000-8000-000000000063', { gold: 1 + Math.floor(Math.random() * 10) }, { tick }, true);
                let refused = '';
                try { nk.walletUpdate('d0000000-0000-4000-8000-000000000063', { silver: -1 }, {}, true); } catch (e) { refused = e.message; }
                state.paid++;
                dispatcher.broadcastMessageDeferred(4, 'paid ' + refused);
            }
            dispatcher.broadcastMessage(1, tick + ' ' + new Date().toISOString() + ' ' + shown(state));
            return { state };
        },
        matchTimer: (ctx, logger, nk, dispatcher, tick, state, name, data) => {
            state.counts[data] = (state.counts[data] || 0) + 1;
            dispatcher.setTimer('bell', 100 + Math.floor(Math.random() * 5000), data);
            if (Math.random() < 0.3) dispatcher.cancelTimer('bell');
            return { state };
        },
        matchTerminate: (ctx, logger, nk, dispatcher, tick, state) => ({ state }),
        matchSignal: (ctx, logger, nk, dispatcher, tick, state, data) =>
            ({ state, data: JSON.stringify([state, shown(state), Math.random()]) }),
    };
    function InitModule(ctx, logger, nk, initializer) { initializer.registerMatch('game', handler); }";

/// Processes after which a match that ends at all has ended.
const PROCESSES_MAX: usize = 1_000;

/// Plays scripts in processes that are killed again and again, and compares each match with a twin. One match in eight
/// pays and stores objects.
fn compare(files: &[(&str, &str)], lives: u64, seed: u64) {
    let (mut kills, mut repeated) = (0, 0);
    // Only matches that pay leave anything in this database.
    let unpaid = Shelf::new();
    for life in 0..lives {
        let mut random = fastrand::Rng::with_seed(seed * 1_000_000 + life);
        let pays = life % 8 == 0;
        let script = Script::random(&mut random, pays);
        let (twin_shelf, shelf) = if pays { (&Shelf::new(), &Shelf::new()) } else { (&unpaid, &unpaid) };
        let twin_disk = Disk::dying(u64::MAX);
        let twin = Life::run(&script, files, twin_shelf, &twin_disk);
        if life % 16 == 0 {
            let (replayed, differences) = replay(&script, files, &twin_disk);
            assert_eq!(differences, [""; 0], "life {life}: its recording, played again");
            assert!(replayed.calls == twin.seen.len() as u64 && replayed.states > 0, "{replayed:?}");
        }
        assert!(twin.is_over, "the twin plays to its end: {:?}", twin.seen.last_key_value());
        let mut disk = Disk::dying(random.u64(1..120));
        for process in 1.. {
            let played = Life::run(&script, files, shelf, &disk);
            assert!(process < PROCESSES_MAX, "life {life}, which pays: {pays}, does not end");
            for (number, returned) in &played.seen {
                assert_eq!(returned, &twin.seen[number], "life {life}: move {number}");
            }
            if let Some((number, sent)) = played.again.clone() {
                repeated += 1;
                // Some broadcasts of the match are sent again, to the same receivers. All broadcasts of the last call
                // are among them.
                let bare = |said: Vec<Broadcast>| said.into_iter().map(|said| (said.op_code, said.data));
                let all: Vec<_> = (0..=number).flat_map(|number| bare(twin.sent(number))).collect();
                let again: Vec<_> = bare(sent).collect();
                assert!(all.ends_with(&again), "life {life}: move {number}, made again");
                assert!(again.len() >= twin.sent(number).len(), "life {life}: move {number}, made again");
            }
            if played.is_over {
                let known = |life: &Life| Some(Outline { sent: Vec::new(), ..life.outline.clone()? });
                assert_eq!(known(&played), known(&twin), "life {life}: what the plane knows");
                break;
            }
            kills += 1;
            let share = random.f64() * 1.2;
            disk = disk.found(|count| (count as f64 * share) as usize, random.u64(1..160));
        }
        assert_eq!(shelf.wallet(), twin_shelf.wallet(), "life {life}: what was paid");
        assert_eq!(shelf.objects(), twin_shelf.objects(), "life {life}: what was stored");
    }
    assert!(kills > lives / 2 && repeated > lives / 4, "{kills} kills, {repeated} matches resumed");
}

const HELPER: &str = "return { start = 3, payee = 'd0000000-0000-4000-8000-000000000063' }";

#[test]
fn matches_in_lua_that_are_killed_go_on_as_twins_that_were_not() {
    compare(&[("game.lua", LUA), ("helper.lua", HELPER)], 1_000, 1);
}

#[test]
fn matches_in_javascript_that_are_killed_go_on_as_twins_that_were_not() {
    compare(&[("index.js", JAVASCRIPT)], 150, 2);
}

#[test]
fn what_a_match_pays_it_pays_once_whenever_it_is_killed() {
    const LIVES: u64 = 500;
    let pays_at_50 = "
        local nk = require('nakama')
        local M = { durable = true }
        function M.match_init() return { paid = 0 }, 10, '' end
        function M.match_join_attempt(context, dispatcher, tick, state) return state, true end
        function M.match_join(context, dispatcher, tick, state) return state end
        function M.match_leave(context, dispatcher, tick, state) return state end
        function M.match_loop(context, dispatcher, tick, state)
            if tick == 50 then
                local granted = nk.wallet_update('d0000000-0000-4000-8000-000000000063', { gold = 5 }, { of = context.match_id }, true)
                state.paid = state.paid + 1
            end
            return state
        end
        function M.match_terminate(context, dispatcher, tick, state) return state end
        function M.match_signal(context, dispatcher, tick, state) return state, tostring(state.paid) end
        return M";
    let files = [("game.lua", pays_at_50)];
    let shelf = Shelf::new();
    let mut kills = 0;
    for life in 0..LIVES {
        let mut random = fastrand::Rng::with_seed(life);
        let script = Script::of_ticks(55).of_match(life);
        // Most processes die around the call that pays.
        let mut disk = Disk::dying(if life % 4 == 0 { random.u64(..120) } else { random.u64(96..112) });
        loop {
            let played = Life::run(&script, &files, &shelf, &disk);
            if played.is_over {
                let (_, last) = played.seen.last_key_value().unwrap();
                assert_eq!(last.outcome, Outcome::Signalled("1".into()), "life {life}");
                break;
            }
            assert!(!played.is_gone, "life {life}: it does not go on");
            let failed = played.seen.values().find(|returned| matches!(returned.outcome, Outcome::Failed(_)));
            assert_eq!(failed, None, "life {life}");
            kills += 1;
            let share = random.f64() * 1.2;
            disk = disk.found(|count| (count as f64 * share) as usize, random.u64(1..60));
        }
    }
    assert!(kills >= LIVES, "{kills} kills");
    let (wallet, ledger) = shelf.wallet();
    assert_eq!(wallet, format!("{{\"gold\":{}}}", 5 * LIVES));
    let mut matches: Vec<String> = ledger.into_iter().map(|(_, of)| of).collect();
    matches.dedup();
    assert_eq!(matches.len() as u64, LIVES.min(100), "grants of {} matches", matches.len());
}

#[test]
fn the_state_must_be_plain_data_and_what_is_not_is_named() {
    let body = LUA.replace("paid = 0 }", "paid = 0, act = { now = pairs } }");
    let script = Script::random(&mut fastrand::Rng::with_seed(1), false);
    let files = [("game.lua", body.as_str()), ("helper.lua", HELPER)];
    let life = Life::run(&script, &files, &Shelf::new(), &Disk::dying(u64::MAX));
    let Outcome::Failed(why) = &life.seen[&0].outcome else { panic!("{:?}", life.seen[&0]) };
    assert!(why.starts_with("state.act.now is a function: the state of a durable match is plain data"), "{why}");
    let body = JAVASCRIPT.replace("paid: 0,", "paid: 0, all: new Array(2 ** 31),");
    assert_ne!(body, JAVASCRIPT);
    let life = Life::run(&script, &[("index.js", body.as_str())], &Shelf::new(), &Disk::dying(u64::MAX));
    let Outcome::Failed(why) = &life.seen[&0].outcome else { panic!("{:?}", life.seen[&0]) };
    assert!(why.starts_with("state.all has too many elements: the state of a durable match is plain data"), "{why}");
}

#[test]
fn the_log_keeps_what_is_needed_and_no_more() {
    let script = Script::of_ticks(2_000);
    let disk = Disk::dying(u64::MAX);
    let files = [("game.lua", LUA), ("helper.lua", HELPER)];
    let life = Life::run(&script, &files, &Shelf::new(), &disk);
    assert!(life.is_over);
    // Five seconds of ticks, each with its answers, and a snapshot.
    assert!((2..400).contains(&disk.records()), "{}", disk.records());
}

#[test]
fn a_match_whose_code_answers_otherwise_now_is_kept_until_it_fits_again() {
    let script = Script::of_ticks(30);
    let (shelf, disk) = (Shelf::new(), Disk::dying(95));
    let files = [("game.lua", LUA), ("helper.lua", HELPER)];
    let before = Life::run(&script, &files, &shelf, &disk);
    assert!(!before.is_over);
    let other = LUA.replace("nk.storage_read(", "nk.storage_list('', 'game', 10, '') nk.storage_read(");
    let disk = disk.found(|count| count, u64::MAX);
    let changed = Life::run(&script, &[("game.lua", &other), ("helper.lua", HELPER)], &shelf, &disk);
    assert!(changed.is_gone, "it does not go on with other code");
    let disk = disk.found(|count| count, u64::MAX);
    let again = Life::run(&script, &files, &shelf, &disk);
    assert!(again.is_over && !again.is_gone, "it goes on with its own code");
}

#[test]
fn a_recording_tells_where_other_code_does_something_else() {
    let script = Script::of_ticks(40);
    let files = [("game.lua", LUA), ("helper.lua", HELPER)];
    // The process dies. The recording of the next process begins where that process begins.
    let (shelf, disk) = (Shelf::new(), Disk::dying(60));
    assert!(!Life::run(&script, &files, &shelf, &disk).is_over);
    let second = disk.found(|count| count, u64::MAX);
    assert!(Life::run(&script, &files, &shelf, &second).is_over);
    for disk in [&disk, &second] {
        let (replayed, differences) = replay(&script, &files, disk);
        assert!(differences.is_empty() && replayed.calls > 5, "{replayed:?}: {differences:?}");
    }

    let said = LUA.replace("'paid ' ..", "'was paid ' ..");
    let (replayed, differences) = replay(&script, &[("game.lua", &said), ("helper.lua", HELPER)], &disk);
    // The third tick is the fourth call, counting the first callback.
    assert_eq!((replayed.calls, replayed.differences), (4, 1), "it ends where another match begins");
    let (now, before) = differences[0].split_once("; it was recorded that this ").unwrap();
    assert!(now.starts_with("its act 1 sends behind the loop op code ") && now.contains("was paid "), "{now}");
    assert!(before.starts_with("sends behind the loop op code ") && before.contains("\"paid "), "{before}");

    let asks = LUA.replace("nk.storage_read(", "nk.storage_list('', 'game', 10, '') nk.storage_read(");
    let (_, differences) = replay(&script, &[("game.lua", &asks), ("helper.lua", HELPER)], &disk);
    assert_eq!(differences, ["it called storage_list where it had called storage_read"]);

    let counts = LUA.replace("state.paid = state.paid + 1", "state.paid = state.paid + 2");
    let (_, differences) = replay(&script, &[("game.lua", &counts), ("helper.lua", HELPER)], &second);
    assert!(differences[0].starts_with("its state is another: "), "{differences:?}");
}

/// The answer to a signal.
fn answer(returned: &Return) -> Option<Json> {
    match &returned.outcome {
        Outcome::Signalled(data) => serde_json::from_str(data).ok(),
        _ => None,
    }
}

#[test]
fn cards_are_dealt_by_a_secret_of_the_match() {
    let files = [("game.lua", LUA), ("helper.lua", HELPER)];
    let drawn: Vec<String> = (0..2)
        .map(|secret| {
            let script = Script::of_ticks(5).with_secret(secret);
            let life = Life::run(&script, &files, &Shelf::new(), &Disk::dying(u64::MAX));
            life.seen.values().filter_map(answer).map(|state| state["deck"].to_string()).next_back().unwrap()
        })
        .collect();
    assert_ne!(drawn[0], drawn[1]);
}
