// The fused kernel, compiled once per instruction set (see native.cpp): no include guard, no calls
// of library templates, which the linker might share between instruction sets.
//
// - Images are the lanes of the vectors: a group of V * LANES images is laid out as
//   (H, W, C, image), so every number of the sampling operator is broadcast to all images.
// - The draw is one linear operator for all images and repetitions. Bilinear corners of different
//   taps that fall on the same source pixel are merged: about 18 pixels instead of 36 for k = 3.
// - A repetition is one pass over memory: standardise + affine + tanh of the previous repetition
//   happens while rows enter a ring that stays in cache; the convolution overwrites the raw rows.
// - Every sum runs in an order that depends on the image's size only, so that the result does not
//   depend on batch size, position in the batch or number of threads.

namespace prorandconv {
namespace PRC_NAMESPACE {

#define PRC_INLINE inline __attribute__((always_inline))
#define PRC_NOINLINE __attribute__((noinline))

constexpr int LANES = PRC_LANES;
constexpr int MAX_VECTORS = LANES == 16 ? 2 : 4;

typedef float Vector __attribute__((vector_size(4 * LANES)));
typedef int IntVector __attribute__((vector_size(4 * LANES)));

PRC_INLINE Vector load(const float *p) {
    Vector v;
    __builtin_memcpy(&v, p, sizeof(v));
    return v;
}
PRC_INLINE void store(float *p, Vector v) { __builtin_memcpy(p, &v, sizeof(v)); }
PRC_INLINE Vector splat(float a) { return a - Vector{}; }  // a + 0 would not be folded: a may be -0
// Limits v to [-bound, bound] and lets NaN pass. Compilers do not find these instructions by
// themselves because a < b ? a : b is not symmetric where one is NaN.
PRC_INLINE Vector clamp(Vector v, float bound) {
#if PRC_LANES == 8
    v = (Vector)_mm256_min_ps((__m256)splat(bound), (__m256)v);
    return (Vector)_mm256_max_ps((__m256)splat(-bound), (__m256)v);
#else
    v = splat(bound) < v ? splat(bound) : v;
    return splat(-bound) > v ? splat(-bound) : v;
#endif
}
PRC_INLINE int smaller(int a, int b) { return a < b ? a : b; }
PRC_INLINE int larger(int a, int b) { return a > b ? a : b; }

// tanh(z) for z = u / (2 log2 e): 1 - 2 / (1 + 2^u), |error| < 2e-7. 2^u is a polynomial for the
// fractional part and an addition to the exponent's bits for the integer part. NaN stays NaN.
constexpr double TANH_SCALE = 2 * 1.4426950408889634;
PRC_INLINE Vector tanh_of_scaled(Vector u) {
    const Vector round = splat(12582912.f);  // 1.5 * 2^23: adding it leaves no fractional bits
    u = clamp(u, 64.f);
    const Vector rounded = u + round;
    const Vector f = u - (rounded - round);
    Vector p = splat(1.32764713e-3f);
    p = p * f + splat(9.67554096e-3f);
    p = p * f + splat(5.55071309e-2f);
    p = p * f + splat(2.40221202e-1f);
    p = p * f + splat(6.93146944e-1f);
    p = p * f + splat(1.00000012f);
    const Vector power = (Vector)((IntVector)p + ((IntVector)rounded << 23));
    return 1.f - 2.f / (1.f + power);
}

template <int... I>
struct Indices {};
template <int N, int... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <int... I>
struct Count<0, I...> {
    typedef Indices<I...> type;
};
template <int... I>
PRC_INLINE void interleave(Vector a, Vector b, Vector &low, Vector &high, Indices<I...>) {
#if defined(__clang__)
    low = __builtin_shufflevector(a, b, (I / 2 + I % 2 * LANES)...);
    high = __builtin_shufflevector(a, b, (I / 2 + I % 2 * LANES + LANES / 2)...);
#else
    low = __builtin_shuffle(a, b, IntVector{(I / 2 + I % 2 * LANES)...});
    high = __builtin_shuffle(a, b, IntVector{(I / 2 + I % 2 * LANES + LANES / 2)...});
#endif
}
// Transposes a LANES x LANES tile: log2(LANES) perfect shuffles of its rows.
PRC_INLINE void transpose(Vector (&tile)[LANES]) {
#pragma GCC unroll 4
    for (int step = 1; step < LANES; step *= 2) {
        Vector next[LANES];
#pragma GCC unroll 8
        for (int i = 0; i < LANES / 2; i++)
            interleave(tile[i], tile[i + LANES / 2], next[2 * i], next[2 * i + 1],
                       typename Count<LANES>::type());
        __builtin_memcpy(tile, next, sizeof(tile));
    }
}

// Range of integer displacements (without the tap's own position) that a tap of a block reads.
struct Box {
    short top, bottom, left, right;
};

struct Slot {
    int row, column;  // displacement of a source pixel from the output pixel
};

// The operator of a block of output pixels: slot s adds matrices[s][:, :, pixel] times the source
// pixel at displacement slots[s]; list[part] names the slots that are not zero in that part.
struct BlockOperator {
    int count[PARTS];
    int slots_used;
    Slot *slots;
    unsigned short *list;  // [PARTS][max_slots]
    float *matrices;       // [max_slots][C out][C in][BLOCK]
};

// What the draw looks like as an operator, shared by all threads.
struct Plan {
    int channels, height, width, kernel_size, padding;
    int blocks;  // per row
    int taps;    // those that are not negligible
    const float *offsets;
    int *tap_row, *tap_column, *tap_index;
    float *weight;  // [taps][C out][C in][LANES], each number LANES times
    float *packed;  // [H][blocks][taps][dy, dx][BLOCK]: offsets in the order of use, all finite
    Box *boxes;     // [H][blocks][taps]
    bool *mergeable;
    int top, bottom, left, right;  // reach of the displacements
    int max_slots;
    bool whole;   // offsets reach too far for a ring: rows of the whole image are kept instead
    bool cached;  // all blocks' operators are kept for all repetitions
    BlockOperator *cache;

