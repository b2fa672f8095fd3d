//! Writes the set-up of a scene with many bodies, and joints if it has any, a line for each.

use serde_json::{Value, json};

/// A set-up in the making.
#[derive(Default)]
pub(super) struct Joined {
    head: Vec<String>,
    bodies: Vec<Value>,
    joints: Vec<Value>,
}

impl Joined {
    /// A field of the whole file.
    pub fn field(&mut self, name: &str, value: &Value) {
        self.head.push(format!("  \"{name}\": {value},\n"));
    }

    /// A body that nothing guides.
    pub fn free(&mut self, node: &str) {
        self.bodies.push(json!({"node": node, "behaviour": "free"}));
    }

    /// A body as its set-up says.
    pub fn body(&mut self, body: &Value) {
        self.bodies.push(body.clone());
    }

    /// A joint at the origin of the second object.
    pub fn joint(&mut self, kind: &str, between: [&str; 2]) -> &mut Value {
        self.joints.push(json!({"kind": kind, "between": between}));
        self.joints.last_mut().expect("one was pushed")
    }

    /// The whole file.
    pub fn finish(self) -> String {
        let lines =
            |values: &[Value]| values.iter().map(|v| format!("    {v}")).collect::<Vec<_>>().join(",\n");
        let joints = match self.joints.as_slice() {
            [] => String::new(),
            joints => format!(",\n  \"joints\": [\n{}\n  ]", lines(joints)),
        };
        format!(
            "{{\n  \"sinew\": 1,\n{}  \"bodies\": [\n{}\n  ]{joints}\n}}\n",
            self.head.concat(),
            lines(&self.bodies)
        )
    }
}
