//! Every byte format of Muster: protobuf, the JSON dialect, envelopes, tokens, the operation table.