    PRC_INLINE int block_index(int y, int block) const { return offsets ? y * blocks + block : 0; }
};

// A tap is dropped when it cannot change the sum in float32, whichever channels are involved.
inline bool negligible(const Call &call, int tap) {
    const int taps = call.kernel_size * call.kernel_size;
    for (int pair = 0; pair < call.channels * call.channels; pair++) {
        float largest = 0;
        for (int t = 0; t < taps; t++)
            largest = __builtin_fmaxf(largest, __builtin_fabsf(call.weight[pair * taps + t]));
        if (!(__builtin_fabsf(call.weight[pair * taps + tap]) <= largest * 0x1p-26f)) return false;
    }
    return true;
}

inline void lay_out_plan(Plan &plan, const Call &call, Carver &carver) {
    plan.channels = call.channels;
    plan.height = call.height;
    plan.width = call.width;
    plan.kernel_size = call.kernel_size;
    plan.padding = call.padding;
    plan.offsets = call.offsets;
    plan.blocks = (call.width + BLOCK - 1) / BLOCK;
    const int taps = call.kernel_size * call.kernel_size;
    const int rows_of_boxes = call.offsets ? call.height * plan.blocks : 1;
    plan.tap_row = carver.take<int>(size_t(taps));
    plan.tap_column = carver.take<int>(size_t(taps));
    plan.tap_index = carver.take<int>(size_t(taps));
    plan.weight = carver.take<float>(size_t(taps) * call.channels * call.channels * LANES);
    plan.packed = carver.take<float>(size_t(rows_of_boxes) * taps * 2 * BLOCK);
    plan.boxes = carver.take<Box>(size_t(rows_of_boxes) * taps);
    plan.mergeable = carver.take<bool>(size_t(rows_of_boxes));
}

inline void choose_taps(Plan &plan, const Call &call) {
    const int k = call.kernel_size, pairs = call.channels * call.channels;
    plan.taps = 0;
    for (int tap = 0; tap < k * k; tap++) {
        if (negligible(call, tap)) continue;
        const int t = plan.taps++;
        plan.tap_index[t] = tap;
        plan.tap_row[t] = tap / k - k / 2;
        plan.tap_column[t] = tap % k - k / 2;
        for (int pair = 0; pair < pairs; pair++)
            store(plan.weight + (t * pairs + pair) * LANES, splat(call.weight[pair * k * k + tap]));
    }
}

// Copies the offsets of a tap for a block, axis 0: dy, 1: dx; beyond the row's end the last
// pixel's. Neither NaN nor infinity passes.
PRC_INLINE void pack_offsets(const Plan &plan, int tap, int axis, int y, int block, float *packed) {
    const int pixels = smaller(BLOCK, plan.width - block * BLOCK);
    const ptrdiff_t plane = 2 * plan.tap_index[tap] + axis;
    const float *row =
        plan.offsets + (plane * plan.height + y) * plan.width + ptrdiff_t(block) * BLOCK;
    float rest[BLOCK];
    if (pixels < BLOCK) {
        for (int i = 0; i < BLOCK; i++) rest[i] = row[smaller(i, pixels - 1)];
        row = rest;
    }
    for (int i = 0; i < BLOCK; i += LANES) {
        Vector d = load(row + i);
        d = d > -FAR_AWAY ? d : splat(-FAR_AWAY);
        store(packed + i, d < FAR_AWAY ? d : splat(FAR_AWAY));
    }
}

// How far the offsets of rows [first, last) reach, and which blocks can be merged.
struct Reach {
    int top, bottom, left, right, max_slots;
    void include(const Reach &other) {
        top = larger(top, other.top);
        bottom = larger(bottom, other.bottom);
        left = larger(left, other.left);
        right = larger(right, other.right);
        max_slots = larger(max_slots, other.max_slots);
    }
};

PRC_INLINE void integer_range(const float *d, int &lowest, int &highest) {
    Vector low = load(d), high = low;
    for (int i = LANES; i < BLOCK; i += LANES) {
        const Vector v = load(d + i);
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    float a = low[0], b = high[0];
    for (int i = 1; i < LANES; i++) {
        a = low[i] < a ? low[i] : a;
        b = high[i] > b ? high[i] : b;
    }
    lowest = int(__builtin_floorf(a));
    highest = int(__builtin_ceilf(b));
}

inline Reach scan_offsets(const Plan &plan, int first, int last) {
    Reach reach{0, 0, 0, 0, 1};
    for (int y = first; y < last; y++)
        for (int block = 0; block < (plan.offsets ? plan.blocks : 1); block++) {
            const int index = plan.block_index(y, block);
            bool mergeable = true;
            int top = MAX_SIZE, bottom = -MAX_SIZE, left = MAX_SIZE, right = -MAX_SIZE;
            for (int t = 0; t < plan.taps; t++) {
                float *d = plan.packed + (ptrdiff_t(index) * plan.taps + t) * 2 * BLOCK;
                int y0, y1, x0, x1;
                if (plan.offsets) {
                    pack_offsets(plan, t, 0, y, block, d);
                    pack_offsets(plan, t, 1, y, block, d + BLOCK);
                } else {
                    __builtin_memset(d, 0, 2 * BLOCK * sizeof(float));
                }
                integer_range(d, y0, y1);
                integer_range(d + BLOCK, x0, x1);
                top = smaller(top, y0 + plan.tap_row[t]);
                bottom = larger(bottom, y1 + plan.tap_row[t]);
                left = smaller(left, x0 + plan.tap_column[t]);
                right = larger(right, x1 + plan.tap_column[t]);
                mergeable = mergeable && y1 - y0 < MAX_BOX && x1 - x0 < MAX_BOX;
                plan.boxes[index * plan.taps + t] = {short(y0), short(y1), short(x0), short(x1)};
            }
            const bool near = top >= -MAX_REACH && bottom <= MAX_REACH && left >= -MAX_REACH &&
                              right <= MAX_REACH;
            plan.mergeable[index] = mergeable && near && plan.taps > 0;
            reach.include({-top, bottom, -left, right,
                           plan.mergeable[index] ? (bottom - top + 1) * (right - left + 1) : 1});
        }
    return reach;
}

// A tap's share in a slot: the product of its two hat functions max(0, 1 - |offset - integer|).
struct Share {
    unsigned short row_hat, column_hat, tap;
};

struct BuildScratch {
    float *hats;    // [up to taps * 2 * MAX_BOX][BLOCK]
    Share *shares;  // [max_slots][taps]
    int *share_count;
    bool *dense;  // a tap with a single 2 x 2 box has a share in all pixels of the block
    void lay_out(const Plan &plan, Carver &carver) {
        hats = carver.take<float>(size_t(plan.taps) * 2 * MAX_BOX * BLOCK);
        shares = carver.take<Share>(size_t(plan.max_slots) * plan.taps);
        share_count = carver.take<int>(size_t(plan.max_slots));
        dense = carver.take<bool>(size_t(plan.max_slots));
    }
};

inline void lay_out_operator(BlockOperator &op, const Plan &plan, Carver &carver) {
    op.slots = carver.take<Slot>(size_t(plan.max_slots));
    op.list = carver.take<unsigned short>(size_t(plan.max_slots) * PARTS);
    op.matrices = carver.take<float>(size_t(plan.max_slots) * plan.channels * plan.channels * BLOCK);
}

PRC_INLINE void make_hats(const float *d, int from, int to, float *hats) {
    for (int integer = from; integer <= to; integer++, hats += BLOCK)
        for (int i = 0; i < BLOCK; i += LANES) {
            Vector distance = load(d + i) - float(integer);
            distance = distance > -distance ? distance : -distance;
            const Vector hat = 1.f - distance;
            store(hats + i, hat > 0.f ? hat : Vector{});
        }
}

// Sums the shares of a slot for PAIRS entries of its matrix; tells which parts are not zero.
template <int PAIRS>
PRC_INLINE void merge_shares(const Share *shares, int count, const float *hats,
                             const float *weights, int pairs, int pair, float *matrix,
                             float (&total)[BLOCK]) {
    for (int i = 0; i < BLOCK; i += LANES) {
        Vector sum[PAIRS], all = Vector{};
#pragma GCC unroll 9
        for (int e = 0; e < PAIRS; e++) sum[e] = Vector{};
        for (int s = 0; s < count; s++) {
            const Vector bilinear = load(hats + shares[s].row_hat * BLOCK + i) *
                                    load(hats + shares[s].column_hat * BLOCK + i);
            const float *weight = weights + (shares[s].tap * pairs + pair) * LANES;
            all += bilinear;
#pragma GCC unroll 9
            for (int e = 0; e < PAIRS; e++) sum[e] += bilinear * load(weight + e * LANES);
        }
        store(total + i, all);
#pragma GCC unroll 9
        for (int e = 0; e < PAIRS; e++) store(matrix + (pair + e) * BLOCK + i, sum[e]);
    }
}

template <int C>
void build_operator(const Plan &plan, int y, int block, BuildScratch &scratch, BlockOperator &op) {
    const ptrdiff_t first_tap = ptrdiff_t(plan.block_index(y, block)) * plan.taps;
    const Box *boxes = plan.boxes + first_tap;
    const float *packed = plan.packed + first_tap * 2 * BLOCK;
    const int pairs = plan.channels * plan.channels;
    int top = MAX_SIZE, bottom = -MAX_SIZE, left = MAX_SIZE, right = -MAX_SIZE;
    for (int t = 0; t < plan.taps; t++) {
        top = smaller(top, boxes[t].top + plan.tap_row[t]);
        bottom = larger(bottom, boxes[t].bottom + plan.tap_row[t]);
        left = smaller(left, boxes[t].left + plan.tap_column[t]);
        right = larger(right, boxes[t].right + plan.tap_column[t]);
    }
    const int columns = right - left + 1, window = (bottom - top + 1) * columns;
    __builtin_memset(scratch.share_count, 0, size_t(window) * sizeof(int));
    __builtin_memset(scratch.dense, 0, size_t(window));
    int hats = 0;
    for (int t = 0; t < plan.taps; t++) {
        const Box box = boxes[t];
        const float *d = packed + t * 2 * BLOCK;
        const int row_hats = hats, column_hats = hats + box.bottom - box.top + 1;
        hats = column_hats + box.right - box.left + 1;
        make_hats(d, box.top, box.bottom, scratch.hats + row_hats * BLOCK);
        make_hats(d + BLOCK, box.left, box.right, scratch.hats + column_hats * BLOCK);
        const bool dense = box.bottom - box.top < 2 && box.right - box.left < 2;
        for (int r = box.top; r <= box.bottom; r++)
            for (int c = box.left; c <= box.right; c++) {
                const int slot = (r + plan.tap_row[t] - top) * columns + c + plan.tap_column[t] - left;
                scratch.shares[slot * plan.taps + scratch.share_count[slot]++] = {
                    (unsigned short)(row_hats + r - box.top),
                    (unsigned short)(column_hats + c - box.left), (unsigned short)t};
                scratch.dense[slot] |= dense;
            }
    }
    op.slots_used = 0;
    for (int part = 0; part < PARTS; part++) op.count[part] = 0;
    for (int slot = 0; slot < window; slot++) {
        const int count = scratch.share_count[slot];
        if (!count) continue;
        const Share *shares = scratch.shares + slot * plan.taps;
        const int used = op.slots_used++;
        float *matrix = op.matrices + ptrdiff_t(used) * pairs * BLOCK, total[BLOCK];
        op.slots[used] = {top + slot / columns, left + slot % columns};
        if (C)
            merge_shares<C * C ? C * C : 1>(shares, count, scratch.hats, plan.weight, C * C, 0,
                                            matrix, total);
        else
            for (int pair = 0; pair < pairs; pair++)
                merge_shares<1>(shares, count, scratch.hats, plan.weight, pairs, pair, matrix, total);
        for (int part = 0; part < PARTS; part++) {
            const float *t = total + part * PART;
            op.list[part * plan.max_slots + op.count[part]] = (unsigned short)used;
            op.count[part] += scratch.dense[slot] || t[0] + t[1] + t[2] + t[3] > 0.f;
        }
    }
}

// sum[pixel][out][:] = matrices of the listed slots times their source pixels.
template <int OUT, int PX, int V>
PRC_INLINE void accumulate(const float *const *sources, const float *matrices,
                           const unsigned short *list, int count, int pixel, int channels, int out,
                           Vector (&sum)[PX][OUT][V]) {
    const ptrdiff_t stride = ptrdiff_t(channels) * V * LANES;
#pragma GCC unroll 4
    for (int p = 0; p < PX; p++)
#pragma GCC unroll 3
        for (int o = 0; o < OUT; o++)
#pragma GCC unroll 4
            for (int v = 0; v < V; v++) sum[p][o][v] = Vector{};
    for (int s = 0; s < count; s++) {
        const int slot = list[s];
        const float *x = sources[slot] + pixel * stride;
        const float *m = matrices + (ptrdiff_t(slot) * channels + out) * channels * BLOCK + pixel;
        asm("" : "+r"(x), "+r"(m));  // one address each instead of an induction variable per load
#pragma GCC unroll 3
        for (int in = 0; in < channels; in++)
#pragma GCC unroll 4
            for (int p = 0; p < PX; p++) {
                asm volatile("" ::: "memory");
                Vector weight[OUT];
#pragma GCC unroll 3
                for (int o = 0; o < OUT; o++) weight[o] = splat(m[(o * channels + in) * BLOCK + p]);
#pragma GCC unroll 4
                for (int v = 0; v < V; v++) {
                    const Vector value = load(x + p * stride + (in * V + v) * LANES);
#pragma GCC unroll 3
                    for (int o = 0; o < OUT; o++) sum[p][o][v] += value * weight[o];
                }
            }
    }
}

// A group of images in work by a team of threads.
struct Team {
    Barrier barrier;
    float *raw;         // (H, W rounded up, C, image): the convolution before standardisation
    float *whole;       // (H, W, C, image): its input, if a ring would not do
    float *statistics;  // [H][3][C][image]: shift, sum and sum of squares of the shifted row
};

// One thread's band of rows of a group. C = 0 stands for any number of channels.
template <int C, int V>
struct Band {
    static constexpr int GROUP = V * LANES;
    static constexpr int OUT = C ? C : 1;  // output channels that are summed at once
    static constexpr int PX = OUT > 1 ? 4 / V : V > 2 ? 2 : 4;  // pixels summed at once
    static_assert(PX <= PART, "pixels summed at once share one list");

    const Plan &plan;
    const Call &call;
    Team *team;
    int bands, y0, y1;
    int ring_rows, halo_top, halo_bottom;
    ptrdiff_t row_floats;
    float *ring, *halo, *zeros;
    float *mean, *scale, *shift;  // [C][image]
    const float **rows, **sources;
    BuildScratch scratch;
    BlockOperator own, corners;

    PRC_INLINE int channels() const { return C ? C : plan.channels; }
    PRC_INLINE ptrdiff_t stride() const { return ptrdiff_t(channels()) * GROUP; }
    PRC_INLINE ptrdiff_t raw_row() const { return (plan.width + PX - 1) / PX * PX * stride(); }

    Band(const Plan &plan, const Call &call) : plan(plan), call(call) {}

    void set_band(int band, int bands) {
        this->bands = bands;
        y0 = int(int64_t(plan.height) * band / bands);
        y1 = int(int64_t(plan.height) * (band + 1) / bands);
        halo_top = smaller(plan.top, y0);
        halo_bottom = smaller(plan.bottom, plan.height - y1);
        ring_rows = smaller(plan.top + plan.bottom + 1, y1 - y0);
    }

    void lay_out(Carver &carver) {
        const int corner_count = 4 * plan.taps;
        const size_t band_rows = plan.whole ? 0 : size_t(plan.top + plan.bottom + 1);
        row_floats = (plan.left + plan.blocks * BLOCK + plan.right) * stride();
        ring = carver.take<float>(band_rows * row_floats);
        halo = carver.take<float>(band_rows * row_floats);
        zeros = carver.take<float>(size_t(row_floats));
        mean = carver.take<float>(size_t(stride()));
        scale = carver.take<float>(size_t(stride()));
        shift = carver.take<float>(size_t(stride()));
        rows = carver.take<const float *>(band_rows);
        sources = carver.take<const float *>(size_t(larger(plan.max_slots, corner_count)));
        scratch.lay_out(plan, carver);
        if (!plan.cached) lay_out_operator(own, plan, carver);
        corners.list = carver.take<unsigned short>(size_t(corner_count));
        corners.matrices =
            carver.take<float>(size_t(corner_count) * plan.channels * plan.channels * BLOCK);
    }

    // Margins stay zero from here on if the padding is zero.
    void clear() {
        __builtin_memset(ring, 0, size_t(reinterpret_cast<char *>(mean) - reinterpret_cast<char *>(ring)));
    }

    // Row y of the convolution's input; y may be outside the image.
    PRC_INLINE const float *source_row(int y) const {
        y = pad_index(y, plan.height, plan.padding);
        if (y < 0) return zeros + plan.left * stride();
        return const_cast<Band *>(this)->input_row(y);
    }
    PRC_INLINE float *input_row(int y) {
        if (plan.whole) return team->whole + y * plan.width * stride();
        float *row = y < y0    ? halo + (y - y0 + halo_top) * row_floats
                     : y >= y1 ? halo + (y - y1 + halo_top) * row_floats
                               : ring + y % ring_rows * row_floats;
        return row + plan.left * stride();
    }

    PRC_NOINLINE void read_images(int64_t first_image, int y, float *row) const {
        const ptrdiff_t plane = ptrdiff_t(plan.height) * plan.width;
        for (int c = 0; c < channels(); c++)
            for (int v = 0; v < V; v++) {
                const float *images[LANES];
                const int64_t first = first_image + v * LANES;
                const int valid = int(first + LANES <= call.images ? LANES
                                      : first < call.images        ? call.images - first
                                                                   : 0);
                for (int i = 0; i < valid; i++)
                    images[i] = call.x + ((first + i) * channels() + c) * plane + ptrdiff_t(y) * plan.width;
                float *to = row + (c * V + v) * LANES;
                int x = 0;
                for (; x + LANES <= plan.width; x += LANES) {
                    Vector tile[LANES];
                    for (int i = 0; i < LANES; i++) tile[i] = i < valid ? load(images[i] + x) : Vector{};
                    transpose(tile);
                    for (int i = 0; i < LANES; i++) store(to + (x + i) * stride(), tile[i]);
                }
                for (; x < plan.width; x++)
                    for (int i = 0; i < LANES; i++) to[x * stride() + i] = i < valid ? images[i][x] : 0.f;
            }
    }

    template <bool TANH>
    PRC_INLINE Vector contrast(const float *raw, int lane) const {
        const Vector z = (load(raw) - load(mean + lane)) * load(scale + lane) + load(shift + lane);
        return TANH ? tanh_of_scaled(z) : z;
    }

    template <bool TANH>
    PRC_NOINLINE void write_images(int64_t first_image, int y) const {
        const float *raw = team->raw + y * raw_row();
        const ptrdiff_t plane = ptrdiff_t(plan.height) * plan.width;
        for (int c = 0; c < channels(); c++)
            for (int v = 0; v < V; v++) {
                float *images[LANES];
                const int64_t first = first_image + v * LANES;
                const int valid = int(first + LANES <= call.images ? LANES
                                      : first < call.images        ? call.images - first
                                                                   : 0);
                for (int i = 0; i < valid; i++)
                    images[i] = call.out + ((first + i) * channels() + c) * plane + ptrdiff_t(y) * plan.width;
                const int lane = (c * V + v) * LANES;
                int x = 0;
                for (; x + LANES <= plan.width; x += LANES) {
                    Vector tile[LANES];
                    for (int i = 0; i < LANES; i++)
                        tile[i] = contrast<TANH>(raw + (x + i) * stride() + lane, lane);
                    transpose(tile);
                    for (int i = 0; i < valid; i++) store(images[i] + x, tile[i]);
                }
                for (; x < plan.width; x++) {
                    const Vector pixel = contrast<TANH>(raw + x * stride() + lane, lane);
                    for (int i = 0; i < valid; i++) images[i][x] = pixel[i];
                }
            }
    }

    template <bool TANH>
    PRC_NOINLINE void contrast_row(int y, float *row) const {
        const float *raw = team->raw + y * raw_row();
        for (int x = 0; x < plan.width; x++, raw += stride(), row += stride())
            for (int j = 0; j < channels() * GROUP; j += LANES)
                store(row + j, contrast<TANH>(raw + j, j));
    }

    void fill_row(int64_t first_image, int64_t repeat, int y) {
        float *row = input_row(y);
        if (repeat == 0)
            read_images(first_image, y, row);
        else if (call.tanh)
            contrast_row<true>(y, row);
        else
            contrast_row<false>(y, row);
        if (plan.padding == ZEROS || plan.whole) return;
        const size_t bytes = size_t(stride()) * sizeof(float);
        for (int x = -plan.left; x < 0; x++)
            __builtin_memcpy(row + x * stride(),
                             row + pad_index(x, plan.width, plan.padding) * stride(), bytes);
        for (int x = plan.width; x < plan.width + plan.right; x++)
            __builtin_memcpy(row + x * stride(),
                             row + pad_index(x, plan.width, plan.padding) * stride(), bytes);
    }

    template <int PIXELS_AT_ONCE>
    PRC_INLINE void sum_pixels(const BlockOperator &op, const unsigned short *list, int count,
                               int pixel, float *raw) const {
        for (int out = 0; out < channels(); out += OUT) {
            Vector sum[PIXELS_AT_ONCE][OUT][V];
            accumulate<OUT, PIXELS_AT_ONCE, V>(sources, op.matrices, list, count, pixel,
                                               C ? C : plan.channels, out, sum);
#pragma GCC unroll 4
            for (int p = 0; p < PIXELS_AT_ONCE; p++)
#pragma GCC unroll 3
                for (int o = 0; o < OUT; o++)
#pragma GCC unroll 4
                    for (int v = 0; v < V; v++)
                        store(raw + p * stride() + ((out + o) * V + v) * LANES, sum[p][o][v]);
        }
    }

    PRC_NOINLINE void convolve_merged(int y, int block, int pixels, float *raw) {
        const BlockOperator *op = &own;
        if (plan.cached)
            op = plan.cache + plan.block_index(y, block);
        else
            build_operator<C>(plan, y, block, scratch, own);
        for (int s = 0; s < op->slots_used; s++)
            sources[s] = rows[op->slots[s].row + plan.top] +
                         (block * BLOCK + op->slots[s].column) * stride();
        for (int pixel = 0; pixel < pixels; pixel += PX) {
            const int part = pixel / PART;
            sum_pixels<PX>(*op, op->list + part * plan.max_slots, op->count[part], pixel,
                           raw + pixel * stride());
        }
    }

    // Offsets that vary too much or reach too far to be merged: all corners of every pixel.
    PRC_NOINLINE void convolve_corners(int y, int block, int pixels, float *raw) {
        const int pairs = plan.channels * plan.channels;
        const float *packed =
            plan.packed + ptrdiff_t(plan.block_index(y, block)) * plan.taps * 2 * BLOCK;
        for (int pixel = 0; pixel < pixels; pixel++) {
            int count = 0;
            for (int t = 0; t < plan.taps; t++) {
                const float *dy = packed + t * 2 * BLOCK, *dx = dy + BLOCK;
                const float top = __builtin_floorf(dy[pixel]), left = __builtin_floorf(dx[pixel]);
                for (int corner = 0; corner < 4; corner++) {
                    const int down = corner / 2, right = corner % 2;
                    const int row = y + plan.tap_row[t] + int(top) + down;
                    const int column = pad_index(
                        block * BLOCK + pixel + plan.tap_column[t] + int(left) + right, plan.width,
                        plan.padding);
                    if (column < 0 || pad_index(row, plan.height, plan.padding) < 0) continue;
                    const float bilinear = (down ? dy[pixel] - top : 1.f - (dy[pixel] - top)) *
                                           (right ? dx[pixel] - left : 1.f - (dx[pixel] - left));
                    if (bilinear == 0.f) continue;
                    sources[count] = source_row(row) + column * stride();
                    corners.list[count] = (unsigned short)count;
                    for (int pair = 0; pair < pairs; pair++)
                        corners.matrices[(ptrdiff_t(count) * pairs + pair) * BLOCK] =
                            bilinear * plan.weight[(t * pairs + pair) * LANES];
                    count++;
                }
            }
            sum_pixels<1>(corners, corners.list, count, 0, raw + pixel * stride());
        }
    }

    void convolve_row(int y) {
        if (!plan.whole)
            for (int r = -plan.top; r <= plan.bottom; r++) rows[r + plan.top] = source_row(y + r);
        float *raw = team->raw + y * raw_row(), *statistics = team->statistics + y * 3 * stride();
        for (int block = 0; block < plan.blocks; block++) {
            const int pixels = smaller(BLOCK, plan.width - block * BLOCK);
            float *part = raw + block * BLOCK * stride();
            if (!plan.whole && plan.mergeable[plan.block_index(y, block)])
                convolve_merged(y, block, pixels, part);
            else
                convolve_corners(y, block, pixels, part);
            if (block == 0) begin_statistics(raw, statistics);
            add_statistics(part, pixels, statistics);
        }
    }

    // Shifting by the row's first pixel keeps the variance exact when the mean is large.
    PRC_INLINE void begin_statistics(const float *first_pixel, float *statistics) const {
        const size_t bytes = size_t(stride()) * sizeof(float);
        __builtin_memcpy(statistics, first_pixel, bytes);
        __builtin_memset(statistics + stride(), 0, 2 * bytes);
    }

    PRC_NOINLINE void add_statistics(const float *raw, int pixels, float *statistics) const {
        for (int j = 0; j < channels() * GROUP; j += LANES, raw += LANES, statistics += LANES) {
            const Vector pivot = load(statistics);
            Vector sum = load(statistics + stride()), squares = load(statistics + 2 * stride());
            for (int pixel = 0; pixel < pixels; pixel++) {
                const Vector d = load(raw + pixel * stride()) - pivot;
                sum += d;
                squares += d * d;
            }
            store(statistics + stride(), sum);
            store(statistics + 2 * stride(), squares);
        }
    }

    // Joins the rows' statistics to the affine map that standardises and applies gamma and beta.
    PRC_NOINLINE void compute_contrast() {
        const double width = plan.width, height = plan.height;
        for (int j = 0; j < channels() * GROUP; j++) {
            double average = 0, deviation = 1;
            if (call.standardise) {
                const float *row = team->statistics + j;
                const double pivot = row[0] + row[stride()] / width;
                double sum = 0, squares = 0, within = 0;
                for (int y = 0; y < plan.height; y++, row += 3 * stride()) {
                    const double d = row[0] + row[stride()] / width - pivot;
                    sum += d;
                    squares += d * d;
                    within += row[2 * stride()] - double(row[stride()]) * row[stride()] / width;
                }
                average = pivot + sum / height;
                const double variance =
                    (within / width + (squares - sum * sum / height)) / height;
                deviation = __builtin_sqrt((variance > 0 || variance != variance ? variance : 0) + call.eps);
            }
            const int channel = j / GROUP;
            const double a = (call.gamma ? call.gamma[channel] : 1.f) / deviation;
            const double b = call.beta ? call.beta[channel] : 0.f;
            mean[j] = float(average);
            scale[j] = float(call.tanh ? a * TANH_SCALE : a);
            shift[j] = float(call.tanh ? b * TANH_SCALE : b);
        }
    }

    void run(int64_t first_image) {
        for (int64_t repeat = 0; repeat < call.repeats; repeat++) {
            const int before = plan.whole ? y0 : y0 - halo_top;
            const int after = plan.whole ? y1 : y1 + halo_bottom;
            for (int y = before; y < after; y++)
                if (plan.whole || y < y0 || y >= y1) fill_row(first_image, repeat, y);
            team->barrier.wait(bands);
            int filled = plan.whole ? y1 : y0;
            for (int y = y0; y < y1; y++) {
                for (; filled < y1 && filled <= y + plan.bottom; filled++)
                    fill_row(first_image, repeat, filled);
                convolve_row(y);
            }
            team->barrier.wait(bands);
            compute_contrast();
        }
        for (int y = y0; y < y1; y++)
            if (call.tanh)
                write_images<true>(first_image, y);
            else
                write_images<false>(first_image, y);
    }
};

struct Job {
    const Call *call;
    Plan plan;
    Reach reach[64];
    Barrier barrier;
};

inline void scan_task(void *argument, int thread, int threads) {
    Job &job = *static_cast<Job *>(argument);
    const int rows = job.plan.offsets ? job.plan.height : 1;
    job.reach[thread] = scan_offsets(job.plan, int(int64_t(rows) * thread / threads),
                                     int(int64_t(rows) * (thread + 1) / threads));
}

template <int C, int V>
struct GroupJob : Job {
    int64_t first_image, groups;
    int teams, threads;
    Team team[64];
    char *band_memory;
    size_t band_bytes;

    void choose_teams() {
        const size_t group_bytes = size_t(plan.height) * plan.width * plan.channels * V * LANES * 4;
        teams = 1;
        for (int t = 2; t <= threads && t <= groups; t++)
            if (threads % t == 0 && groups % t == 0 && t * group_bytes <= (size_t(PRC_TEAM_MB) << 20)) teams = t;
    }

    void lay_out(Carver &carver) {
        Band<C, V> band(plan, *call);
        const size_t pixel = size_t(plan.channels) * V * LANES;
        for (int t = 0; t < teams; t++) {
            team[t].raw = carver.take<float>(size_t(plan.height) * ((plan.width + 3) / 4 * 4) * pixel);
            team[t].whole = carver.take<float>(plan.whole ? size_t(plan.height) * plan.width * pixel : 0);
            team[t].statistics = carver.take<float>(size_t(plan.height) * 3 * pixel);
        }
        if (plan.cached) {
            const int blocks = plan.offsets ? plan.height * plan.blocks : 1;
            BlockOperator *cache = carver.take<BlockOperator>(size_t(blocks));
            BlockOperator unused;
            for (int b = 0; b < blocks; b++) lay_out_operator(cache ? cache[b] : unused, plan, carver);
            plan.cache = cache;
        }
        Carver one;
        band.lay_out(one);
        band_bytes = one.used;
        band_memory = carver.take<char>(band_bytes * threads);
    }

    static void task(void *argument, int thread, int threads) {
        GroupJob &job = *static_cast<GroupJob *>(argument);
        Band<C, V> band(job.plan, *job.call);
        Carver carver;
        carver.memory = job.band_memory + job.band_bytes * thread;
        band.lay_out(carver);
        const int teams = smaller(job.teams, threads), most = larger(1, job.plan.height / 8);
        const int bands = smaller(threads / teams, most);
        if (job.plan.cached) {
            const int blocks = job.plan.offsets ? job.plan.height * job.plan.blocks : 1;
            for (int b = thread; b < blocks; b += threads)
                if (job.plan.mergeable[b])
                    build_operator<C>(job.plan, b / job.plan.blocks, b % job.plan.blocks, band.scratch,
                                      job.plan.cache[b]);
            job.barrier.wait(threads);
        }
        if (thread >= teams * bands) return;
        band.team = &job.team[thread / bands];
        band.set_band(thread % bands, bands);
        band.clear();
        for (int64_t group = thread / bands; group < job.groups; group += teams)
            band.run(job.first_image + group * V * LANES);
    }
};

template <int C, int V>
int apply_groups(const Job &job, int64_t first_image, int64_t groups) {
    GroupJob<C, V> *group_job = new (std::nothrow) GroupJob<C, V>;
    if (!group_job) return OUT_OF_MEMORY;
    group_job->call = job.call;
    group_job->plan = job.plan;
    group_job->first_image = first_image;
    group_job->groups = groups;
    group_job->threads = smaller(job.call->threads, 64);
    group_job->choose_teams();
    Carver measure;
    group_job->lay_out(measure);
    char *memory = acquire_workspace(measure.used, IMAGES);
    if (memory) {
        Carver carver;
        carver.memory = memory;
        group_job->lay_out(carver);
        run_parallel(group_job->threads, GroupJob<C, V>::task, group_job);
        release_workspace(memory, IMAGES);
    }
    delete group_job;
    return memory ? OK : OUT_OF_MEMORY;
}

// Full groups first, then the rest in the narrowest group that holds it.
template <int C>
int apply_channels(const Job &job) {
    const int64_t images = job.call->images, widest = MAX_VECTORS * LANES, full = images / widest;
    const int64_t rest = images - full * widest;
    int status = OK;
    if (full) status = apply_groups<C, MAX_VECTORS>(job, 0, full);
    if (status || !rest) return status;
    if (rest <= LANES) return apply_groups<C, 1>(job, full * widest, 1);
    if (rest <= 2 * LANES) return apply_groups<C, 2>(job, full * widest, 1);
    return apply_groups<C, MAX_VECTORS>(job, full * widest, 1);
}

int apply(const Call &call) {
    Job job;
    job.call = &call;
    Carver measure;
    lay_out_plan(job.plan, call, measure);
    char *memory = acquire_workspace(measure.used, PLAN);
    if (!memory) return OUT_OF_MEMORY;
    Carver carver;
    carver.memory = memory;
    Plan &plan = job.plan;
    lay_out_plan(plan, call, carver);
    choose_taps(plan, call);
    const int64_t work = int64_t(plan.height) * plan.width * plan.taps;
    for (Reach &reach : job.reach) reach = {0, 0, 0, 0, 1};
    run_parallel(work > 100000 ? smaller(call.threads, 64) : 1, scan_task, &job);
    for (const Reach &reach : job.reach) job.reach[0].include(reach);
    const Reach &reach = job.reach[0];
    plan.top = reach.top;
    plan.bottom = reach.bottom;
    plan.left = reach.left;
    plan.right = reach.right;
    plan.max_slots = reach.max_slots;
    plan.whole = larger(larger(reach.top, reach.bottom), larger(reach.left, reach.right)) > MAX_REACH;
    if (plan.whole) plan.top = plan.bottom = plan.left = plan.right = 0;
    if (plan.padding != ZEROS) plan.top = plan.bottom = larger(plan.top, plan.bottom);
    const int64_t operator_floats =
        int64_t(plan.offsets ? plan.height * plan.blocks : 1) * plan.max_slots * plan.channels *
        plan.channels * BLOCK;
    plan.cached = !plan.whole && operator_floats * 4 <= (int64_t(PRC_CACHE_MB) << 20);
    const int status = plan.channels == 3   ? apply_channels<3>(job)
                       : plan.channels == 1 ? apply_channels<1>(job)
                                            : apply_channels<0>(job);
    release_workspace(memory, PLAN);
    return status;
}

#undef PRC_INLINE
#undef PRC_NOINLINE

}  // namespace PRC_NAMESPACE
}  // namespace prorandconv
