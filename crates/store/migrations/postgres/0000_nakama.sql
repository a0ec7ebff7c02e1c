-- The tables, defaults, constraints and indexes of a Nakama 3.40 database under the same names, so that the original
-- server accepts the database as its own. A test compares the result with testdata/nakama-3.40-catalogue.txt.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE TABLE users (
    id uuid NOT NULL,
    username varchar(128) NOT NULL,
    display_name varchar(255),
    avatar_url varchar(512),
    lang_tag varchar(18) NOT NULL DEFAULT 'en',
    location varchar(255),
    timezone varchar(255),
    metadata jsonb NOT NULL DEFAULT '{}',
    wallet jsonb NOT NULL DEFAULT '{}',
    email varchar(255),
    password bytea,
    facebook_id varchar(128),
    google_id varchar(128),
    gamecenter_id varchar(128),
    steam_id varchar(128),
    custom_id varchar(128),
    edge_count integer NOT NULL DEFAULT 0,
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    verify_time timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00',
    disable_time timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00',
    facebook_instant_game_id varchar(128),
    apple_id varchar(128),
    CONSTRAINT users_edge_count_check CHECK (edge_count >= 0),
    CONSTRAINT users_password_check CHECK (length(password) < 32000),
    CONSTRAINT users_pkey PRIMARY KEY (id),
    CONSTRAINT users_apple_id_key UNIQUE (apple_id),
    CONSTRAINT users_custom_id_key UNIQUE (custom_id),
    CONSTRAINT users_email_key UNIQUE (email),
    CONSTRAINT users_facebook_id_key UNIQUE (facebook_id),
    CONSTRAINT users_facebook_instant_game_id_key UNIQUE (facebook_instant_game_id),
    CONSTRAINT users_gamecenter_id_key UNIQUE (gamecenter_id),
    CONSTRAINT users_google_id_key UNIQUE (google_id),
    CONSTRAINT users_steam_id_key UNIQUE (steam_id),
    CONSTRAINT users_username_key UNIQUE (username)
);
CREATE INDEX users_display_name_idx ON users USING gin (display_name gin_trgm_ops);

CREATE TABLE leaderboard (
    id varchar(128) NOT NULL,
    authoritative boolean NOT NULL DEFAULT false,
    sort_order smallint NOT NULL DEFAULT 1,
    operator smallint NOT NULL DEFAULT 0,
    reset_schedule varchar(64),
    metadata jsonb NOT NULL DEFAULT '{}',
    create_time timestamptz NOT NULL DEFAULT now(),
    category smallint NOT NULL DEFAULT 0,
    description varchar(255) NOT NULL DEFAULT '',
    duration integer NOT NULL DEFAULT 0,
    end_time timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00',
    join_required boolean NOT NULL DEFAULT false,
    max_size integer NOT NULL DEFAULT 100000000,
    max_num_score integer NOT NULL DEFAULT 1000000,
    title varchar(255) NOT NULL DEFAULT '',
    size integer NOT NULL DEFAULT 0,
    start_time timestamptz NOT NULL DEFAULT now(),
    enable_ranks boolean DEFAULT true,
    CONSTRAINT leaderboard_category_check CHECK (category >= 0),
    CONSTRAINT leaderboard_duration_check CHECK (duration >= 0),
    CONSTRAINT leaderboard_max_num_score_check CHECK (max_num_score > 0),
    CONSTRAINT leaderboard_max_size_check CHECK (max_size > 0),
    CONSTRAINT leaderboard_pkey PRIMARY KEY (id)
);
CREATE INDEX duration_start_time_end_time_category_idx ON leaderboard USING btree (duration, start_time, end_time DESC, category);
CREATE INDEX leaderboard_create_time_id_idx ON leaderboard USING btree (create_time, id);

CREATE TABLE console_acl_template (
    id uuid NOT NULL,
    name varchar(64) NOT NULL,
    description varchar(64) NOT NULL DEFAULT '',
    acl jsonb NOT NULL DEFAULT '{}',
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT console_acl_template_name_check CHECK (length(name) > 0),
    CONSTRAINT console_acl_template_pkey PRIMARY KEY (id),
    CONSTRAINT template_name_uniq UNIQUE (name)
);

