// The draw (offsets and weights) as one sparse linear operator on images. Part of kernel.h.
//
// For a block of output pixels of a row, bilinear corners of all taps that fall on the same
// displacement are merged into one slot with a C x C matrix per pixel. Offsets are smooth, so a
// block needs few slots, and building is vector code over the block's pixels.

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
    const float *offsets;
    Taps taps;
    float *weight;  // [taps][C out][C in][LANES], each number LANES times
    float *packed;  // [H][blocks][taps][dy, dx][BLOCK]: offsets in the order of use, all finite
    char *scan_memory;  // of Offsets, for each thread
    size_t scan_bytes;
    Box *boxes;     // [H][blocks][taps]
    bool *mergeable;
    int top, bottom, left, right;  // reach of the displacements
    int max_slots;
    bool whole;   // offsets reach too far for a ring: rows of the whole image are kept instead
    bool cached;  // all blocks' operators are kept for all repetitions
    BlockOperator *cache;

    PRC_INLINE int block_index(int y, int block) const { return offsets ? y * blocks + block : 0; }
};

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
    plan.taps.lay_out(call, carver);
    plan.weight = carver.take<float>(size_t(taps) * call.channels * call.channels * LANES);
    plan.packed = carver.take<float>(size_t(rows_of_boxes) * taps * 2 * BLOCK);
    plan.boxes = carver.take<Box>(size_t(rows_of_boxes) * taps);
    plan.mergeable = carver.take<bool>(size_t(rows_of_boxes));
    Carver scan;
    Offsets(call, plan.taps).lay_out(scan, 1);
    plan.scan_bytes = scan.used;
    plan.scan_memory = carver.take<char>(plan.scan_bytes * smaller(call.threads, 64));
}

