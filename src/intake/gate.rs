//! Admission before any work: rate, room in the ring, bodies in flight.
