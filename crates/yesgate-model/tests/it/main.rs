//! What redeem promises, searched to the end and tried over a lossy net.

#[cfg(test)]
mod lossy_net;
#[cfg(test)]
mod redeem;
