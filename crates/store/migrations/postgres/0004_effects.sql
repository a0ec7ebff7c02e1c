-- What became of the writes of matches that are replayed after a crash: a write that comes again changes nothing and
-- gets the same outcome. No player is named here: who is meant, the write says that comes again.
CREATE TABLE muster_effect (
    match_id uuid NOT NULL,
    tick bigint NOT NULL,
    ordinal bigint NOT NULL,
    fingerprint bytea NOT NULL,
    format smallint NOT NULL,
    outcome text NOT NULL,
    create_time timestamptz NOT NULL,
    CONSTRAINT muster_effect_pkey PRIMARY KEY (match_id, tick, ordinal)
);
CREATE INDEX muster_effect_create_time_idx ON muster_effect (create_time);
