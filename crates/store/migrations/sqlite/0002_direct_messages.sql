-- Only conversations of two are looked for by the second of their users: no other message pays for that, and no listing
-- of a channel is led astray from the table's own order.
DROP INDEX message_stream_descriptor_idx;
CREATE INDEX message_direct_descriptor_idx ON message (stream_descriptor) WHERE stream_mode = 4;
