// The C interface of the fused Pro-RandConv kernel, the choice of the instruction set, threads and
// the workspace. The mathematics is in kernel.h, which is compiled once per instruction set.
#include <dlfcn.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "common.h"

#if defined(__clang__)
#define PRC_BEGIN_TARGET(features) \
    PRC_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define PRC_END_TARGET PRC_PRAGMA(clang attribute pop)
#else
#define PRC_BEGIN_TARGET(features) PRC_PRAGMA(GCC push_options) PRC_PRAGMA(GCC target(features))
#define PRC_END_TARGET PRC_PRAGMA(GCC pop_options)
#endif
#define PRC_PRAGMA(text) _Pragma(#text)
#if defined(__clang__) && __clang_major__ >= 18 && __clang_major__ <= 21
#define PRC_AVX512 "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,evex512"  // vectors of 512 bits
#else
#define PRC_AVX512 "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma"
#endif

// The fallback on x86 stands for machines of before 2013: it is kept small rather than fast.
#if defined(__x86_64__)
#define PRC_FAST 0
#else
#define PRC_FAST 1
#endif
#define PRC_LANES 4
#define PRC_NAMESPACE generic
#include "kernel.h"
#undef PRC_LANES
#undef PRC_NAMESPACE
#undef PRC_FAST
#define PRC_FAST 1

#if defined(__x86_64__)
PRC_BEGIN_TARGET("avx2,fma")
#define PRC_LANES 8
#define PRC_NAMESPACE avx2
#include "kernel.h"
#undef PRC_LANES
#undef PRC_NAMESPACE
PRC_END_TARGET
PRC_BEGIN_TARGET(PRC_AVX512)
#define PRC_LANES 16
#define PRC_NAMESPACE avx512
#include "kernel.h"
#undef PRC_LANES
#undef PRC_NAMESPACE
PRC_END_TARGET
#endif

