-- The tables of a Nakama database under their own names and columns, so that every feature has its place and
-- deletion and export cover all of them from the first day; and Muster's own tables, with the prefix muster_.
--
-- Declared types name a kind and SQLite's affinity: UUID is 16 bytes, TIME is microseconds since 1970, JSON is text,
-- BOOLEAN is 0 or 1. A column that is mostly NULL has a partial unique index, so that a sign-up changes few indexes.

CREATE TABLE users (
    id UUID BLOB NOT NULL PRIMARY KEY,
    username TEXT NOT NULL,
    display_name TEXT,
    avatar_url TEXT,
    lang_tag TEXT NOT NULL DEFAULT 'en',
    location TEXT,
    timezone TEXT,
    metadata JSON TEXT NOT NULL DEFAULT '{}',
    wallet JSON TEXT NOT NULL DEFAULT '{}',
    email TEXT,
    password BLOB,
    facebook_id TEXT,
    google_id TEXT,
    gamecenter_id TEXT,
    steam_id TEXT,
    custom_id TEXT,
    edge_count INTEGER NOT NULL DEFAULT 0 CHECK (edge_count >= 0),
    create_time TIME INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL,
    verify_time TIME INTEGER NOT NULL DEFAULT 0,
    disable_time TIME INTEGER NOT NULL DEFAULT 0,
    facebook_instant_game_id TEXT,
    apple_id TEXT
) WITHOUT ROWID;
CREATE UNIQUE INDEX users_username_key ON users (username);
CREATE UNIQUE INDEX users_email_key ON users (email) WHERE email IS NOT NULL;
CREATE UNIQUE INDEX users_custom_id_key ON users (custom_id) WHERE custom_id IS NOT NULL;
CREATE UNIQUE INDEX users_facebook_id_key ON users (facebook_id) WHERE facebook_id IS NOT NULL;
CREATE UNIQUE INDEX users_google_id_key ON users (google_id) WHERE google_id IS NOT NULL;
CREATE UNIQUE INDEX users_gamecenter_id_key ON users (gamecenter_id) WHERE gamecenter_id IS NOT NULL;
CREATE UNIQUE INDEX users_steam_id_key ON users (steam_id) WHERE steam_id IS NOT NULL;
CREATE UNIQUE INDEX users_apple_id_key ON users (apple_id) WHERE apple_id IS NOT NULL;
CREATE UNIQUE INDEX users_facebook_instant_game_id_key ON users (facebook_instant_game_id)
    WHERE facebook_instant_game_id IS NOT NULL;