CREATE TABLE console_audit_log (
    create_time timestamptz NOT NULL DEFAULT now(),
    id uuid NOT NULL,
    console_user_id uuid NOT NULL,
    console_username text NOT NULL,
    email text NOT NULL,
    action text NOT NULL,
    resource text NOT NULL,
    message text NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT console_audit_log_pkey PRIMARY KEY (create_time, console_username, action, resource, id),
    CONSTRAINT console_audit_log_id_key UNIQUE (id)
);

CREATE TABLE console_user (
    create_time timestamptz NOT NULL DEFAULT now(),
    disable_time timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00',
    email varchar(255) NOT NULL,
    id uuid NOT NULL,
    metadata jsonb NOT NULL DEFAULT '{}',
    password bytea,
    update_time timestamptz NOT NULL DEFAULT now(),
    username varchar(128) NOT NULL,
    mfa_secret bytea,
    mfa_recovery_codes bytea,
    mfa_required boolean DEFAULT false,
    acl jsonb NOT NULL DEFAULT '{"admin": false}',
    CONSTRAINT console_user_password_check CHECK (length(password) < 32000),
    CONSTRAINT console_user_pkey PRIMARY KEY (id),
    CONSTRAINT console_user_email_uniq UNIQUE (email),
    CONSTRAINT console_user_username_uniq UNIQUE (username)
);

CREATE TABLE group_edge (
    source_id uuid NOT NULL,
    position bigint NOT NULL,
    update_time timestamptz NOT NULL DEFAULT now(),
    destination_id uuid NOT NULL,
    state smallint NOT NULL DEFAULT 0,
    CONSTRAINT group_edge_destination_id_check CHECK (destination_id <> '00000000-0000-0000-0000-000000000000'),
    CONSTRAINT group_edge_source_id_check CHECK (source_id <> '00000000-0000-0000-0000-000000000000'),
    CONSTRAINT group_edge_pkey PRIMARY KEY (source_id, state, "position"),
    CONSTRAINT group_edge_source_id_destination_id_key UNIQUE (source_id, destination_id)
);

CREATE TABLE groups (
    id uuid NOT NULL,
    creator_id uuid NOT NULL,
    name varchar(255) NOT NULL,
    description varchar(255),
    avatar_url varchar(512),
    lang_tag varchar(18) NOT NULL DEFAULT 'en',
    metadata jsonb NOT NULL DEFAULT '{}',
    state smallint NOT NULL DEFAULT 0,
    edge_count integer NOT NULL DEFAULT 0,
    max_count integer NOT NULL DEFAULT 100,
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    disable_time timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00',
    CONSTRAINT groups_check CHECK ((edge_count >= 1) AND (edge_count <= max_count)),
    CONSTRAINT groups_max_count_check CHECK (max_count >= 1),
    CONSTRAINT groups_state_check CHECK (state >= 0),
    CONSTRAINT groups_pkey PRIMARY KEY (disable_time, lang_tag, edge_count, id),
    CONSTRAINT groups_id_key UNIQUE (id),
    CONSTRAINT groups_name_key UNIQUE (name)
);
CREATE INDEX edge_count_update_time_id_idx ON groups USING btree (disable_time, edge_count, update_time, id);
CREATE INDEX update_time_edge_count_id_idx ON groups USING btree (disable_time, update_time, edge_count, id);

CREATE TABLE leaderboard_record (
    leaderboard_id varchar(128) NOT NULL,
    owner_id uuid NOT NULL,
    username varchar(128),
    score bigint NOT NULL DEFAULT 0,
    subscore bigint NOT NULL DEFAULT 0,
    num_score integer NOT NULL DEFAULT 1,
    metadata jsonb NOT NULL DEFAULT '{}',
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    expiry_time timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00',
    max_num_score integer NOT NULL DEFAULT 1000000,
    CONSTRAINT leaderboard_record_max_num_score_check CHECK (max_num_score > 0),
    CONSTRAINT leaderboard_record_num_score_check CHECK (num_score >= 0),
    CONSTRAINT leaderboard_record_score_check CHECK (score >= 0),
    CONSTRAINT leaderboard_record_subscore_check CHECK (subscore >= 0),
    CONSTRAINT leaderboard_record_leaderboard_id_fkey FOREIGN KEY (leaderboard_id) REFERENCES leaderboard(id) ON DELETE CASCADE,
    CONSTRAINT leaderboard_record_pkey PRIMARY KEY (leaderboard_id, expiry_time, score, subscore, owner_id),
    CONSTRAINT leaderboard_record_owner_id_leaderboard_id_expiry_time_key UNIQUE (owner_id, leaderboard_id, expiry_time)
);
CREATE INDEX owner_id_expiry_time_leaderboard_id_idx ON leaderboard_record USING btree (owner_id, expiry_time, leaderboard_id);

