//! Form bodies of the query protocols, and text in their XML answers.

/// The `key=value` pairs of a request body, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl Form {
    pub fn parse(body: &[u8]) -> Self {
        let pairs = body.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
            let mut halves = pair.splitn(2, |&byte| byte == b'=');
            let key = decode(halves.next().unwrap_or_default());
            let value = decode(halves.next().unwrap_or_default());
            (key, value)
        });
        Self(pairs.collect())
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The members of a flattened list: `InstanceType.1`, `InstanceType.2`, …
    pub fn list(&self, name: &str) -> Vec<&str> {
        (1..).map_while(|index| self.get(&format!("{name}.{index}"))).collect()
    }

    /// EC2 filters in request order: the name and its alternatives.
    pub fn filters(&self) -> Vec<(&str, Vec<&str>)> {
        (1..)
            .map_while(|index| {
                let name = self.get(&format!("Filter.{index}.Name"))?;
                Some((name, self.list(&format!("Filter.{index}.Value"))))
            })
            .collect()
    }

    /// Gives the filter at `position` (from 0) other alternatives.
    pub fn set_filter_values(&mut self, position: usize, values: &[&str]) {
        let prefix = format!("Filter.{}.Value.", position + 1);
        self.0.retain(|(name, _)| !name.starts_with(&prefix));
        let values = (1..).zip(values);
        self.0
            .extend(values.map(|(index, value)| (format!("{prefix}{index}"), (*value).to_owned())));
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut body = String::new();
        for (name, value) in &self.0 {
            if !body.is_empty() {
                body.push('&');
            }
            encode(name, &mut body);
            body.push('=');
            encode(value, &mut body);
        }
        body.into_bytes()
    }
}

fn decode(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(if first == b'+' { b' ' } else { first });
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// Text for an XML element.
pub fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
