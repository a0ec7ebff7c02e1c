-- The epoch of each job's latest owner. Writes of earlier owners, which come late, are refused by it.
CREATE TABLE muster_term (
    job TEXT NOT NULL PRIMARY KEY,
    epoch INTEGER NOT NULL
) WITHOUT ROWID;
