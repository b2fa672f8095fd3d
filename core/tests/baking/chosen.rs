//! Only some of what is simulated gets new curves.

use super::*;
use sinew_core::setup::Group;

fn nodes(done: &Done) -> Vec<usize> {
    let mut nodes: Vec<usize> = done.baked.channels.iter().map(|c| c.node).collect();
    nodes.dedup();
    nodes
}

#[test]
fn names_patterns_and_groups_choose() {
    let scene = walker(0.0);
    let mut setup = limp(&scene);
    let everything = bake_it(&scene, &setup);
    assert_eq!(nodes(&everything), [0, 1, 2]);
    setup.groups.push(Group::new("ends", 1.0));
    setup.bodies[2].groups.push("ends".into());
    for (wish, found) in
        [("Tail", vec![1]), ("T*", vec![1, 2]), ("ends", vec![2]), ("#0", vec![0]), ("*", vec![0, 1, 2])]
    {
        setup.bake.only = vec![wish.into()];
        let done = bake_it(&scene, &setup);
        assert_eq!(nodes(&done), found, "{wish}");
        // What is written is what would have been written.
        for c in &done.baked.channels {
            assert_eq!(Some(&c.curve), curve(&everything.baked.channels, c.node, c.property));
        }
    }
    setup.bake.only = vec!["ends".into(), "Hip".into()];
    assert_eq!(nodes(&bake_it(&scene, &setup)), [0, 2]);
}

#[test]
fn a_name_that_fits_nothing_is_refused() {
    let scene = walker(0.0);
    let mut setup = limp(&scene);
    setup.bake.only = vec!["Tial".into()];
    let why = refused(&scene, &setup);
    assert!(why.contains("bake.only[0]") && why.contains("did you mean \"Tail\"?"), "{why}");
    setup.bodies.pop();
    setup.bake.only = vec!["Tip".into()];
    assert!(refused(&scene, &setup).contains("not simulated"));
}
