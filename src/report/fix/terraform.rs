//! What a change means for a Terraform configuration that manages the same resources: a plan
//! names a resource and its values, and not the file and the line.

use super::procedure::{Procedure, Step, step};
use crate::analysis::{GROUP_RESOURCE, WorkloadFix};
use crate::domain::{ActionKind, PlannedResource};
use crate::report::doc::Printed;
use crate::report::shared::text::joined;
use crate::savings::GroupSizes;

/// Adds what the configuration needs, and leaves to Terraform what it would set back.
pub(super) fn managed(kind: ActionKind, fix: &WorkloadFix<'_>, procedure: &mut Procedure) {
    if fix.planned.is_empty() {
        return;
    }
    let named = joined(fix.planned.iter().map(|planned| planned.address.as_str()), ", ");
    let (groups, machines): (Vec<&PlannedResource>, Vec<&PlannedResource>) =
        fix.planned.iter().copied().partition(|resource| resource.resource_type == GROUP_RESOURCE);
    match kind {
        ActionKind::Rightsize if !machines.is_empty() => {
            let files = machines.into_iter().filter_map(|resource| another_type(fix, resource));
            procedure.files.extend(files);
            procedure.steps = vec![
                step! { manual "change the configuration of {named} as the files below say, and apply it: Terraform stops each instance, changes its type and starts it" },
            ];
            procedure.back = vec![Step::manual("revert the change, and apply again")];
            return;
        }
        ActionKind::Stop if groups.is_empty() => {
            procedure.before.push(step! { manual "Terraform manages {named} and leaves instances stopped: remove the resource from the configuration before an instance is terminated" });
        }
        ActionKind::Release | ActionKind::Spot if groups.is_empty() => {
            procedure.before.push(step! { manual "Terraform manages {named}: make the same change in its configuration, otherwise the next apply reverts it" });
        }
        _ => {}
    }
    for resource in groups {
        procedure.files.extend(of_group(kind, fix, resource));
        let address = &resource.address;
        procedure.before.push(step! { manual "Terraform manages {address}: merge the change of its configuration together with these steps, otherwise the next apply reverts them" });
    }
}

fn another_type(fix: &WorkloadFix<'_>, resource: &PlannedResource) -> Option<Printed> {
    let (old, new) = (fix.instance_type, &fix.to?.instance_type);
    let (address, old, new) = (&resource.address, quoted(old), quoted(new));
    let change = resource.type_reference.as_ref().map_or_else(
        || format!("@@ {address} @@\n-  instance_type = {old}\n+  instance_type = {new}\n"),
        |name| format!("@@ {name}, the instance_type of {address} @@\n-  {old}\n+  {new}\n"),
    );
    Some(file(resource, &change))
}

fn of_group(
    kind: ActionKind,
    fix: &WorkloadFix<'_>,
    resource: &PlannedResource,
) -> Option<Printed> {
    let (begins, ends) = fix.group?.sizes?;
    let mut text = format!("@@ {} @@\n", resource.address);
    if kind == ActionKind::Schedule {
        text.push_str("+  lifecycle {\n+    ignore_changes = [min_size, desired_capacity]\n+  }\n");
        return Some(file(resource, &text));
    }
    (begins != ends).then(|| {
        for (sign, GroupSizes { desired, min }) in [("-", begins), ("+", ends)] {
            text.push_str(&format!(
                "{sign}  min_size         = {min}\n{sign}  desired_capacity = {desired}\n"
            ));
        }
        file(resource, &text)
    })
}

fn file(resource: &PlannedResource, change: &str) -> Printed {
    let purpose = "in the file that holds the resource, which a plan does not name";
    let text = format!("--- a configuration\n+++ b configuration\n{change}");
    Printed::new(format!("{}.diff", resource.address), purpose, text)
}

/// A text as Terraform writes it: templates in it are none.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace("${", "$${").replace("%{", "%%{")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn no_text_is_a_template() {
        assert_eq!(quoted("g5.xlarge"), "\"g5.xlarge\"");
        assert_eq!(quoted("${file(\"x\")}%{if}"), "\"$${file(\\\"x\\\")}%%{if}\"");
    }
}
