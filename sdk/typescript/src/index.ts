// What Muster adds to the official JavaScript client. Nothing of that is changed.

export { ResumableAdapter, type ResumableOptions } from "./resumable.js";
