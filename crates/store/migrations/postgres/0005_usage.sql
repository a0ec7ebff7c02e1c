-- What accounts hold and send, counted with the writes of clients, so that quotas are held to at a look-up's cost. Writes
-- of game code, of the original server and of operators are not counted at once: `counted_at` is when the objects were
-- last counted one by one, and a count that is too old for its purpose is made anew. The columns `_max` are the quota of
-- the latest write, or more where there was more already: a write beyond it fails as a whole.
CREATE TABLE muster_object_usage (
    user_id uuid NOT NULL,
    objects bigint NOT NULL,
    bytes bigint NOT NULL,
    objects_max bigint NOT NULL,
    bytes_max bigint NOT NULL,
    counted_at timestamptz NOT NULL,
    CONSTRAINT muster_object_usage_pkey PRIMARY KEY (user_id),
    CONSTRAINT muster_object_usage_objects_check CHECK (objects <= objects_max),
    CONSTRAINT muster_object_usage_bytes_check CHECK (bytes <= bytes_max)
) WITH (fillfactor = 50);
-- Chat messages that clients made the server keep on the latest day on which they did; `day` counts from 1970.
CREATE TABLE muster_message_usage (
    user_id uuid NOT NULL,
    day bigint NOT NULL,
    messages bigint NOT NULL,
    bytes bigint NOT NULL,
    messages_max bigint NOT NULL,
    bytes_max bigint NOT NULL,
    CONSTRAINT muster_message_usage_pkey PRIMARY KEY (user_id),
    CONSTRAINT muster_message_usage_messages_check CHECK (messages <= messages_max),
    CONSTRAINT muster_message_usage_bytes_check CHECK (bytes <= bytes_max)
) WITH (fillfactor = 50);
