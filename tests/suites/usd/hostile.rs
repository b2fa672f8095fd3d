//! Files that are broken, or made to break us: an error that names the culprit, soon, and within bounds.

use sinew_plugin::gltf::ReadOptions;
use sinew_plugin::usd::Document;
use sinew_tests::made::character::Character;
use sinew_tests::program::Program;
use sinew_tests::{backend, built, made, sample, scatter, scratch, skip};
use std::path::Path;

/// What is promised for any file of such a size: 512 MiB and 5 s. The kernel counts both: past the one every allocation
/// fails, past the other (of the processor's time, whatever else runs) the program is ended.
fn stays_within_bounds(file: &Path) {
    let command = built::command().unwrap();
    let limited = format!("ulimit -v 524288 -t 5; exec '{}' inspect '{}'", command.display(), file.display());
    let done = Program::new("bash").args(["-c", &limited]).run().unwrap();
    assert!(matches!(done.code, Some(0 | 3)), "{}: {:?} {}", file.display(), done.code, done.stderr);
}

fn open(file: &Path) -> Result<Document, String> {
    Document::open(file, &backend::options()).map_err(|e| e.to_string())
}

/// The message of a file's refusal.
fn refusal(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let file = folder.join(name);
    std::fs::write(&file, bytes).unwrap();
    match open(&file) {
        Ok(_) => panic!("{name} was read"),
        Err(error) => {
            assert!(error.contains(name), "{error}");
            error
        }
    }
}

/// The same, within the bounds.
fn bounded_refusal(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let error = refusal(folder, name, bytes);
    stays_within_bounds(&folder.join(name));
    error
}

/// Crate files to break: a made one, and one that OpenUSD wrote where there are samples.
fn crates(folder: &Path) -> Vec<Vec<u8>> {
    made::stage::write(folder, "bird", &made::stage::figure(&Character::bird(), 0));
    let mut files = vec![made::stage::packed(folder, "bird", "usdc")];
    files.extend(sample::file("usd/RiggedSimple.usdc"));
    files.iter().map(|f| std::fs::read(f).unwrap()).collect()
}

/// A file's bytes, broken in one of many ways: cut short, one bit flipped, or eight bytes made something else.
fn broken(bytes: &[u8], n: u64) -> Vec<u8> {
    let mut broken = bytes.to_vec();
    let at = |k: u64| (scatter::unit(n * 97 + k) * bytes.len() as f64) as usize;
    match n % 3 {
        0 => broken.truncate(at(1)),
        1 => broken[at(2)] ^= 1 << (n / 3 % 8),
        _ => {
            for k in 0..8 {
                // Counts and offsets are near the ends of binary files.
                let i = at(k) / if k % 2 == 0 { 1 } else { 16 };
                broken[i] = [0xff, 0x00, 0x7f, 0x80][(n + k) as usize % 4];
            }
        }
    }
    broken
}

#[test]
fn cut_and_bit_flipped_files_are_read_or_refused_but_never_worse() {
    if backend::is_openusd() {
        return; // OpenUSD itself crashes on some of these, and whoever calls it with it.
    }
    let folder = scratch::folder("usd-flipped");
    let (mut read, mut refused) = (0, 0);
    let made = scratch::folder("usd-made");
    for file in sample::usd_files(made.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let target = folder.path().join(&name);
        for n in 0..90_u64 {
            std::fs::write(&target, broken(&bytes, n)).unwrap();
            match open(&target) {
                Ok(_) => read += 1,
                Err(error) => {
                    assert!(error.contains(&name), "{error}");
                    refused += 1;
                }
            }
            stays_within_bounds(&target);
        }
    }
    println!("  {read} read all the same, {refused} refused");
    assert!(refused > 100, "{refused} of {read} more");
}

fn usda(body: &str) -> Vec<u8> {
    format!("#usda 1.0\n{body}\n").into_bytes()
}

