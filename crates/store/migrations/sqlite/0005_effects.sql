-- What became of the writes of matches that are replayed after a crash: a write that comes again changes nothing and
-- gets the same outcome. No player is named here: who is meant, the write says that comes again.
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