namespace prorandconv {

void Barrier::relax(int spins) {
    if (spins > 2000) {
        sched_yield();
    } else {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

struct alignas(64) WorkspaceHeader {
    size_t bytes;
};

namespace {

constexpr size_t HUGE_PAGE = size_t(2) << 20;
constexpr size_t MAX_KEPT = size_t(64) << 20;

// One slot and an atomic exchange instead of a lock: a lock held by another thread at the moment
// of a fork would stay locked in the child for ever.
Workspaces kept_workspaces;

std::atomic<bool> forked{false};

using GompParallel = void (*)(void (*)(void *), void *, unsigned, unsigned);
using OmpGetInt = int (*)();

// OpenMP's runtime as torch has loaded it. Our own second pool of threads would compete for the
// cores with torch's workers, which go on spinning for milliseconds after torch's last operation.
struct OpenMP {
    GompParallel parallel;
    OmpGetInt thread, threads;
    OpenMP() {
        parallel = reinterpret_cast<GompParallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
        thread = reinterpret_cast<OmpGetInt>(dlsym(RTLD_DEFAULT, "omp_get_thread_num"));
        threads = reinterpret_cast<OmpGetInt>(dlsym(RTLD_DEFAULT, "omp_get_num_threads"));
        // OpenMP's workers do not survive a fork and waiting for them would never end.
        pthread_atfork(nullptr, nullptr, [] { forked = true; });
    }
    bool usable() const { return parallel && thread && threads && !forked; }
};

struct Region {
    Task task;
    void *argument;
    const OpenMP *openmp;
};

void run_region(void *data) {
    const Region &region = *static_cast<Region *>(data);
    region.task(region.argument, region.openmp->thread(), region.openmp->threads());
}

// Without it, faulting in the pages of a fresh large tensor costs as much as two repetitions.
void ask_for_huge_pages(void *memory, size_t bytes) {
#if defined(__linux__)
    const uintptr_t first =
        (reinterpret_cast<uintptr_t>(memory) + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    const uintptr_t last = (reinterpret_cast<uintptr_t>(memory) + bytes) & ~(HUGE_PAGE - 1);
    if (first < last) madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

}  // namespace

char *acquire_workspace(size_t bytes, Workspaces &workspaces, WorkspaceUse use) {
    WorkspaceHeader *header = workspaces.kept[use].exchange(nullptr);
    if (!header || header->bytes < bytes) {
        std::free(header);
        void *memory = nullptr;
        // A few huge pages would waste up to half of a small workspace.
        const bool large = bytes >= 8 * HUGE_PAGE;
        const size_t alignment = large ? HUGE_PAGE : 64;
        const size_t total =
            (bytes + sizeof(WorkspaceHeader) + alignment - 1) / alignment * alignment;
        if (posix_memalign(&memory, alignment, total)) return nullptr;
        if (large) ask_for_huge_pages(memory, total);
        header = static_cast<WorkspaceHeader *>(memory);
        header->bytes = total - sizeof(WorkspaceHeader);
    }
    return reinterpret_cast<char *>(header + 1);
}

void release_workspace(char *workspace, Workspaces &workspaces, WorkspaceUse use) {
    WorkspaceHeader *header = reinterpret_cast<WorkspaceHeader *>(workspace) - 1;
    if (header->bytes <= MAX_KEPT) header = workspaces.kept[use].exchange(header);
    std::free(header);
}

void run_parallel(int threads, Task task, void *argument) {
    static const OpenMP openmp;
    if (threads == 1) {
        task(argument, 0, 1);
    } else if (openmp.usable()) {
        Region region{task, argument, &openmp};
        openmp.parallel(run_region, &region, unsigned(threads), 0);
    } else {
        std::thread *helpers = new (std::nothrow) std::thread[size_t(threads)];
        std::atomic<int> started{0};
        int count = 1;
        // The number of threads must be known before the first one works, so they wait for it.
        auto work = [&](int thread) {
            while (!started) sched_yield();
            task(argument, thread, started);
        };
        try {
            while (helpers && count < threads) helpers[count] = std::thread(work, count), count++;
        } catch (const std::system_error &) {
        }
        started = count;
        work(0);
        for (int i = 1; i < count; i++) helpers[i].join();
        delete[] helpers;
    }
}

namespace {

using Kernel = int (*)(const Call &);

struct Engine {
    const char *name;
    Kernel few_images, many_images;

    // Images as lanes are compiled for few channels.
    static bool takes_pixels(const Call &call) {
        return call.axes == 3 || call.images <= FEW_IMAGES || call.channels > MAX_CHANNELS_OF_LANES;
    }
    int apply(const Call &call) const {
        return takes_pixels(call) ? few_images(call) : many_images(call);
    }
};

#if defined(__x86_64__)
// Vector instructions that the processor has and the system saves. __builtin_cpu_supports needs a
// runtime library that not every compiler links into a shared library.
struct Instructions {
    bool avx2 = false, avx512 = false;

    Instructions() {
        unsigned a, b, c, d, saved, unused;
        constexpr unsigned BASIC = bit_OSXSAVE | bit_AVX | bit_FMA;
        constexpr unsigned WIDE = bit_AVX512F | bit_AVX512VL | bit_AVX512BW | bit_AVX512DQ;
        if (!__get_cpuid(1, &a, &b, &c, &d) || (c & BASIC) != BASIC) return;
        asm volatile("xgetbv" : "=a"(saved), "=d"(unused) : "c"(0));
        if ((saved & 0x06) != 0x06 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
        avx2 = b & bit_AVX2;
        avx512 = avx2 && (b & WIDE) == WIDE && (saved & 0xe0) == 0xe0;
    }
};
#endif

// The engines that this machine can run, the fastest first.
struct Engines {
    Engine known[3];
    int count = 0;

    Engines() {
#if defined(__x86_64__)
        const Instructions has;
        if (has.avx512) add({"avx512", avx512::apply_pixels, avx2::apply_images});
        if (has.avx2) add({"avx2", avx2::apply_pixels, avx2::apply_images});
#endif
#if defined(__ARM_NEON)
        const char *plain = "neon";
#else
        const char *plain = "generic";
#endif
        add({plain, generic::apply_pixels, generic::apply_images});
    }
    void add(const Engine &engine) { known[count++] = engine; }
    const Engine &chosen() const {
        const char *wanted = std::getenv("PRORANDCONV_ISA");
        for (int i = 0; wanted && i < count; i++)
            if (!std::strcmp(wanted, known[i].name)) return known[i];
        return known[0];
    }
};

const Engine &engine() {
    static const Engines all;
    static const Engine &chosen = all.chosen();
    return chosen;
}

int apply(const Call &call) {
    if (call.images > 0 && call.repeats > 0) return engine().apply(call);
    const int64_t floats = call.images * call.channels * call.pixels();
    if (call.x != call.out) std::memcpy(call.out, call.x, size_t(floats) * sizeof(float));
    return OK;
}

// Threads take whole images, one after the other.
struct Each {
    const Call &all;
    const int64_t *repeats;  // of each image, or NULL: one draw for all
    std::atomic<int64_t> next{0};
    std::atomic<int> status{OK};

    int apply();
};

Call call_of(const Each &each, int64_t image) {
    const Call &all = each.all;
    const int64_t fields = int64_t(all.axes) * all.taps();
    Call one = all;
    one.images = 1;
    one.threads = all.images == 1 ? all.threads : 1;
    one.x += image * all.channels * all.pixels();
    one.out += image * all.channels * all.pixels();
    if (!each.repeats) return one;
    one.repeats = each.repeats[image];
    one.weight += image * all.channels * all.channels * all.taps();
    if (one.offsets) one.offsets += image * fields * all.offsets_per_plane();
    if (one.gamma) one.gamma += image * all.channels;
    if (one.beta) one.beta += image * all.channels;
    return one;
}

void each_task(void *argument, int thread, int) {
    Each &each = *static_cast<Each *>(argument);
    Workspaces own;
    for (int64_t image; (image = each.next++) < each.all.images;) {
        Call one = call_of(each, image);
        if (thread > 0) one.workspaces = &own;
        const int status = apply(one);
        if (status) each.status = status;
    }
    for (auto &kept : own.kept) std::free(kept.load());
}

int Each::apply() {
    const int64_t threads = all.threads;
    run_parallel(int(all.images < threads ? (all.images > 0 ? all.images : 1) : threads), each_task,
                 this);
    return status;
}

}  // namespace
}  // namespace prorandconv

extern "C" {

// The instruction set in use: the best that the machine has, or that of the environment variable
// PRORANDCONV_ISA, with which the sanitizers run over all of them.
const char *prc_isa(void) { return prorandconv::engine().name; }

// images <- tanh(gamma * standardise(deform_conv(images)) + beta), `repeats` times.
// x, out: (n, c, size...), may be the same memory; size: `axes` numbers, ([d,] h, w).
// offsets: (axes k^axes, size...) or NULL for none; or if `modes` is not NULL, their coefficients
// (axes k^axes, modes...) in basis functions basis[axis] (size[axis], modes[axis]).
// polynomials: `kinds` of them, those that serve most rows first; see Polynomials.
// weight: (c, c, k, ...); gamma, beta: (c) or NULL; padding: 0 zeros, 1 reflect, 2 replicate.
// repeats: one number, or with `per_image` n of them; then the draw's tensors have a leading n, too.
// Returns 0, or 1: out of memory, 2: sizes or options that are not supported.
int prc_apply(const float *x, float *out, int64_t n, int64_t c, int axes, const int64_t *size,
              const float *offsets, const int64_t *modes, const float *const *basis, int kinds,
              const int *rows, const float *const *differences, const float *weight, int64_t k,
              const float *gamma, const float *beta, float eps, int standardise, int tanh,
              const int64_t *repeats, int per_image, int padding, int threads) {
    using namespace prorandconv;
    static const float one = 1;
    if (axes < 2 || axes > 3 || n < 0 || c < 1 || c > 1024 || k < 1 || k % 2 == 0 || k > 127 ||
        kinds < 0 || kinds > 2 || padding < ZEROS || padding > REPLICATE)
        return UNSUPPORTED;
    int64_t sides[3] = {1, 1, 1}, weights = c * c, pixels = 1;
    for (int axis = 0; axis < axes; axis++) {
        sides[axis + 3 - axes] = size[axis];
        if (size[axis] < 1 || size[axis] > MAX_SIZE) return UNSUPPORTED;
        pixels *= size[axis];
        weights *= k;
    }
    if (weights > MAX_WEIGHTS) return UNSUPPORTED;
    ask_for_huge_pages(out, size_t(n * c * pixels) * sizeof(float));
    Call call{};
    call.x = x;
    call.out = out;
    call.images = n;
    call.channels = int(c);
    call.axes = axes;
    call.depth = int(sides[0]);
    call.height = int(sides[1]);
    call.width = int(sides[2]);
    call.offsets = offsets;
    if (modes) {
        call.modes[0] = 1;
        call.basis[0] = &one;
        for (int axis = 0; axis < axes; axis++) {
            if (modes[axis] < 1 || modes[axis] > MAX_MODES) return UNSUPPORTED;
            call.modes[axis + 3 - axes] = int(modes[axis]);
            call.basis[axis + 3 - axes] = basis[axis];
        }
        for (int i = 0; i < kinds; i++) call.polynomials[i] = {rows[i], differences[i]};
    }
    call.weight = weight;
    call.kernel_size = int(k);
    call.gamma = gamma;
    call.beta = beta;
    call.eps = eps;
    call.standardise = standardise != 0;
    call.tanh = tanh != 0;
    call.repeats = per_image ? 0 : *repeats;
    call.padding = padding;
    call.threads = threads < 1 ? 1 : threads;
    call.workspaces = &kept_workspaces;
    // Bands of one image wait for each other; images do not, if they are enough for all threads.
    const bool enough = n > 1 && (n % call.threads == 0 || n >= 4 * call.threads);
    if (!per_image && !(enough && Engine::takes_pixels(call) && *repeats > 0)) return apply(call);
    Each each{call, per_image ? repeats : nullptr};
    return each.apply();
}
}
