-- `banned` is true if the revocation came with a ban; then open sockets are told of the ban before they close.
ALTER TABLE muster_revocation ADD COLUMN banned BOOLEAN INTEGER NOT NULL DEFAULT 0;
