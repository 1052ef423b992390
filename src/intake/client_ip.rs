//! Which address and which header may be believed.
