//! `sinew refine`: its arguments, and its report in words.

use crate::arguments::{Figure, Input, share};
use clap::Args;
use sinew_plugin::job::{KeyToHit, RefineReport, RefineRequest};
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(Args)]
pub struct Refine {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    figure: Figure,
    /// Where to write the result; the extension chooses the format [default: NAME.sinew.EXT beside the scene, .usda for USD].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Name of the new clip [default: the source's with " (refined)"].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// First and last frame [default: the clip's].
    #[arg(long, num_args = 2, value_names = ["FIRST", "LAST"], allow_negative_numbers = true)]
    frames: Option<Vec<f64>>,
    /// How near the keys it stays, 0 to 1 [default: 0.5].
    #[arg(long, value_name = "0..1", value_parser = share)]
    stay_close: Option<f64>,
    /// A node that must be where its keys have it at a frame; may be given several times.
    #[arg(long, value_name = "NODE@FRAME", value_parser = hit)]
    hit: Vec<KeyToHit>,
}

/// `Hand@12`.
fn hit(text: &str) -> Result<KeyToHit, String> {
    let (node, frame) = text.rsplit_once('@').ok_or("give a node and a frame, such as Hand@12")?;
    let frame = frame.parse().map_err(|_| format!("{frame} is no frame; give a number behind the @"))?;
    Ok(KeyToHit { node: node.to_owned(), frame })
}

impl Refine {
    pub fn request(&self) -> RefineRequest {
        RefineRequest {
            scene: self.input.scene.clone(),
            output: self.output.clone(),
            setup: self.input.source(),
            clip: self.input.clip.clone(),
            name: self.name.clone(),
            frames: self.frames.as_ref().map(|f| [f[0], f[1]]),
            wish: self.figure.wish(),
            stay_close: self.stay_close,
            hits: self.hit.clone(),
            read: self.input.read(),
        }
    }

    /// Places of a set-up whose values flags gave, and these flags.
    pub fn flags(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.frames.is_some().then_some(("bake.frames", "--frames")).into_iter()
    }
}

/// A few lines on a refinement.
pub fn say(r: &RefineReport) -> String {
    let mut text = String::new();
    _ = writeln!(text, "{}: {}, {} frames at {} fps", r.scene, r.clip, r.frames, r.frames_per_second);
    for f in &r.figures {
        _ = writeln!(
            text,
            "  {}: physics off by {:.4} % of its weight (was {:.0} %), {} after {} iterations",
            f.figure,
            f.physics_after_percent,
            f.physics_before_percent,
            f.ended.replace('_', " "),
            f.iterations
        );
        _ = writeln!(
            text,
            "    joints turned by {:.1} deg, at most {:.1}; the strongest muscle at {:.0} % of its strength",
            f.turned_deg[0], f.turned_deg[1], f.strongest_percent
        );
        if let Some(speed) = f.ground_speed {
            _ = writeln!(text, "    walks on the spot: the ground goes by at {speed:.2} units/s");
        }
        for s in &f.stances {
            _ = writeln!(text, "    {} is down from frame {:.1} to {:.1}", s.node, s.frames[0], s.frames[1]);
        }
    }
    r.warnings.iter().for_each(|w| _ = writeln!(text, "  warning: {w}"));
    _ = writeln!(text, "  took {:.0} ms to refine; {}", r.refine_s * 1e3, r.setup);
    _ = writeln!(text, "wrote clip \"{}\" to {}", r.name, r.output);
    text
}
