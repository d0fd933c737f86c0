//! The operator's key of the two.

/// Whether the operator armed this process with `MCP_DRY_RUN=false`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OperatorSwitch {
    /// Destructive tools may fire, if the call carries its own key.
    Live,
    /// Nothing destructive fires.
    DryRun,
}

impl OperatorSwitch {
    /// Reads `MCP_DRY_RUN`. Only the exact text `false` is [`Self::Live`]: a typo stays dry.
    pub fn parse(variable: Option<&str>) -> Self {
        match variable {
            Some("false") => Self::Live,
            Some(_) | None => Self::DryRun,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OperatorSwitch;

    /// K2: only the literal `false` arms.
    #[test]
    fn only_the_literal_false_arms() {
        assert_eq!(OperatorSwitch::parse(Some("false")), OperatorSwitch::Live);
        for text in ["", "0", "no", "False", "FALSE", "disabled", "fasle", " false", "false ", "true", "off"]
        {
            assert_eq!(OperatorSwitch::parse(Some(text)), OperatorSwitch::DryRun, "{text:?}");
        }
        assert_eq!(OperatorSwitch::parse(None), OperatorSwitch::DryRun);
    }
}
