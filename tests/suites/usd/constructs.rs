//! Everything that a layer can say beside what moves stays as it was, whichever way the bake is written; OpenUSD compares
//! every field of every spec.

use serde_json::json;
use sinew_plugin::job::{BakeRequest, bake_file};
use sinew_tests::oracle::openusd;
use sinew_tests::{backend, scratch};
use std::path::{Path, PathBuf};

/// Names, metadata of the layer, and prims that say something.
const CONSTRUCTS: [(&str, &str, &str); 28] = [
    (
        "inherits",
        "",
        "class \"C\"\n{\n}\ndef \"A\" (\n    prepend inherits = </C>\n)\n{\n}\ndef \"B\" (\n    inherits = [</C>, </A>]\n)\n{\n}",
    ),
    (
        "dictionaries",
        "customLayerData = {\n    string \"rtx:a\" = \"b\"\n    dictionary \"rtx:c d\" = {\n        int \"1\" = 2\n        bool plain = 1\n    }\n}",
        "def \"A\" (\n    customData = {\n        double \"my:key\" = 0.1\n    }\n)\n{\n}",
    ),
    (
        "uniform connection",
        "",
        "def \"A\"\n{\n    uniform token x.connect = </A.y>\n    token y = \"b\"\n    prepend float z.connect = [</A.y>, </A.x>]\n    delete float z.connect = </B.x>\n}",
    ),
    (
        "uniform samples",
        "",
        "def \"A\"\n{\n    uniform float y.timeSamples = {\n        0: 1,\n        3.5: None,\n    }\n    custom uniform double z = 4\n    uniform double z.timeSamples = {\n        1: 2,\n    }\n}",
    ),
    (
        "variants in variants",
        "",
        "def \"A\" (\n    variants = {\n        string v = \"a\"\n        string w = \"c\"\n    }\n    prepend variantSets = [\"v\"]\n)\n{\n    variantSet \"v\" = {\n        \"a\" (\n            prepend variantSets = \"w\"\n        ) {\n            def \"Kept\"\n            {\n            }\n            variantSet \"w\" = {\n                \"c\" {\n                    def \"Deep\"\n                    {\n                        float x = 1\n                    }\n                }\n                \"d\" {\n                }\n            }\n        }\n        \"b\" {\n            float y = 2\n        }\n    }\n}",
    ),
    (
        "relationship lists",
        "",
        "def \"A\"\n{\n    prepend rel r = </A>\n    append rel r = [</B>, </C>]\n    delete rel r = </D>\n    custom rel s = </A> (\n        doc = \"why\"\n    )\n    varying rel t\n    rel none = None\n}",
    ),
    (
        "specializes",
        "",
        "class \"C\"\n{\n}\ndef \"A\" (\n    append specializes = </C>\n    delete specializes = </D>\n)\n{\n}",
    ),
    (
        "references",
        "",
        "class \"C\"\n{\n}\ndef \"A\" (\n    prepend references = [</C> (offset = 2; scale = 0.5), </C> (customData = { string why = \"so\" })]\n)\n{\n}",
    ),
    ("no payload", "", "def \"A\" (\n    payload = None\n)\n{\n}"),
    (
        "relocates",
        "relocates = {\n    </A/B>: </A/D>\n}",
        "class \"C\"\n{\n    def \"B\"\n    {\n    }\n}\ndef \"A\" (\n    prepend references = </C>\n)\n{\n}",
    ),
    ("sublayers", "subLayers = [\n    @./below.usda@ (offset = 3; scale = 2),\n    @./below2.usda@\n]", ""),
    (
        "blocks",
        "",
        "def \"A\"\n{\n    float x = None\n    float y.timeSamples = {\n        0: None,\n        1: 2,\n    }\n    float z\n}",
    ),
    (
        "escapes",
        "",
        "def \"A\" (\n    doc = \"\"\"two\nlines \"quoted\" \\\\ \"\"\"\n)\n{\n    string s = \"tab\\t quote\\\" slash\\\\ é\"\n    string t = 'it\"s'\n}",
    ),
    ("assets", "", "def \"A\"\n{\n    asset a = @@@od@d.png@@@\n    asset[] b = []\n    asset c = @@\n}"),
    (
        "types",
        "",
        "def \"A\"\n{\n    bool b = 1\n    uchar c = 7\n    int i = -3\n    uint u = 3\n    int64 l = -9007199254740993\n    uint64 m = 18446744073709551615\n    half h = 0.5\n    float f = 0.8\n    double d = 0.1\n    timecode t = 2.5\n    token k = \"w\"\n    double2 d2 = (1, 2)\n    float3[] f3 = [(0.1, 0.2, 0.3), (1, 2, 3)]\n    half4 h4 = (1, 2, 3, 4)\n    int3 i3 = (1, 2, 3)\n    quatf q = (1, 0, 0, 0)\n    quath[] r = []\n    matrix2d m2 = ( (1, 2), (3, 4) )\n    matrix4d m4 = ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0.1, 2, 3, 1) )\n    color3f c3 = (0.2, 0.4, 0.6)\n    texCoord2f[] tc = [(0, 0)]\n    string[] w = [\"a\", \"b\"]\n    float infinite = inf\n    float[] numbers = [-inf, 1e-30, 3e38]\n}",
    ),
    (
        "clips",
        "",
        "def \"A\" (\n    clips = {\n        dictionary default = {\n            double2[] active = [(0, 0)]\n            asset[] assetPaths = [@./below.usda@]\n            string primPath = \"/A\"\n            double2[] times = [(0, 0), (9, 9)]\n        }\n    }\n)\n{\n}",
    ),
    (
        "orders",
        "",
        "reorder rootPrims = [\"B\", \"A\"]\ndef \"A\"\n{\n    reorder nameChildren = [\"d\", \"c\"]\n    reorder properties = [\"y\", \"x\"]\n    float x = 1\n    float y = 2\n    def \"c\"\n    {\n    }\n    def \"d\"\n    {\n    }\n}\ndef \"B\"\n{\n}",
    ),
    (
        "instances",
        "",
        "class \"C\"\n{\n    def Cube \"k\"\n    {\n    }\n}\ndef \"A\" (\n    instanceable = true\n    prepend references = </C>\n)\n{\n}",
    ),
    (
        "several sets",
        "",
        "def \"A\" (\n    variants = {\n        string v = \"b\"\n    }\n    append variantSets = [\"v\", \"w\"]\n)\n{\n    variantSet \"v\" = {\n        \"b\" {\n        }\n    }\n    variantSet \"w\" = {\n        \"x\" {\n        }\n    }\n}",
    ),
    (
        "comments",
        "\"a comment of the layer\"\ndoc = \"what it is\"",
        "# lost before\ndef \"A\" ( # here\n    \"of the prim\"\n    kind = \"component\" # and here\n)\n{\n    # of nothing\n    float x = 0.8 # behind\n}",
    ),
    (
        "splines",
        "",
        "def \"A\"\n{\n    double s.spline = {\n        bezier,\n        0: 1; post curve (0.5, 2),\n        10: 5; pre (0.5, 1); post held,\n    }\n}",
    ),
    (
        "schemas",
        "",
        "def Xform \"A\" (\n    prepend apiSchemas = [\"MaterialBindingAPI\", \"GeomModelAPI\"]\n    hidden = true\n)\n{\n}",
    ),
    (
        "attribute metadata",
        "",
        "def \"A\"\n{\n    float x = 1 (\n        customData = {\n            string \"a:b\" = \"c\"\n        }\n        displayGroup = \"g\"\n        displayName = \"X\"\n        doc = \"one\"\n        hidden = true\n    )\n    token t = \"a\" (\n        allowedTokens = [\"a\", \"b\"]\n    )\n    float[] w = [1] (\n        elementSize = 2\n        interpolation = \"vertex\"\n    )\n}",
    ),
    (
        "one line",
        "",
        "over \"A\" {}\nclass \"B\" { float x = 1; float y = 2; }\ndef \"D\" ( kind = \"group\" ) { def \"E\" { }\n}",
    ),
    (
        "empty lists",
        "",
        "def \"A\"\n{\n    token[] t = []\n    int[] i = []\n    rel r = []\n    string[] s = []\n}",
    ),
    (
        "deleted",
        "",
        "def Xform \"A\" (\n    delete apiSchemas = [\"GeomModelAPI\"]\n    append apiSchemas = [\"MaterialBindingAPI\"]\n)\n{\n}\ndef \"B\" (\n    active = false\n)\n{\n    float x = 1\n}",
    ),
    (
        "collections",
        "",
        "def \"A\" (\n    prepend apiSchemas = [\"CollectionAPI:lit\"]\n)\n{\n    uniform token collection:lit:expansionRule = \"expandPrims\"\n    rel collection:lit:includes = </A>\n    uniform bool collection:lit:includeRoot = 0\n}",
    ),
    (
        "variables",
        "expressionVariables = {\n    string ASSET = \"x\"\n}\nrenderSettingsPrimPath = \"/Render\"\ncustomLayerData = {\n}",
        "",
    ),
];