#[test]
fn numbers_that_make_no_sense_are_refused_by_name() {
    let folder = scratch::folder("usd-numbers");
    let keyed = |value: &str| {
        format!(
            "(\n    metersPerUnit = 1\n)\ndef Xform \"A\"\n{{\n    double3 xformOp:translate.timeSamples = {{ 0: (0, 0, 0), 5: ({value}, 0, 0) }}\n    uniform token[] xformOpOrder = [\"xformOp:translate\"]\n}}"
        )
    };
    let mesh = |line: &str| {
        format!(
            "def Mesh \"M\"\n{{\n    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n    {line}\n}}"
        )
    };
    for (body, says) in [
        ("(\n    timeCodesPerSecond = 0\n)".to_string(), "timeCodesPerSecond"),
        ("(\n    timeCodesPerSecond = -24\n)".to_string(), "timeCodesPerSecond"),
        ("(\n    metersPerUnit = 0\n)".to_string(), "metersPerUnit"),
        ("(\n    metersPerUnit = inf\n)".to_string(), "metersPerUnit"),
        ("(\n    upAxis = \"Q\"\n)".to_string(), "upAxis"),
        ("(\n    kilogramsPerUnit = nan\n)".to_string(), "kilogramsPerUnit"),
        (keyed("nan"), "/A.xformOp:translate> at time code 5"),
        (keyed("inf"), "/A.xformOp:translate> at time code 5"),
        (mesh("int[] faceVertexCounts = [2000000000]\n    int[] faceVertexIndices = [0, 1, 2]"), "faceVertexCounts"),
        (mesh("int[] faceVertexCounts = [3]\n    int[] faceVertexIndices = [0, 1, 7]"), "faceVertexIndices"),
        (mesh("int[] faceVertexCounts = [3]\n    int[] faceVertexIndices = [0, -1, 2]"), "faceVertexIndices"),
        ("def Xform \"A\"\n{\n    uniform token[] xformOpOrder = [\"xformOp:fly\"]\n}".into(), "xformOp:fly"),
        ("def Xform \"A\"\n{\n    double2 xformOp:translate = (1, 2)\n    uniform token[] xformOpOrder = [\"xformOp:translate\"]\n}".into(), "xformOp:translate"),
        ("def Skeleton \"S\"\n{\n    uniform token[] joints = [\"a\", \"a\"]\n}".into(), "/S"),
        ("def Skeleton \"S\"\n{\n    uniform token[] joints = [\"a/b\", \"a\"]\n}".into(), "a/b"),
        ("def Skeleton \"S\"\n{\n    uniform token[] joints = [\"a\"]\n    uniform matrix4d[] bindTransforms = []\n}".into(), "bindTransforms"),
        (
            "def Xform \"A\"\n{\n    double xformOp:translateX.spline = {\n        1: 0,\n        5: 2,\n    }\n    uniform token[] xformOpOrder = [\"xformOp:translateX\"]\n}".into(),
            "spline",
        ),
    ] {
        if says == "spline" && backend::reads_splines() {
            continue; // It reads them.
        }
        let error = refusal(folder.path(), "bad.usda", &usda(&body));
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[test]
fn circles_and_avalanches_of_references_end() {
    let folder = scratch::folder("usd-circles");
    for body in [
        "def \"A\" (\n    references = </B>\n)\n{\n}\ndef \"B\" (\n    references = </A>\n)\n{\n}",
        "def \"A\"\n{\n    def \"B\" (\n        references = </A>\n    )\n    {\n    }\n}",
        "(\n    subLayers = [@./circle.usda@]\n)\ndef \"A\"\n{\n}",
        "def \"A\" (\n    references = @./circle.usda@</A>\n)\n{\n}",
    ] {
        let file = folder.path().join("circle.usda");
        std::fs::write(&file, usda(body)).unwrap();
        match open(&file) {
            Ok(document) => assert!(document.warnings().iter().any(|w| w.contains("composition")), "{body}"),
            Err(error) => assert!(error.contains("circle.usda"), "{error}"),
        }
    }
    // Each prim has ten that are the next one: ten to the twelfth in all.
    let mut body = String::new();
    for level in 0..12 {
        body.push_str(&format!("class \"L{level}\"\n{{\n"));
        for n in 0..10 {
            body.push_str(&format!(
                "    def \"P{n}\" (\n        references = </L{}>\n    )\n    {{\n    }}\n",
                level + 1
            ));
        }
        body.push_str("}\n");
    }
    body.push_str("class \"L12\"\n{\n}\ndef \"All\" (\n    references = </L0>\n)\n{\n}");
    let error = bounded_refusal(folder.path(), "avalanche.usda", &usda(&body));
    assert!(error.contains("prims"), "{error}");
}

#[test]
fn nothing_outside_the_folder_is_read() {
    let folder = scratch::folder("usd-outside");
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    let secret = folder.path().join("secret.usda");
    std::fs::write(&secret, usda("def \"Secret\"\n{\n    def Xform \"Found\"\n    {\n    }\n}")).unwrap();
    std::os::unix::fs::symlink(&secret, inside.join("link.usda")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", inside.join("zero.usda")).unwrap();
    let absolute = secret.display().to_string();
    for asset in ["../secret.usda", "./../secret.usda", &absolute, "link.usda", "./link.usda", "zero.usda"] {
        for body in [
            format!("def \"A\" (\n    references = @{asset}@</Secret>\n)\n{{\n}}"),
            format!("def \"A\" (\n    payload = @{asset}@</Secret>\n)\n{{\n}}"),
            format!("(\n    subLayers = [@{asset}@]\n)\ndef \"A\"\n{{\n}}"),
        ] {
            let error = refusal(&inside, "reach.usda", &usda(&body));
            assert!(
                error.contains("outside the scene's folder") || error.contains("regular file"),
                "{asset}: {error}"
            );
        }
    }
    // Permitted, it is read.
    let file = inside.join("reach.usda");
    std::fs::write(&file, usda("def \"A\" (\n    references = @../secret.usda@</Secret>\n)\n{\n}")).unwrap();
    let options = ReadOptions { asset_root: Some(folder.path().to_owned()), ..backend::options() };
    let document = Document::open(&file, &options).unwrap();
    assert!(document.node_of_path("/A/Found").is_some());
}

/// What the command opens while it does this in a folder, as the kernel sees it; `None` where nobody can look.
fn opened(folder: &Path, arguments: &[&str]) -> Option<String> {
    let log = folder.join("calls.txt");
    let traced = Program::new("strace").args(["-f", "-e", "trace=open,openat,openat2,execve", "-o"]);
    let traced = traced.arg(&log).arg(built::command().unwrap()).args(arguments).args(backend::arguments());
    if traced.folder(&folder.join("inside")).run().is_err() {
        skip::because("there is no strace; tests/run installs it");
        return None;
    }
    std::fs::read_to_string(log).ok()
}

#[test]
fn the_kernel_sees_nothing_opened_outside_the_folder() {
    let folder = scratch::folder("usd-kernel");
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    for name in ["secret.usda", "secret.usdc", "secret.png", "secret.usdz"] {
        std::fs::write(folder.path().join(name), usda("def Xform \"Secret\"\n{\n}")).unwrap();
    }
    let shot = |body: &str| {
        usda(&format!(
            "(\n    defaultPrim = \"A\"\n    metersPerUnit = 1\n    upAxis = \"Y\"\n    startTimeCode = 0\n    endTimeCode = 4\n)\n{body}"
        ))
    };
    let moving = "    double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 4: (1, 0, 0) }\n    uniform token[] xformOpOrder = [\"xformOp:translate\"]\n";
    let absolute = folder.path().join("secret").display().to_string();
    for stem in ["../secret", &absolute] {
        let bodies = [
            format!("def Cube \"A\" (\n    references = @{stem}.usda@</Secret>\n)\n{{\n{moving}}}"),
            format!(
                "def Cube \"A\" (\n    references = @{stem}.usdz[inner.usda]@</Secret>\n)\n{{\n{moving}}}"
            ),
            format!(
                "def Cube \"A\" (\n    variants = {{\n        string v = \"x\"\n    }}\n    prepend variantSets = \"v\"\n)\n{{\n{moving}    variantSet \"v\" = {{\n        \"x\" (\n            payload = @{stem}.usdc@</Secret>\n        ) {{\n        }}\n    }}\n}}"
            ),
            format!(
                "def Cube \"A\" (\n    clips = {{\n        dictionary default = {{\n            double2[] active = [(0, 0)]\n            asset[] assetPaths = [@{stem}.usda@]\n            asset manifestAssetPath = @{stem}.usda@\n            string primPath = \"/Secret\"\n            double2[] times = [(0, 0), (4, 4)]\n        }}\n    }}\n)\n{{\n    float size\n{moving}}}"
            ),
            format!("def Cube \"A\"\n{{\n    asset inputs:file = @{stem}.png@\n{moving}}}"),
        ];
        for (n, body) in bodies.iter().enumerate() {
            std::fs::write(inside.join("shot.usda"), shot(body)).unwrap();
            for arguments in [
                &["inspect", "shot.usda"][..],
                &["bake", "shot.usda", "-o", "out.usda"],
                &["bake", "shot.usda", "-o", "out.usdz"],
                &["bake", "shot.usda", "--flatten", "-o", "flat.usda"],
            ] {
                let Some(calls) = opened(folder.path(), arguments) else { return };
                assert!(calls.contains("shot.usda"), "nothing was opened at all: {calls}");
                let reached = calls.lines().find(|l| l.contains("secret."));
                assert_eq!(reached, None, "{n}: {arguments:?} of {body}");
            }
        }
    }
}

/// An archive of one entry, stored or said to be deflated, with these sizes.
fn archive(name: &str, bytes: &[u8], method: u16, packed: u32, size: u32) -> Vec<u8> {
    let mut out = b"PK\x03\x04\x14\0\0\0".to_vec();
    let numbers = |out: &mut Vec<u8>| {
        out.extend(0_u32.to_le_bytes());
        out.extend(crc32fast::hash(bytes).to_le_bytes());
        out.extend(packed.to_le_bytes());
        out.extend(size.to_le_bytes());
        out.extend((name.len() as u16).to_le_bytes());
        out.extend(0_u16.to_le_bytes());
    };
    out.extend(method.to_le_bytes());
    numbers(&mut out);
    out.extend(name.as_bytes());
    out.extend(bytes);
    let directory = out.len() as u32;
    out.extend(b"PK\x01\x02\x14\0\x14\0\0\0");
    out.extend(method.to_le_bytes());
    numbers(&mut out);
    out.extend([0; 2 + 2 + 2 + 4 + 4]);
    out.extend(name.as_bytes());
    let length = out.len() as u32 - directory;
    out.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    out.extend(length.to_le_bytes());
    out.extend(directory.to_le_bytes());
    out.extend([0, 0]);
    out
}

#[test]
fn bombs_do_not_go_off() {
    let folder = scratch::folder("usd-bombs");
    let bomb = archive("bomb.usda", &[0; 64], 8, 64, u32::MAX - 1);
    assert!(bounded_refusal(folder.path(), "bomb.usdz", &bomb).contains("bomb.usda"));
    let lies = archive("long.usda", &[0; 64], 0, u32::MAX - 1, u32::MAX - 1);
    assert!(bounded_refusal(folder.path(), "lies.usdz", &lies).contains("cut short"));
    let deep = format!("def \"A\"\n{{\n{}", "def \"A\" {\n".repeat(200_000));
    assert!(bounded_refusal(folder.path(), "deep.usda", &usda(&deep)).contains("deep"));
    let tuple = format!("def \"A\"\n{{\n    double x = {}", "(".repeat(200_000));
    assert!(bounded_refusal(folder.path(), "tuple.usda", &usda(&tuple)).contains("deep"));
    // Sections of a crate file that say more than their bytes can hold.
    for bytes in crates(folder.path()) {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let contents = number(16);
        assert!(number(contents) > 0, "it has no sections");
        for section in 0..number(contents) {
            let start = number(contents + 8 + 32 * section + 16);
            let mut absurd = bytes.clone();
            absurd[start..start + 8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
            bounded_refusal(folder.path(), "absurd.usdc", &absurd);
        }
    }
}

#[test]
fn absurd_counts_anywhere_in_a_crate_file_take_no_more_memory_and_time_than_is_promised() {
    let folder = scratch::folder("usd-bounds");
    let file = folder.path().join("absurd.usdc");
    for bytes in crates(folder.path()) {
        // Some two hundred places.
        let apart = if backend::is_openusd() { usize::MAX } else { (bytes.len() / 211) | 1 };
        for at in (0..bytes.len() - 8).step_by(apart) {
            for count in [1_u64 << 31, 1 << 40, u64::MAX] {
                let mut absurd = bytes.clone();
                absurd[at..at + 8].copy_from_slice(&count.to_le_bytes());
                std::fs::write(&file, &absurd).unwrap();
                stays_within_bounds(&file);
            }
        }
    }
}

#[test]
fn an_archive_whose_entries_are_the_same_bytes_again_and_again_is_refused() {
    let folder = scratch::folder("usd-overlap");
    // Every entry of the directory is the one file, which is large: all of them would be four thousand times that.
    let text = usda(&"def \"A\" {}\n".repeat(200_000));
    let size = u32::try_from(text.len()).unwrap();
    let one = archive("a0000.usda", &text, 0, size, size);
    let end = one.len() - 22;
    let start = u32::from_le_bytes(one[end + 16..end + 20].try_into().unwrap()) as usize;
    let entry = one[start..end].to_vec();
    let count = 4000_u16;
    let many = |name: fn(u16) -> String| {
        let mut many = one[..start].to_vec();
        for i in 0..count {
            many.extend(&entry[..46]);
            many.extend(name(i).as_bytes());
        }
        many.extend(b"PK\x05\x06\0\0\0\0");
        many.extend(count.to_le_bytes());
        many.extend(count.to_le_bytes());
        many.extend((entry.len() as u32 * u32::from(count)).to_le_bytes());
        many.extend((start as u32).to_le_bytes());
        many.extend([0, 0]);
        many
    };
    let error = bounded_refusal(folder.path(), "again.usdz", &many(|i| format!("a{i:04}.usda")));
    assert!(error.contains("overlap"), "{error}");
    let error = bounded_refusal(folder.path(), "named.usdz", &many(|_| "a0000.usda".to_owned()));
    assert!(error.contains("one name"), "{error}");
    // And one that is not what was packed.
    let text = usda("def Xform \"A\" {}");
    let size = u32::try_from(text.len()).unwrap();
    let mut flipped = archive("a.usda", &text, 0, size, size);
    let at = flipped.windows(8).position(|w| w == b"Xform \"A").unwrap();
    flipped[at + 7] ^= 2;
    let error = bounded_refusal(folder.path(), "flipped.usdz", &flipped);
    assert!(error.contains("a.usda") && error.contains("checksum"), "{error}");
    // An archive in an archive, with a bomb in it.
    let bomb = archive("bomb.usda", &[0; 64], 8, 64, u32::MAX - 1);
    let size = u32::try_from(bomb.len()).unwrap();
    let nested = archive("inner.usdz", &bomb, 0, size, size);
    assert!(bounded_refusal(folder.path(), "nested.usdz", &nested).contains("bomb.usda"));
    let mut deep = nested;
    for _ in 0..2000 {
        let size = u32::try_from(deep.len()).unwrap();
        deep = archive("inner.usdz", &deep, 0, size, size);
    }
    assert!(bounded_refusal(folder.path(), "deep.usdz", &deep).contains("inside of archives"));
}

#[test]
fn bytes_in_memory_are_as_harmless_as_files_and_reach_no_file() {
    use sinew_plugin::document::Document;
    let folder = scratch::folder("usd-memory-hostile");
    let secret = folder.path().join("secret.usda");
    std::fs::write(&secret, usda("def Xform \"Secret\"\n{\n}")).unwrap();
    let refused = |bytes: &[u8]| match Document::from_bytes(bytes, "given.usd") {
        Ok(_) => panic!("{} was read", String::from_utf8_lossy(&bytes[..bytes.len().min(200)])),
        Err(error) => {
            let error = error.to_string();
            assert!(error.contains("given.usd"), "{error}");
            error
        }
    };
    for asset in [secret.display().to_string(), "/etc/hostname".into(), "../secret.usda".into()] {
        // What is not there is a warning; what is there and outside is an error. Neither brings anything.
        let text = usda(&format!("def \"A\" (\n    references = @{asset}@</Secret>\n)\n{{\n}}"));
        match Document::from_bytes(&text, "given.usd") {
            Ok(document) => {
                assert!(document.scene().nodes.len() <= 1);
                assert!(!document.warnings().is_empty(), "{asset}");
            }
            Err(error) => assert!(error.to_string().contains("outside"), "{error}"),
        }
    }
    refused(b"#usda 1.0\ndef Xform \"A\" {");
    refused(b"PXR-USDC");
    refused(b"PK\x03\x04 and nothing else");
    refused(&usda(&format!("def \"A\"\n{{\n{}", "def \"A\" {\n".repeat(200_000))));
    refused(&archive("bomb.usda", &[0; 64], 8, 64, u32::MAX - 1));
    let mut refusals = 0;
    for bytes in crates(folder.path()) {
        for n in 0..60_u64 {
            let mut broken = bytes.clone();
            for k in 0..6 {
                broken[(scatter::unit(n * 53 + k) * bytes.len() as f64) as usize] ^= 0xff;
            }
            if let Err(error) = Document::from_bytes(&broken, "given.usd") {
                assert!(error.to_string().contains("given.usd"), "{error}");
                refusals += 1;
            }
        }
    }
    assert!(refusals > 10, "{refusals}");
}
