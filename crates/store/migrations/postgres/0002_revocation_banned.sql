-- `banned` is true if the revocation came with a ban; then open sockets are told of the ban before they close. The
-- default lets servers that do not know the column yet go on writing rows.
ALTER TABLE muster_revocation ADD COLUMN banned boolean NOT NULL DEFAULT false;
