-- Muster's own tables. The original server ignores them, and they do not restrict it: no foreign key refers to its
-- tables.

-- Revoked session tokens, under a pseudonym of the user, so that the rows may outlive the account.
CREATE TABLE muster_revocation (
    sequence bigint GENERATED ALWAYS AS IDENTITY,
    subject bytea NOT NULL,
    token_id uuid,
    keep_token_id uuid,
    all_tokens boolean NOT NULL,
    revoked_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    close_sockets boolean NOT NULL,
    CONSTRAINT muster_revocation_pkey PRIMARY KEY (sequence)
);
CREATE INDEX muster_revocation_revoked_at_idx ON muster_revocation (revoked_at);
CREATE INDEX muster_revocation_expires_at_idx ON muster_revocation (expires_at);
