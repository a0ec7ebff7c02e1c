-- Rows of a server's life before Muster, at least one of every kind. HASH stands for the bcrypt hash of a password, as
-- the original writes it. Ids end in the number of their kind of row: 1 to 9 are players.

INSERT INTO users (id, username, display_name, email, password, custom_id, facebook_id, metadata, wallet, edge_count, create_time) VALUES
    ('00000000-0000-4000-8000-000000000001', 'ann', 'Ann Ä', 'ann@example.com', convert_to('HASH', 'UTF8'), 'custom-of-ann', NULL, '{"level": 7}', '{"gold": 5}', 1, '2021-05-06 07:08:09.123456+00'),
    ('00000000-0000-4000-8000-000000000002', 'bob', NULL, NULL, NULL, NULL, 'facebook-of-bob', '{}', '{}', 1, '2021-05-06 07:08:09+00'),
    ('00000000-0000-4000-8000-000000000003', 'cat', NULL, 'cat@example.com', convert_to('HASH', 'UTF8'), NULL, NULL, '{}', '{}', 0, '2022-01-01 00:00:00+00'),
    ('00000000-0000-4000-8000-000000000004', 'dan', NULL, 'dan@example.com', convert_to('HASH', 'UTF8'), NULL, NULL, '{}', '{}', 0, '2022-01-01 00:00:00+00');
INSERT INTO users (id, username, disable_time) VALUES
    ('00000000-0000-4000-8000-000000000005', 'eve', '2023-04-05 06:07:08+00');

INSERT INTO user_device (id, user_id, preferences, push_token_ios) VALUES
    ('first-device-of-ann', '00000000-0000-4000-8000-000000000001', '{"quiet": true}', 'push-token'),
    ('other-device-of-ann', '00000000-0000-4000-8000-000000000001', '{}', ''),
    ('first-device-of-bob', '00000000-0000-4000-8000-000000000002', '{}', ''),
    ('first-device-of-eve', '00000000-0000-4000-8000-000000000005', '{}', '');

INSERT INTO user_edge (source_id, position, destination_id, state, metadata) VALUES
    ('00000000-0000-4000-8000-000000000001', 1, '00000000-0000-4000-8000-000000000002', 0, '{"note": "a friend"}'),
    ('00000000-0000-4000-8000-000000000002', 1, '00000000-0000-4000-8000-000000000001', 0, '{}');

INSERT INTO groups (id, creator_id, name, edge_count) VALUES
    ('00000000-0000-4000-8000-000000000010', '00000000-0000-4000-8000-000000000001', 'the old guard', 1);
INSERT INTO group_edge (source_id, position, destination_id, state) VALUES
    ('00000000-0000-4000-8000-000000000010', 1, '00000000-0000-4000-8000-000000000001', 0),
    ('00000000-0000-4000-8000-000000000001', 1, '00000000-0000-4000-8000-000000000010', 0);

INSERT INTO message (id, sender_id, username, stream_mode, stream_subject, stream_descriptor, stream_label, content) VALUES
    ('00000000-0000-4000-8000-000000000011', '00000000-0000-4000-8000-000000000001', 'ann', 2, '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 'lobby', '{"text": "hello"}');
INSERT INTO notification (id, user_id, subject, code, sender_id) VALUES
    ('00000000-0000-4000-8000-000000000012', '00000000-0000-4000-8000-000000000002', 'a gift', 7, '00000000-0000-4000-8000-000000000001');

-- The version is the MD5 of the text {"hp": 1.50, "a": [1]}.
INSERT INTO storage (collection, key, user_id, value, version, read, write) VALUES
    ('saves', 'old', '00000000-0000-4000-8000-000000000001', '{"hp": 1.50, "a": [1]}', md5('{"hp": 1.50, "a": [1]}'), 2, 1),
    ('saves', 'sealed', '00000000-0000-4000-8000-000000000001', '{}', md5('{}'), 1, 0),
    ('shop', 'prices', '00000000-0000-0000-0000-000000000000', '{"sword": 3}', md5('{"sword": 3}'), 2, 0);

INSERT INTO leaderboard (id, reset_schedule, metadata) VALUES ('best', '0 0 * * *', '{"season": 1}');
INSERT INTO leaderboard_record (leaderboard_id, owner_id, username, score) VALUES
    ('best', '00000000-0000-4000-8000-000000000001', 'ann', 100);
INSERT INTO wallet_ledger (id, user_id, changeset, metadata) VALUES
    ('00000000-0000-4000-8000-000000000013', '00000000-0000-4000-8000-000000000001', '{"gold": 5}', '{}');
INSERT INTO purchase (product_id, transaction_id, user_id) VALUES
    ('gems', 'receipt-1', '00000000-0000-4000-8000-000000000001');
INSERT INTO subscription (original_transaction_id, product_id, user_id, expire_time) VALUES
    ('receipt-2', 'pass', '00000000-0000-4000-8000-000000000001', '2030-01-01 00:00:00+00');

INSERT INTO users_notes (id, user_id, note) VALUES
    ('00000000-0000-4000-8000-000000000014', '00000000-0000-4000-8000-000000000002', 'asked for help');
INSERT INTO user_tombstone (user_id) VALUES ('00000000-0000-4000-8000-000000000009');
INSERT INTO console_user (id, username, email, password) VALUES
    ('00000000-0000-4000-8000-000000000015', 'operator', 'operator@example.com', convert_to('HASH', 'UTF8'));
INSERT INTO console_acl_template (id, name) VALUES ('00000000-0000-4000-8000-000000000016', 'support');
INSERT INTO console_audit_log (id, console_user_id, console_username, email, action, resource, message) VALUES
    ('00000000-0000-4000-8000-000000000017', '00000000-0000-4000-8000-000000000015', 'operator', 'operator@example.com', 'ban', 'account', 'banned eve');
INSERT INTO setting (name, value) VALUES ('theme', '{"dark": true}');
