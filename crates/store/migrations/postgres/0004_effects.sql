-- Outcomes of keyed writes of durable matches. When a match is replayed after a crash, a write that comes again changes
-- nothing and gets the same outcome. No row names a player: the players stand in the write, which comes again.
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
