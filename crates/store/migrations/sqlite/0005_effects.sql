-- Outcomes of keyed writes of durable matches. When a match is replayed after a crash, a write that comes again changes
-- nothing and gets the same outcome. No row names a player: the players stand in the write, which comes again.
CREATE TABLE muster_effect (
    match_id UUID BLOB NOT NULL,
    tick INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    format INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    create_time TIME INTEGER NOT NULL,
    PRIMARY KEY (match_id, tick, ordinal)
) WITHOUT ROWID;
CREATE INDEX muster_effect_create_time_idx ON muster_effect (create_time);
