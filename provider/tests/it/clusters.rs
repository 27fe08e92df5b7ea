//! Plans for one cluster of a claim with `template`: the table of each kind, and `next`.

mod fixture;
mod hostile;
mod kinds;
mod overdue;
mod publication;
