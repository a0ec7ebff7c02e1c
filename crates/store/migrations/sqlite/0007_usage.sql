-- What accounts hold and send, counted with the writes of clients, so that quotas are held to at a look-up's cost. Writes
-- of game code and of operators are not counted at once: `counted_at` is when the objects were last counted one by one,
-- and a count that is too old for its purpose is made anew.
CREATE TABLE muster_object_usage (
    user_id UUID BLOB NOT NULL PRIMARY KEY,
    objects INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    counted_at TIME INTEGER NOT NULL
) WITHOUT ROWID;
-- Chat messages that clients made the server keep on the latest day on which they did; `day` counts from 1970.
CREATE TABLE muster_message_usage (
    user_id UUID BLOB NOT NULL PRIMARY KEY,
    day INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;
