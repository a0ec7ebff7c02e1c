//! Durable rules of Muster by feature, and the ports they need.
