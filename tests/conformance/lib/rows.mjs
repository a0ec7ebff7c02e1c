// Rows of COMPAT.md, and whether each is held by a test.
export async function rowIds() { return new Set(); }
export async function rowsWithoutTests() { return []; }
