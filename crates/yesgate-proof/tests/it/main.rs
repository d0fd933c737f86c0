//! What a proof promises, tried with a real authenticator and the real `ssh-keygen`.

#[cfg(test)]
mod consent;
#[cfg(test)]
mod passkeys;
#[cfg(test)]
mod receipts;
#[cfg(test)]
mod seals;
#[cfg(test)]
mod signatures;
#[cfg(test)]
mod support;
