-- An index for the messages of a conversation by its second user, which the deletion of an account needs. It covers only
-- conversations of two, so other messages cost nothing, and SQLite does not choose it for listings of other channels.
DROP INDEX message_stream_descriptor_idx;
CREATE INDEX message_direct_descriptor_idx ON message (stream_descriptor) WHERE stream_mode = 4;
