//! Opening and writing a shot of 100 bodies and 1000 frames as .usdc, beside OpenUSD's own Python doing the same reads and
//! writes, in one run.
//!
//! `cargo bench -p sinew-benches --bench usd -- PYTHON`, a Python that has usd-core [default: tests/oracles/venv/bin/python,
//! which `tests/run` makes].

use sinew_benches::{crowd, least};
use sinew_core::curve::{Curve, Kind, Segments};
use sinew_core::scene::{Channel, Property};
use sinew_plugin::document::Document;
use sinew_plugin::gltf::{self, ClipToAdd, ReadOptions};
use sinew_plugin::usd::Destination;
use std::error::Error;
use std::path::Path;
use std::process::Command;

const BODIES: usize = 100;
const FRAMES: usize = 1000;
const REPETITIONS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = root.join("../tests/oracles/venv/bin/python");
    let named = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let python = named.map_or(own, Into::into);
    let folder = tempfile::tempdir()?;
    let (shot, out) = (folder.path().join("shot.usdc"), folder.path().join("out.usdc"));
    write_shot(&shot)?;

    let options = ReadOptions::default();
    let mut document = Document::open(&shot, &options)?;
    let channels = document.scene().clips[0].channels.clone();
    let values: usize = channels.iter().map(|c| c.curve.times().len()).sum();
    document.add_clip(&ClipToAdd { name: "baked", source: Some(0), replace: false, channels: &channels })?;
    let ours = [
        least(REPETITIONS, || match Document::open(&shot, &options) {
            Ok(_) => {}
            Err(e) => unreachable!("{e}"),
        }),
        least(REPETITIONS, || match document.save(&out, Destination::Layer, None) {
            Ok(_) => {}
            Err(e) => unreachable!("{e}"),
        }),
    ]
    .map(|t| t.as_secs_f64());
    let written = Document::open(&out, &options)?;
    assert_eq!(written.scene().clips[0].channels.len(), 2 * BODIES, "what was written is not what was read");
    println!(
        "{BODIES} bodies, {FRAMES} frames, {values} values: opened in {:.0} ms, written in {:.0} ms",
        ours[0] * 1e3,
        ours[1] * 1e3
    );

    let peer = Command::new(&python)
        .arg(root.join("peers/usd_peer.py"))
        .args([&shot, &folder.path().join("peer.usdc")])
        .arg(REPETITIONS.to_string())
        .output();
    let peer = match peer {
        Ok(done) if done.status.success() => done.stdout,
        Ok(done) => return Err(String::from_utf8_lossy(&done.stderr).into_owned().into()),
        Err(e) => {
            println!("{} cannot be asked ({e}): no usd-core to compare with", python.display());
            return Ok(());
        }
    };
    let peer: serde_json::Value = serde_json::from_slice(&peer)?;
    assert_eq!(peer["values"], values, "OpenUSD read something else");
    for (what, ours, theirs) in [("open", ours[0], "read"), ("write", ours[1], "write")] {
        for way in ["", " by layer"] {
            let seconds = peer[format!("{theirs}{way}")].as_f64().unwrap_or(f64::NAN);
            println!(
                "{what}: usd-core's Python{way} {:.0} ms, {:.2} times Sinew's",
                seconds * 1e3,
                seconds / ours
            );
        }
    }
    Ok(())
}

/// Nodes with a key of translation and rotation on every frame.
fn write_shot(path: &Path) -> Result<(), Box<dyn Error>> {
    let rate = 24.0;
    let crowd = crowd(BODIES, 50, (FRAMES - 1) as f64 / rate);
    let names: Vec<String> = crowd.nodes.iter().map(|n| format!("{{\"name\":\"{}\"}}", n.name)).collect();
    let json = format!("{{\"asset\":{{\"version\":\"2.0\"}},\"nodes\":[{}]}}", names.join(","));
    let read = gltf::Document::from_bytes(json.as_bytes(), "shot.gltf", None, &ReadOptions::default())?;
    let mut document = Document::Gltf(Box::new(read));
    let times: Vec<f64> = (0..FRAMES).map(|f| f as f64 / rate).collect();
    let on_frames = |channel: &Channel| -> Result<Channel, Box<dyn Error>> {
        let (width, kind) =
            if channel.property == Property::Rotation { (4, Kind::Rotation) } else { (3, Kind::Vector) };
        let mut values = vec![0.0; width * FRAMES];
        for (value, time) in values.chunks_mut(width).zip(&times) {
            channel.curve.evaluate(*time, value);
        }
        let curve = Curve::new(kind, width, times.clone(), values, Segments::Linear)?;
        Ok(Channel { curve, ..*channel })
    };
    let channels = crowd.clips[0].channels.iter().map(on_frames).collect::<Result<Vec<_>, _>>()?;
    document.add_clip(&ClipToAdd { name: "Keys", source: None, replace: false, channels: &channels })?;
    document.save(path, Destination::Layer, None)?;
    Ok(())
}
