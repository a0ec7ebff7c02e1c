//! Arbitrary questions and answers about matches of game code.

use std::sync::Arc;

use muster_domain::query::Query;
use muster_live::Presence;
use muster_live::matches::{
    Broadcast, CarriedMatch, CarriedWaiting, Chain, Creation, Entered, Input, Joiner, LeaveReason, Left, ListQuery,
    Listed, MatchAnswer, MatchAsk, MatchId, Outline, Seated, Sender, Timer, Timers,
};

use crate::every::{every, fields};
use crate::messages::{any, number, size};
use crate::random::Random;

every!(MatchAsk, random,
    MatchAsk::Create(_) => MatchAsk::Create(any(random)),
    MatchAsk::Join { .. } => MatchAsk::Join { member: Box::new(any(random)), joiner: Arc::new(any(random)) },
    MatchAsk::Input { .. } => MatchAsk::Input {
        session: any(random),
        op_code: any(random),
        data: any(random),
        reliable: any(random),
        received_at: any(random),
    },
    MatchAsk::Signal { .. } => MatchAsk::Signal { data: any(random), chain: chain(random) },
    MatchAsk::Get => MatchAsk::Get,
);
every!(MatchAnswer, random,
    MatchAnswer::Created => MatchAnswer::Created,
    MatchAnswer::Entered(_) => MatchAnswer::Entered(Box::new(any(random))),
    MatchAnswer::Signalled(_) => MatchAnswer::Signalled(any(random)),
    MatchAnswer::Listed(_) => MatchAnswer::Listed(any(random)),
);
fields!(Joiner, random => Joiner {
    metadata: pairs(random),
    vars: pairs(random),
    token_expires_at_sec: any(random),
    client_ip: any(random),
    client_port: any(random),
});
fields!(MatchId, random => MatchId(any(random)));
fields!(Creation, random => Creation {
    handler: any(random),
    params: any(random),
    created_at: any(random),
    chain: chain(random),
    is_durable: any(random),
});
fields!(Entered, random => Entered {
    id: any(random),
    label: any(random),
    is_new: any(random),
    presences: any::<Vec<Presence>>(random).into(),
    total: size(random),
    session: any(random),
});
fields!(Listed, random => Listed {
    id: any(random),
    score: random.pick(&[0.0, 1.0, 7.5]),
    created_at: any(random),
    label: any(random),
    tick_rate: random.pick(&[0, 1, 60, u32::MAX]),
    handler: any(random),
    size: size(random),
});
fields!(ListQuery, random => ListQuery {
    query: any::<bool>(random).then(|| Arc::new(Query::parse(random.pick(&["*", "+label.mode:duel label.level:>=3"])).unwrap())),
    label: any(random),
    sizes: (size(random), size(random)),
    limit: size(random),
});

every!(LeaveReason, random,
    LeaveReason::Left => LeaveReason::Left,
    LeaveReason::Disconnected => LeaveReason::Disconnected,
    LeaveReason::Kicked => LeaveReason::Kicked,
);
every!(CarriedWaiting, random,
    CarriedWaiting::Attempt { .. } => CarriedWaiting::Attempt {
        member: Box::new(any(random)),
        joiner: Arc::new(any(random)),
        reply_to: any(random),
        left_ms: number(random),
    },
    CarriedWaiting::Join(_) => CarriedWaiting::Join(presence(random)),
    CarriedWaiting::Leave(_) => CarriedWaiting::Leave(any(random)),
    CarriedWaiting::Signal { .. } => CarriedWaiting::Signal {
        data: any(random),
        chain: chain(random),
        reply_to: any(random),
        left_ms: number(random),
    },
);
fields!(Left, random => Left { presence: presence(random), reason: any(random) });
fields!(Input, random => Input {
    sender: presence(random),
    op_code: any(random),
    data: any(random),
    reliable: any(random),
    received_at: any(random),
});
fields!(Sender, random => Sender { session_id: any(random), user_id: any(random), username: any(random) });
fields!(Broadcast, random => Broadcast {
    op_code: any(random),
    data: any(random),
    to: any(random),
    sender: any(random),
    reliable: any(random),
});
fields!(Seated, random => Seated { presence: presence(random), has_joined: any(random), is_kicked: any(random) });
fields!(Outline, random => Outline {
    id: any(random),
    handler: any(random),
    created_at: any(random),
    tick_rate: random.pick(&[0, 1, 60, u32::MAX]),
    tick: number(random),
    label: any(random),
    players: any(random),
    timers: Timers::of(any::<Vec<Timer>>(random)),
    sent: Vec::new(),
    sent_count: number(random),
});
fields!(Timer, random => Timer { name: any(random), due_tick: number(random), data: any(random) });
fields!(CarriedMatch, random => CarriedMatch {
    outline: any(random),
    listeners: any(random),
    waiting: any(random),
    inputs: any(random),
    due_ms: number(random),
    empty_ticks: number(random),
});

fn presence(random: &mut Random) -> Arc<Presence> {
    Arc::new(any(random))
}

fn chain(random: &mut Random) -> Chain {
    (0..random.below(3)).map(|_| any(random)).collect()
}

fn pairs(random: &mut Random) -> Vec<(String, String)> {
    (0..random.below(3)).map(|_| (any(random), any(random))).collect()
}