CREATE TABLE message (
    id uuid NOT NULL,
    code smallint NOT NULL DEFAULT 0,
    sender_id uuid NOT NULL,
    username varchar(128) NOT NULL,
    stream_mode smallint NOT NULL,
    stream_subject uuid NOT NULL,
    stream_descriptor uuid NOT NULL,
    stream_label varchar(128) NOT NULL,
    content jsonb NOT NULL DEFAULT '{}',
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT message_sender_id_fkey FOREIGN KEY (sender_id) REFERENCES users(id) ON DELETE CASCADE,
    CONSTRAINT message_pkey PRIMARY KEY (stream_mode, stream_subject, stream_descriptor, stream_label, create_time, id),
    CONSTRAINT message_id_key UNIQUE (id),
    CONSTRAINT message_sender_id_id_key UNIQUE (sender_id, id)
);

CREATE TABLE migration_info (
    id text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT migration_info_pkey PRIMARY KEY (id)
);

CREATE TABLE notification (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    subject varchar(255) NOT NULL,
    content jsonb NOT NULL DEFAULT '{}',
    code smallint NOT NULL,
    sender_id uuid NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT notification_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
    CONSTRAINT notification_pkey PRIMARY KEY (user_id, create_time, id),
    CONSTRAINT notification_id_key UNIQUE (id)
);

CREATE TABLE purchase (
    create_time timestamptz NOT NULL DEFAULT now(),
    environment smallint NOT NULL DEFAULT 0,
    product_id varchar(512) NOT NULL,
    purchase_time timestamptz NOT NULL DEFAULT now(),
    raw_response jsonb NOT NULL DEFAULT '{}',
    store smallint NOT NULL DEFAULT 0,
    transaction_id varchar(512) NOT NULL,
    update_time timestamptz NOT NULL DEFAULT now(),
    user_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    refund_time timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00',
    CONSTRAINT purchase_transaction_id_check CHECK (length(transaction_id) > 0),
    CONSTRAINT purchase_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE SET DEFAULT,
    CONSTRAINT purchase_pkey PRIMARY KEY (transaction_id)
);
CREATE INDEX purchase_time_user_id_transaction_id_idx ON purchase USING btree (purchase_time DESC, user_id DESC, transaction_id DESC);

CREATE TABLE setting (
    name varchar(64) NOT NULL,
    value jsonb NOT NULL DEFAULT '{}',
    update_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT setting_name_check CHECK (length(name) > 0),
    CONSTRAINT setting_name_uniq PRIMARY KEY (name)
);

CREATE TABLE storage (
    collection varchar(128) NOT NULL,
    key varchar(128) NOT NULL,
    user_id uuid NOT NULL,
    value jsonb NOT NULL DEFAULT '{}',
    version varchar(32) NOT NULL,
    read smallint NOT NULL DEFAULT 1,
    write smallint NOT NULL DEFAULT 1,
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT storage_read_check CHECK (read >= 0),
    CONSTRAINT storage_write_check CHECK (write >= 0),
    CONSTRAINT storage_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
    CONSTRAINT storage_pkey PRIMARY KEY (collection, key, user_id)
);
CREATE INDEX collection_read_key_user_id_idx ON storage USING btree (collection, read, key, user_id);
CREATE INDEX collection_read_user_id_key_idx ON storage USING btree (collection, read, user_id, key);
CREATE INDEX collection_user_id_read_key_idx ON storage USING btree (collection, user_id, read, key);
CREATE INDEX storage_auto_index_fk_user_id_ref_users ON storage USING btree (user_id);

CREATE TABLE subscription (
    original_transaction_id varchar(512) NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    environment smallint NOT NULL DEFAULT 0,
    product_id varchar(512) NOT NULL,
    purchase_time timestamptz NOT NULL DEFAULT now(),
    store smallint NOT NULL DEFAULT 0,
    user_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    expire_time timestamptz NOT NULL,
    raw_response jsonb NOT NULL DEFAULT '{}',
    raw_notification jsonb NOT NULL DEFAULT '{}',
    refund_time timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00',
    CONSTRAINT subscription_original_transaction_id_check CHECK (length(original_transaction_id) > 0),
    CONSTRAINT subscription_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE SET DEFAULT,
    CONSTRAINT subscription_pkey PRIMARY KEY (original_transaction_id)
);
CREATE INDEX subscription_time_user_id_transaction_id_idx ON subscription USING btree (purchase_time DESC, user_id DESC, original_transaction_id DESC);