inline void choose_taps(Plan &plan, const Call &call) {
    const int all = call.kernel_size * call.kernel_size, pairs = call.channels * call.channels;
    plan.taps.choose(call);
    for (int t = 0; t < plan.taps.count; t++)
        for (int pair = 0; pair < pairs; pair++)
            store(plan.weight + (t * pairs + pair) * LANES,
                  splat(call.weight[pair * all + plan.taps.index[t]]));
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

inline Reach scan_offsets(const Plan &plan, Offsets &offsets, int first, int last) {
    Reach reach{0, 0, 0, 0, 1};
    for (int y = first; y < last; y++) {
        offsets.begin_rows(0, y, 1);
        for (int block = 0; block < (plan.offsets ? plan.blocks : 1); block++) {
            const int index = plan.block_index(y, block);
            float *packed = plan.packed + ptrdiff_t(index) * plan.taps.count * 2 * BLOCK;
            int field = 0;
            for (; field + 6 <= offsets.fields(); field += 6)
                offsets.read_row<6, BLOCK / LANES>(field, 0, block * BLOCK, packed + field * BLOCK);
            for (; field < offsets.fields(); field += 2)
                offsets.read_row<2, BLOCK / LANES>(field, 0, block * BLOCK, packed + field * BLOCK);
            for (int i = 0; i < plan.taps.count * 2 * BLOCK; i += LANES)
                store(packed + i, clamp_offset(load(packed + i)));
            bool mergeable = true;
            int top = MAX_SIZE, bottom = -MAX_SIZE, left = MAX_SIZE, right = -MAX_SIZE;
            for (int t = 0; t < plan.taps.count; t++) {
                const float *d = packed + t * 2 * BLOCK;
                int y0, y1, x0, x1;
                integer_range(d, y0, y1);
                integer_range(d + BLOCK, x0, x1);
                top = smaller(top, y0 + plan.taps.row[t]);
                bottom = larger(bottom, y1 + plan.taps.row[t]);
                left = smaller(left, x0 + plan.taps.column[t]);
                right = larger(right, x1 + plan.taps.column[t]);
                mergeable = mergeable && y1 - y0 < MAX_BOX && x1 - x0 < MAX_BOX;
                plan.boxes[index * plan.taps.count + t] = {short(y0), short(y1), short(x0),
                                                           short(x1)};
            }
            const bool near = top >= -MAX_REACH && bottom <= MAX_REACH && left >= -MAX_REACH &&
                              right <= MAX_REACH;
            plan.mergeable[index] = mergeable && near && plan.taps.count > 0;
            reach.include({-top, bottom, -left, right,
                           plan.mergeable[index] ? (bottom - top + 1) * (right - left + 1) : 1});
        }
    }
    return reach;
}

// A tap's share in a slot: the product of its two hat functions max(0, 1 - |offset - integer|).
struct Share {
    unsigned short row_hat, column_hat, tap;
};

// Which taps share in which slots. It follows from the boxes, which seldom change from a row to
// the next, so that a list is kept for each column of blocks.
struct ShareList {
    const Box *boxes;  // those it was made for
    int top, left, columns, window;
    Share *shares;  // [max_slots][taps]
    int *count;
    bool *dense;  // a tap with a single 2 x 2 box has a share in all pixels of the block
};

struct BuildScratch {
    float *hats;       // [up to taps * 2 * MAX_BOX][BLOCK]
    ShareList *lists;  // [blocks]
    void lay_out(const Plan &plan, Carver &carver) {
        hats = carver.take<float>(size_t(plan.taps.count) * 2 * MAX_BOX * BLOCK);
        lists = carver.take<ShareList>(size_t(plan.blocks));
        for (int block = 0; block < plan.blocks; block++) {
            ShareList list{};
            list.shares = carver.take<Share>(size_t(plan.max_slots) * plan.taps.count);
            list.count = carver.take<int>(size_t(plan.max_slots));
            list.dense = carver.take<bool>(size_t(plan.max_slots));
            if (lists) lists[block] = list;
        }
    }
};

inline void lay_out_operator(BlockOperator &op, const Plan &plan, Carver &carver) {
    op.slots = carver.take<Slot>(size_t(plan.max_slots));
    op.list = carver.take<unsigned short>(size_t(plan.max_slots) * PARTS);
    op.matrices =
        carver.take<float>(size_t(plan.max_slots) * plan.channels * plan.channels * BLOCK);
}

PRC_INLINE float *make_hats(const float *d, int from, int to, float *hats) {
    for (int integer = from; integer <= to; integer++, hats += BLOCK)
        for (int i = 0; i < BLOCK; i += LANES) {
            Vector distance = load(d + i) - float(integer);
            distance = distance > -distance ? distance : -distance;
            const Vector hat = 1.f - distance;
            store(hats + i, hat > 0.f ? hat : Vector{});
        }
    return hats;
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

inline void list_shares(const Plan &plan, const Box *boxes, ShareList &list) {
    int bottom = -MAX_SIZE, right = -MAX_SIZE, hats = 0;
    list.boxes = boxes;
    list.top = list.left = MAX_SIZE;
    for (int t = 0; t < plan.taps.count; t++) {
        list.top = smaller(list.top, boxes[t].top + plan.taps.row[t]);
        bottom = larger(bottom, boxes[t].bottom + plan.taps.row[t]);
        list.left = smaller(list.left, boxes[t].left + plan.taps.column[t]);
        right = larger(right, boxes[t].right + plan.taps.column[t]);
    }
    list.columns = right - list.left + 1;
    list.window = (bottom - list.top + 1) * list.columns;
    __builtin_memset(list.count, 0, size_t(list.window) * sizeof(int));
    __builtin_memset(list.dense, 0, size_t(list.window));
    for (int t = 0; t < plan.taps.count; t++) {
        const Box box = boxes[t];
        const int row_hats = hats, column_hats = hats + box.bottom - box.top + 1;
        hats = column_hats + box.right - box.left + 1;
        for (int r = box.top; r <= box.bottom; r++)
            for (int c = box.left; c <= box.right; c++) {
                const int slot = (r + plan.taps.row[t] - list.top) * list.columns + c +
                                 plan.taps.column[t] - list.left;
                list.shares[slot * plan.taps.count + list.count[slot]++] = {
                    (unsigned short)(row_hats + r - box.top),
                    (unsigned short)(column_hats + c - box.left), (unsigned short)t};
                list.dense[slot] |= box.bottom - box.top < 2 && box.right - box.left < 2;
            }
    }
}

template <int C>
void build_operator(const Plan &plan, int y, int block, BuildScratch &scratch, BlockOperator &op) {
    const ptrdiff_t first_tap = ptrdiff_t(plan.block_index(y, block)) * plan.taps.count;
    const Box *boxes = plan.boxes + first_tap;
    const float *offsets = plan.packed + first_tap * 2 * BLOCK;
    const int pairs = plan.channels * plan.channels;
    ShareList &list = scratch.lists[block];
    if (!list.boxes || __builtin_memcmp(list.boxes, boxes, size_t(plan.taps.count) * sizeof(Box)))
        list_shares(plan, boxes, list);
    float *hats = scratch.hats;
    for (int t = 0; t < plan.taps.count; t++, offsets += 2 * BLOCK) {
        hats = make_hats(offsets, boxes[t].top, boxes[t].bottom, hats);
        hats = make_hats(offsets + BLOCK, boxes[t].left, boxes[t].right, hats);
    }
    op.slots_used = 0;
    for (int part = 0; part < PARTS; part++) op.count[part] = 0;
    for (int slot = 0; slot < list.window; slot++) {
        const int count = list.count[slot];
        if (!count) continue;
        const Share *shares = list.shares + slot * plan.taps.count;
        const int used = op.slots_used++;
        float *matrix = op.matrices + ptrdiff_t(used) * pairs * BLOCK, total[BLOCK];
        op.slots[used] = {list.top + slot / list.columns, list.left + slot % list.columns};
        if (C)
            merge_shares<C * C ? C * C : 1>(shares, count, scratch.hats, plan.weight, C * C, 0,
                                            matrix, total);
        else
            for (int pair = 0; pair < pairs; pair++)
                merge_shares<1>(shares, count, scratch.hats, plan.weight, pairs, pair, matrix,
                                total);
        for (int part = 0; part < PARTS; part++) {
            const float *t = total + part * PART;
            op.list[part * plan.max_slots + op.count[part]] = (unsigned short)used;
            op.count[part] += list.dense[slot] || t[0] + t[1] + t[2] + t[3] > 0.f;
        }
    }
}
