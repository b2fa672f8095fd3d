// Stages: opened from a file, after a look at all that it would open, or found in the host's memory.
#pragma once

#include "pxr/pxr.h"
#include "pxr/base/tf/diagnosticMgr.h"
#include "pxr/base/tf/errorMark.h"
#include "pxr/usd/ar/resolverContext.h"
#include "pxr/usd/sdf/layer.h"
#include "pxr/usd/usd/stage.h"
#include "rust/cxx.h"

#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

namespace sinew {

struct Source;
struct Reply;
struct Asker;
enum class Way : std::uint8_t;

rust::String version();
Reply read(const Source& source, const Asker& asker, rust::Str into);
Reply write(const Source& source, const Asker& asker, rust::Str edits, Way way, rust::Str into);

// What is called the stage's own by a layer that Sinew put on it.
constexpr const char* LAYER_NAME = "sinew-bake";

// Hears what OpenUSD says of errors and warnings, as long as it lives, instead of it being printed.
class Heard : public PXR_NS::TfDiagnosticMgr::Delegate {
public:
    Heard();
    ~Heard() override;
    void IssueError(const PXR_NS::TfError& error) override;
    void IssueWarning(const PXR_NS::TfWarning& warning) override;
    void IssueStatus(const PXR_NS::TfStatus&) override {}
    void IssueFatalError(const PXR_NS::TfCallContext& context, const std::string& text) override;
    rust::Vec<rust::String> lines() const;
    // Throws `what`, with the first that was said.
    [[noreturn]] void fail(const std::string& what) const;

private:
    mutable std::mutex _mutex;
    std::set<std::string> _lines;
};

// How assets of a source are resolved: as the studio's resolver does it, with the folders to search in where it is
// OpenUSD's own.
PXR_NS::ArResolverContext context_of(const Source& source);

// Whether paths are resolved by OpenUSD's own resolver: then only what the asker permits is opened. A studio's own
// resolver is the studio's word on what may be read.
bool is_fenced();

// The file that an asset is in: packages are one file.
std::string file_of(const std::string& resolved);

// A stage, with all that it would open permitted by the asker; the layers are held so that none is read twice.
struct Opened {
    PXR_NS::UsdStageRefPtr stage;
    std::set<PXR_NS::SdfLayerRefPtr> held;
    std::uint64_t bytes = 0;
};

// Opens a stage with a session layer (none: an empty one); a live one is taken as it is, without what Sinew put on it.
Opened open(const Source& source, const Asker& asker, const PXR_NS::SdfLayerRefPtr& session, const Heard& heard);

// The host's stage.
PXR_NS::UsdStageRefPtr find(const Source& source);

// The layer that Sinew put on a stage; null without.
PXR_NS::SdfLayerRefPtr layer_of(const PXR_NS::UsdStageRefPtr& stage);

// How many prims a stage of that root layer would have, nearly; without composing it, since that may not end.
std::uint64_t census(const PXR_NS::SdfLayerRefPtr& root);

// Splines of a layer as time samples: at their keys, and as many between as it takes to stay within a millionth of
// their size; over the range of the keys and of the layer.
void sample_splines(const PXR_NS::SdfLayerRefPtr& layer);

// Throws where composing layers would lose a spline, since this OpenUSD has layers with splines and not stages with them;
// for `only_motion`, one that moves a prim.
void refuse_splines(const std::set<PXR_NS::SdfLayerRefPtr>& layers, bool only_motion);

}  // namespace sinew
