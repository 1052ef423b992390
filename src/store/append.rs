//! One batch and the committed sequence in one transaction.