CREATE TABLE user_device (
    id varchar(128) NOT NULL,
    user_id uuid NOT NULL,
    preferences jsonb NOT NULL DEFAULT '{}',
    push_token_amazon varchar(512) NOT NULL DEFAULT '',
    push_token_android varchar(512) NOT NULL DEFAULT '',
    push_token_huawei varchar(512) NOT NULL DEFAULT '',
    push_token_ios varchar(512) NOT NULL DEFAULT '',
    push_token_web varchar(512) NOT NULL DEFAULT '',
    CONSTRAINT user_device_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
    CONSTRAINT user_device_pkey PRIMARY KEY (id),
    CONSTRAINT user_device_user_id_id_key UNIQUE (user_id, id)
);

CREATE TABLE user_edge (
    source_id uuid NOT NULL,
    position bigint NOT NULL,
    update_time timestamptz NOT NULL DEFAULT now(),
    destination_id uuid NOT NULL,
    state smallint NOT NULL DEFAULT 0,
    metadata jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT user_edge_destination_id_check CHECK (destination_id <> '00000000-0000-0000-0000-000000000000'),
    CONSTRAINT user_edge_source_id_check CHECK (source_id <> '00000000-0000-0000-0000-000000000000'),
    CONSTRAINT user_edge_destination_id_fkey FOREIGN KEY (destination_id) REFERENCES users(id) ON DELETE CASCADE,
    CONSTRAINT user_edge_source_id_fkey FOREIGN KEY (source_id) REFERENCES users(id) ON DELETE CASCADE,
    CONSTRAINT user_edge_pkey PRIMARY KEY (source_id, state, "position"),
    CONSTRAINT user_edge_source_id_destination_id_key UNIQUE (source_id, destination_id)
);
CREATE INDEX user_edge_auto_index_fk_destination_id_ref_users ON user_edge USING btree (destination_id);

CREATE TABLE user_tombstone (
    user_id uuid NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT user_tombstone_pkey PRIMARY KEY (create_time, user_id),
    CONSTRAINT user_tombstone_user_id_key UNIQUE (user_id)
);

CREATE TABLE users_notes (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    note text NOT NULL,
    create_id uuid,
    update_id uuid,
    CONSTRAINT users_notes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
    CONSTRAINT users_notes_pkey PRIMARY KEY (user_id, create_time, id),
    CONSTRAINT users_notes_id_key UNIQUE (id)
);

CREATE TABLE wallet_ledger (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    changeset jsonb NOT NULL,
    metadata jsonb NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now(),
    update_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT wallet_ledger_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
    CONSTRAINT wallet_ledger_pkey PRIMARY KEY (user_id, create_time, id),
    CONSTRAINT wallet_ledger_id_key UNIQUE (id)
);

INSERT INTO users (id, username) VALUES ('00000000-0000-0000-0000-000000000000', '');

INSERT INTO migration_info (id) VALUES
    ('20180103142001_initial_schema.sql'),
    ('20180805174141-tournaments.sql'),
    ('20200116134800-facebook-instant-games.sql'),
    ('20200615102232-apple.sql'),
    ('20201005180855-console.sql'),
    ('20210416090601-purchase.sql'),
    ('20220426122825-subscription.sql'),
    ('20221027145900-subscription-raw-columns.sql'),
    ('20230222172540-purchases-not-null-uid-1.sql'),
    ('20230222172540-purchases-not-null-uid-2.sql'),
    ('20230706095800-leaderboard-list-index.sql'),
    ('20240715155039-leaderboard-rank-enable.sql'),
    ('20240725115145-purchase-index-change.sql'),
    ('20240801100859-add-console-user-mfa.sql'),
    ('20250113112512_add_user_edge_metadata.sql'),
    ('20250703094700-add-console-settings.sql'),
    ('20250926112031-console-fine-grained-acl.sql'),
    ('20251015150737-add-user-notes-audit-acl-templates.sql'),
    ('20260319134532-add-display-name-index.sql');