fn text(metadata: &str, prims: &str) -> String {
    let metadata: String = metadata.lines().map(|l| format!("    {l}\n")).collect();
    format!(
        "#usda 1.0\n(\n    endTimeCode = 9\n    startTimeCode = 0\n    timeCodesPerSecond = 24\n{metadata})\n\n{prims}\n\ndef Sphere \"Ball\" (\n    prepend apiSchemas = [\"PhysicsRigidBodyAPI\"]\n)\n{{\n    double radius = 0.25\n}}\n"
    )
}

fn bake(scene: &Path, output: &Path, flatten: bool) -> Result<(), String> {
    let request = BakeRequest {
        scene: scene.into(),
        output: Some(output.into()),
        read: backend::options(),
        in_place: scene == output,
        flatten,
        ..BakeRequest::default()
    };
    bake_file(&request, &mut |_| true).map(drop).map_err(|e| e.to_string())
}

#[test]
fn nothing_that_does_not_move_is_changed_whichever_way_it_is_written() {
    if !openusd::is_installed() {
        return;
    }
    let folder = scratch::folder("usd-constructs");
    let (mut pairs, mut labels, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (name, metadata, prims)) in CONSTRUCTS.iter().enumerate() {
        let place = folder.path().join(number.to_string());
        std::fs::create_dir(&place).unwrap();
        for below in ["below.usda", "below2.usda"] {
            std::fs::write(place.join(below), "#usda 1.0\nover \"A\"\n{\n    float clipped\n}\n").unwrap();
        }
        std::fs::write(place.join("od@d.png"), "no picture").unwrap();
        let file = place.join("shot.usda");
        std::fs::write(&file, text(metadata, prims)).unwrap();
        let crated = place.join("crated.usdc");
        openusd::ask(&json!({ "ask": "export", "file": file, "to": crated })).unwrap();
        let has_splines = prims.contains(".spline");
        let mut ways: Vec<(PathBuf, PathBuf, bool)> = Vec::new();
        for original in [&file, &crated] {
            let ending = original.extension().unwrap().to_string_lossy().into_owned();
            let own = place.join(format!("own.{ending}"));
            std::fs::copy(original, &own).unwrap();
            ways.push((own.clone(), own, false));
            ways.push((original.clone(), place.join(format!("{ending}.usdz")), false));
            ways.push((original.clone(), place.join(format!("{ending}-flat.usda")), true));
            ways.push((original.clone(), place.join(format!("{ending}-flat.usdc")), true));
        }
        for (scene, output, flat) in ways {
            let label = format!("{name}: {}", output.file_name().unwrap().to_string_lossy());
            let original = if scene.extension() == file.extension() { &file } else { &crated };
            let before = std::fs::read(&scene).unwrap();
            match bake(&scene, &output, flat) {
                Ok(()) => {
                    pairs.push(json!({ "file": output, "original": original, "flat": flat }));
                    labels.push(label.clone());
                }
                // Said, and nothing touched: as good as kept. Splines, and empty lists of words in crate files, which are
                // not read without OpenUSD.
                Err(why)
                    if (has_splines && why.contains("spline"))
                        || (original == &crated && why.contains("empty list of words")) =>
                {
                    assert_eq!(std::fs::read(&scene).unwrap(), before, "{label}: {why}");
                    assert!(scene == output || !output.exists(), "{label}: {why}");
                    continue;
                }
                Err(why) => failures.push(format!("{label}: {why}")),
            }
            if output.file_name().is_some_and(|n| n == "own.usda") {
                let (before, after) =
                    (String::from_utf8(before).unwrap(), std::fs::read_to_string(&output).unwrap());
                let mut lines = after.lines();
                if let Some(gone) = before.lines().find(|line| !lines.any(|l| l == *line)) {
                    failures.push(format!("{label}: the line {gone:?} is gone"));
                }
            }
        }
    }
    let answer = openusd::ask(&json!({ "ask": "kept", "pairs": pairs, "moved": "/Ball" })).unwrap();
    for (label, lost) in labels.iter().zip(answer.as_array().unwrap()) {
        failures.extend(lost.as_array().unwrap().iter().map(|l| format!("{label}: {}", l.as_str().unwrap())));
    }
    println!("{} files compared", pairs.len());
    assert!(failures.is_empty(), "{} faults:\n  {}", failures.len(), failures.join("\n  "));
    assert!(pairs.len() >= 8 * (CONSTRUCTS.len() - 3), "only {} files were written", pairs.len());
}

#[test]
fn a_class_that_holds_what_its_heir_inherits_ends() {
    let folder = scratch::folder("usd-implied");
    let file = folder.path().join("shot.usda");
    let prims = "def Xform \"A\"\n{\n    def Xform \"R\"\n    {\n        def Cube \"c\"\n        {\n        }\n    }\n}\ndef Xform \"B\" (\n    prepend inherits = </A>\n)\n{\n    over \"R\" (\n        prepend inherits = </A/R>\n    )\n    {\n    }\n}";
    std::fs::write(&file, text("", prims)).unwrap();
    for ending in ["usda", "usdc", "usdz"] {
        bake(&file, &folder.path().join(format!("out.{ending}")), true).unwrap();
    }
    let document = sinew_plugin::usd::Document::open(&file, &backend::options()).unwrap();
    assert!(document.node_of_path("/B/R/c").is_some());
}
