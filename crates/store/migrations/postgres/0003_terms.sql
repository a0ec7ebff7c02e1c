-- The epoch of each job's latest owner. Writes of earlier owners, which come late, are refused by it.
CREATE TABLE muster_term (
    job text NOT NULL,
    epoch bigint NOT NULL,
    CONSTRAINT muster_term_pkey PRIMARY KEY (job)
);
