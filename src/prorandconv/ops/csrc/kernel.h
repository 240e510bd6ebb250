// The fused kernels, compiled once per instruction set (see native.cpp): no include guards, no
// calls of library templates, which the linker might share between instruction sets.
//
// Every sum runs in an order that depends on the image's size only, so that the result of a kernel
// does not depend on batch size, position in the batch or number of threads.

namespace prorandconv {
namespace PRC_NAMESPACE {

#include "vectors.h"

#include "offsets.h"
#include "statistics.h"

#include "jobs.h"
#include "spans.h"
#include "window.h"
#include "pixel_lanes.h"
#if PRC_LANES < 16  // with wider vectors it was slower where it was tried
#include "operator.h"
#include "rows.h"
#include "image_lanes.h"
#include "image_groups.h"
#endif

#undef PRC_INLINE
#undef PRC_NOINLINE

}  // namespace PRC_NAMESPACE
}  // namespace prorandconv
