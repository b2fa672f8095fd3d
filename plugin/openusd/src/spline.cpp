#include "stage.h"

#if PXR_VERSION >= 2505

#include "pxr/base/gf/interval.h"
#include "pxr/base/ts/knotMap.h"
#include "pxr/base/ts/spline.h"
#include "pxr/usd/sdf/attributeSpec.h"
#include "pxr/usd/sdf/schema.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

PXR_NAMESPACE_USING_DIRECTIVE

namespace sinew {

namespace {

// How far straight lines between samples may be from the spline, as a share of its size.
constexpr double CLOSE = 1e-6;

// Between two keys there are at most two to this many samples.
constexpr int DEEPEST = 12;

// The smallest step that programs keep apart: a jump is that steep.
constexpr double STEP = 1.0 / 1024.0;

using Samples = std::map<double, double>;

void between(const std::function<double(double)>& at, double a, double va, double b, double vb, double close,
             int depth, Samples* out) {
    double worst = 0.0;
    for (double t : {0.25, 0.5, 0.75}) worst = std::max(worst, std::fabs(at(a + (b - a) * t) - (va + (vb - va) * t)));
    if (worst <= close || depth == 0 || b - a <= STEP) return;
    const double middle = 0.5 * (a + b), value = at(middle);
    (*out)[middle] = value;
    between(at, a, va, middle, value, close, depth - 1, out);
    between(at, middle, value, b, vb, close, depth - 1, out);
}

Samples sampled(const TsSpline& spline, GfInterval span) {
    const TsKnotMap own = spline.GetKnots();
    span |= own.GetTimeSpan();
    const TsKnotMap knots = spline.HasLoops() ? spline.GetKnotsWithLoopsBaked(span) : own;
    std::vector<double> times{span.GetMin(), span.GetMax()};
    for (const TsKnot& knot : knots) times.push_back(knot.GetTime());
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    const auto at = [&](double t) {
        double v = 0.0;
        spline.Eval(t, &v);
        return v;
    };
    Samples out;
    double size = 1e-9;
    for (double t : times) {
        if (t < span.GetMin() || t > span.GetMax()) continue;
        out[t] = at(t);
        size = std::max(size, std::fabs(out[t]));
    }
    const Samples keys = out;
    for (auto next = keys.begin(), last = next; ++next != keys.end(); last = next) {
        double end = next->first, value = next->second;
        if (spline.DoSidesDiffer(end)) {
            end = std::max(end - STEP, 0.5 * (last->first + end));
            out[end] = value = at(end);
        }
        between(at, last->first, last->second, end, value, CLOSE * size, DEEPEST, &out);
    }
    return out;
}

template <class T>
void write(const SdfLayerRefPtr& layer, const SdfPath& path, const Samples& samples) {
    for (const auto& [time, value] : samples) layer->SetTimeSample(path, time, VtValue(static_cast<T>(value)));
}

}  // namespace

void sample_splines(const SdfLayerRefPtr& layer) {
    std::vector<SdfPath> paths;
    layer->Traverse(SdfPath::AbsoluteRootPath(), [&](const SdfPath& path) {
        if (path.IsPropertyPath() && layer->HasField(path, SdfFieldKeys->Spline)) paths.push_back(path);
    });
    GfInterval span;
    if (layer->HasStartTimeCode() && layer->HasEndTimeCode() && layer->GetEndTimeCode() > layer->GetStartTimeCode()) {
        span = GfInterval(layer->GetStartTimeCode(), layer->GetEndTimeCode());
    }
    for (const SdfPath& path : paths) {
        const VtValue value = layer->GetField(path, SdfFieldKeys->Spline);
        layer->EraseField(path, SdfFieldKeys->Spline);
        if (!value.IsHolding<TsSpline>()) continue;
        const TsSpline& spline = value.UncheckedGet<TsSpline>();
        if (spline.IsEmpty() || layer->HasField(path, SdfFieldKeys->TimeSamples)) continue;
        const Samples samples = sampled(spline, span);
        const TfType type = spline.GetValueType();
        if (type == TfType::Find<double>()) write<double>(layer, path, samples);
        else if (type == TfType::Find<float>()) write<float>(layer, path, samples);
        else if (type == TfType::Find<GfHalf>()) write<GfHalf>(layer, path, samples);
    }
}

void refuse_splines(const std::set<SdfLayerRefPtr>&, bool) {}

}  // namespace sinew

#else

PXR_NAMESPACE_USING_DIRECTIVE

namespace sinew {

void sample_splines(const SdfLayerRefPtr&) {}

void refuse_splines(const std::set<SdfLayerRefPtr>& layers, bool only_motion) {
    static const TfToken field("spline");
    for (const SdfLayerRefPtr& layer : layers) {
        layer->Traverse(SdfPath::AbsoluteRootPath(), [&](const SdfPath& path) {
            if (!path.IsPropertyPath() || !layer->HasField(path, field)) return;
            if (only_motion && path.GetName().compare(0, 8, "xformOp:") != 0) return;
            throw std::runtime_error("<" + path.GetString() + "> is keyed by a spline, which this OpenUSD, " +
                                     std::string(version()) +
                                     ", does not read; bake it to time samples, or take OpenUSD 25.05 or later");
        });
    }
}

}  // namespace sinew

#endif
