// How a difference is told.

const shown = (value) => (value === undefined ? "absent" : JSON.stringify(value));

/** Place, expected value and value that came, on three lines. */
export const described = ({ where, about, path, expected, got }) =>
  `${where}${about ? ` (${about})` : ""} / ${path}\n    expected ${shown(expected)}\n    got      ${shown(got)}`;
