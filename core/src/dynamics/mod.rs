//! How one solid moves in one step: [`response`] for what pulls and drags (exact for linear forces, stable for
//! any gain and step), [`top`] for free rotation (angular momentum kept exactly).

pub mod response;
pub mod top;