CREATE TABLE user_device (
    id TEXT NOT NULL PRIMARY KEY,
    user_id UUID BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    preferences JSON TEXT NOT NULL DEFAULT '{}',
    push_token_amazon TEXT NOT NULL DEFAULT '',
    push_token_android TEXT NOT NULL DEFAULT '',
    push_token_huawei TEXT NOT NULL DEFAULT '',
    push_token_ios TEXT NOT NULL DEFAULT '',
    push_token_web TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX user_device_user_id_idx ON user_device (user_id);

CREATE TABLE user_edge (
    source_id UUID BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL,
    destination_id UUID BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    state INTEGER NOT NULL DEFAULT 0,
    metadata JSON TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (source_id, state, position),
    UNIQUE (source_id, destination_id)
) WITHOUT ROWID;
CREATE INDEX user_edge_destination_id_idx ON user_edge (destination_id);

CREATE TABLE user_tombstone (
    user_id UUID BLOB NOT NULL UNIQUE,
    create_time TIME INTEGER NOT NULL,
    PRIMARY KEY (create_time, user_id)
) WITHOUT ROWID;

CREATE TABLE users_notes (
    id UUID BLOB NOT NULL UNIQUE,
    user_id UUID BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    create_time TIME INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL,
    note TEXT NOT NULL,
    create_id UUID BLOB,
    update_id UUID BLOB,
    PRIMARY KEY (user_id, create_time, id)
) WITHOUT ROWID;

CREATE TABLE notification (
    id UUID BLOB NOT NULL UNIQUE,
    user_id UUID BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    subject TEXT NOT NULL,
    content JSON TEXT NOT NULL DEFAULT '{}',
    code INTEGER NOT NULL,
    sender_id UUID BLOB NOT NULL,
    create_time TIME INTEGER NOT NULL,
    PRIMARY KEY (user_id, create_time, id)
) WITHOUT ROWID;
CREATE INDEX notification_sender_id_idx ON notification (sender_id);

CREATE TABLE storage (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    user_id UUID BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    value JSON TEXT NOT NULL DEFAULT '{}',
    version TEXT NOT NULL,
    read INTEGER NOT NULL DEFAULT 1 CHECK (read >= 0),
    write INTEGER NOT NULL DEFAULT 1 CHECK (write >= 0),
    create_time TIME INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL,
    PRIMARY KEY (collection, key, user_id)
) WITHOUT ROWID;
CREATE INDEX storage_collection_read_key_user_id_idx ON storage (collection, read, key, user_id);
CREATE INDEX storage_user_id_collection_read_key_idx ON storage (user_id, collection, read, key);

CREATE TABLE message (
    id UUID BLOB NOT NULL UNIQUE,
    code INTEGER NOT NULL DEFAULT 0,
    sender_id UUID BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    username TEXT NOT NULL,
    stream_mode INTEGER NOT NULL,
    stream_subject UUID BLOB NOT NULL,
    stream_descriptor UUID BLOB NOT NULL,
    stream_label TEXT NOT NULL,
    content JSON TEXT NOT NULL DEFAULT '{}',
    create_time TIME INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL,
    PRIMARY KEY (stream_mode, stream_subject, stream_descriptor, stream_label, create_time, id),
    UNIQUE (sender_id, id)
) WITHOUT ROWID;
CREATE INDEX message_stream_descriptor_idx ON message (stream_mode, stream_descriptor);

CREATE TABLE leaderboard (
    id TEXT NOT NULL PRIMARY KEY,
    authoritative BOOLEAN INTEGER NOT NULL DEFAULT 0,
    sort_order INTEGER NOT NULL DEFAULT 1,
    operator INTEGER NOT NULL DEFAULT 0,
    reset_schedule TEXT,
    metadata JSON TEXT NOT NULL DEFAULT '{}',
    create_time TIME INTEGER NOT NULL,
    category INTEGER NOT NULL DEFAULT 0 CHECK (category >= 0),
    description TEXT NOT NULL DEFAULT '',
    duration INTEGER NOT NULL DEFAULT 0 CHECK (duration >= 0),
    end_time TIME INTEGER NOT NULL DEFAULT 0,
    join_required BOOLEAN INTEGER NOT NULL DEFAULT 0,
    max_size INTEGER NOT NULL DEFAULT 100000000 CHECK (max_size > 0),
    max_num_score INTEGER NOT NULL DEFAULT 1000000 CHECK (max_num_score > 0),
    title TEXT NOT NULL DEFAULT '',
    size INTEGER NOT NULL DEFAULT 0,
    start_time TIME INTEGER NOT NULL,
    enable_ranks BOOLEAN INTEGER DEFAULT 1
) WITHOUT ROWID;
CREATE INDEX leaderboard_create_time_id_idx ON leaderboard (create_time, id);
CREATE INDEX leaderboard_duration_start_time_end_time_category_idx
    ON leaderboard (duration, start_time, end_time DESC, category);

CREATE TABLE leaderboard_record (
    leaderboard_id TEXT NOT NULL REFERENCES leaderboard (id) ON DELETE CASCADE,
    owner_id UUID BLOB NOT NULL,
    username TEXT,
    score INTEGER NOT NULL DEFAULT 0 CHECK (score >= 0),
    subscore INTEGER NOT NULL DEFAULT 0 CHECK (subscore >= 0),
    num_score INTEGER NOT NULL DEFAULT 1 CHECK (num_score >= 0),
    metadata JSON TEXT NOT NULL DEFAULT '{}',
    create_time TIME INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL,
    expiry_time TIME INTEGER NOT NULL DEFAULT 0,
    max_num_score INTEGER NOT NULL DEFAULT 1000000 CHECK (max_num_score > 0),
    PRIMARY KEY (leaderboard_id, expiry_time, score, subscore, owner_id),
    UNIQUE (owner_id, leaderboard_id, expiry_time)
) WITHOUT ROWID;

CREATE TABLE wallet_ledger (
    id UUID BLOB NOT NULL UNIQUE,
    user_id UUID BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    changeset JSON TEXT NOT NULL,
    metadata JSON TEXT NOT NULL,
    create_time TIME INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL,
    PRIMARY KEY (user_id, create_time, id)
) WITHOUT ROWID;

CREATE TABLE groups (
    id UUID BLOB NOT NULL UNIQUE,
    creator_id UUID BLOB NOT NULL,
    name TEXT NOT NULL UNIQUE,
    description TEXT,
    avatar_url TEXT,
    lang_tag TEXT NOT NULL DEFAULT 'en',
    metadata JSON TEXT NOT NULL DEFAULT '{}',
    state INTEGER NOT NULL DEFAULT 0 CHECK (state >= 0),
    edge_count INTEGER NOT NULL DEFAULT 0,
    max_count INTEGER NOT NULL DEFAULT 100 CHECK (max_count >= 1),
    create_time TIME INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL,
    disable_time TIME INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (disable_time, lang_tag, edge_count, id),
    CHECK (edge_count >= 1 AND edge_count <= max_count)
) WITHOUT ROWID;
CREATE INDEX groups_edge_count_update_time_id_idx ON groups (disable_time, edge_count, update_time, id);
CREATE INDEX groups_update_time_edge_count_id_idx ON groups (disable_time, update_time, edge_count, id);
CREATE INDEX groups_creator_id_idx ON groups (creator_id);

CREATE TABLE group_edge (
    source_id UUID BLOB NOT NULL,
    position INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL,
    destination_id UUID BLOB NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (source_id, state, position),
    UNIQUE (source_id, destination_id)
) WITHOUT ROWID;
CREATE INDEX group_edge_destination_id_idx ON group_edge (destination_id);

CREATE TABLE purchase (
    create_time TIME INTEGER NOT NULL,
    environment INTEGER NOT NULL DEFAULT 0,
    product_id TEXT NOT NULL,
    purchase_time TIME INTEGER NOT NULL,
    raw_response JSON TEXT NOT NULL DEFAULT '{}',
    store INTEGER NOT NULL DEFAULT 0,
    transaction_id TEXT NOT NULL PRIMARY KEY CHECK (length(transaction_id) > 0),
    update_time TIME INTEGER NOT NULL,
    user_id UUID BLOB NOT NULL DEFAULT x'00000000000000000000000000000000'
        REFERENCES users (id) ON DELETE SET DEFAULT,
    refund_time TIME INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX purchase_user_id_idx ON purchase (user_id, purchase_time DESC, transaction_id DESC);
CREATE INDEX purchase_time_user_id_transaction_id_idx
    ON purchase (purchase_time DESC, user_id DESC, transaction_id DESC);

CREATE TABLE subscription (
    original_transaction_id TEXT NOT NULL PRIMARY KEY CHECK (length(original_transaction_id) > 0),
    create_time TIME INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL,
    environment INTEGER NOT NULL DEFAULT 0,
    product_id TEXT NOT NULL,
    purchase_time TIME INTEGER NOT NULL,
    store INTEGER NOT NULL DEFAULT 0,
    user_id UUID BLOB NOT NULL DEFAULT x'00000000000000000000000000000000'
        REFERENCES users (id) ON DELETE SET DEFAULT,
    expire_time TIME INTEGER NOT NULL,
    raw_response JSON TEXT NOT NULL DEFAULT '{}',
    raw_notification JSON TEXT NOT NULL DEFAULT '{}',
    refund_time TIME INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX subscription_user_id_idx ON subscription (user_id, purchase_time DESC, original_transaction_id DESC);
CREATE INDEX subscription_time_user_id_transaction_id_idx
    ON subscription (purchase_time DESC, user_id DESC, original_transaction_id DESC);

CREATE TABLE console_user (
    create_time TIME INTEGER NOT NULL,
    disable_time TIME INTEGER NOT NULL DEFAULT 0,
    email TEXT NOT NULL UNIQUE,
    id UUID BLOB NOT NULL PRIMARY KEY,
    metadata JSON TEXT NOT NULL DEFAULT '{}',
    password BLOB,
    update_time TIME INTEGER NOT NULL,
    username TEXT NOT NULL UNIQUE,
    mfa_secret BLOB,
    mfa_recovery_codes BLOB,
    mfa_required BOOLEAN INTEGER DEFAULT 0,
    acl JSON TEXT NOT NULL DEFAULT '{"admin": false}'
) WITHOUT ROWID;

CREATE TABLE console_acl_template (
    id UUID BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE CHECK (length(name) > 0),
    description TEXT NOT NULL DEFAULT '',
    acl JSON TEXT NOT NULL DEFAULT '{}',
    create_time TIME INTEGER NOT NULL,
    update_time TIME INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE console_audit_log (
    create_time TIME INTEGER NOT NULL,
    id UUID BLOB NOT NULL UNIQUE,
    console_user_id UUID BLOB NOT NULL,
    console_username TEXT NOT NULL,
    email TEXT NOT NULL,
    action TEXT NOT NULL,
    resource TEXT NOT NULL,
    message TEXT NOT NULL,
    metadata JSON TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (create_time, console_username, action, resource, id)
) WITHOUT ROWID;

CREATE TABLE setting (
    name TEXT NOT NULL PRIMARY KEY CHECK (length(name) > 0),
    value JSON TEXT NOT NULL DEFAULT '{}',
    update_time TIME INTEGER NOT NULL
) WITHOUT ROWID;

-- The original's list of migrations, which stays empty here: muster_migration lists the applied ones.
CREATE TABLE migration_info (
    id TEXT NOT NULL PRIMARY KEY,
    applied_at TIME INTEGER NOT NULL
) WITHOUT ROWID;

-- Revoked session tokens, under a pseudonym of the user, so that the rows may outlive the account. A sequence number is
-- never used again after its row is pruned, because readers remember the last number that they saw.
CREATE TABLE muster_revocation (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    subject UUID BLOB NOT NULL,
    token_id UUID BLOB,
    keep_token_id UUID BLOB,
    all_tokens BOOLEAN INTEGER NOT NULL,
    revoked_at TIME INTEGER NOT NULL,
    expires_at TIME INTEGER NOT NULL,
    close_sockets BOOLEAN INTEGER NOT NULL
);
CREATE INDEX muster_revocation_revoked_at_idx ON muster_revocation (revoked_at);
CREATE INDEX muster_revocation_expires_at_idx ON muster_revocation (expires_at);

INSERT INTO users (id, username, create_time, update_time)
VALUES (x'00000000000000000000000000000000', '', unixepoch() * 1000000, unixepoch() * 1000000);
