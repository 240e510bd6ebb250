// The kernel for many images with one draw. Part of kernel.h.
//
// - Images are the lanes of the vectors: a group of V * LANES images is laid out as
//   (H, W, C, image), so every number of the sampling operator is broadcast to all images.
// - The draw is one linear operator for all images and repetitions. Bilinear corners of different
//   taps that fall on the same source pixel are merged: about 18 pixels instead of 36 for k = 3.

constexpr int MAX_VECTORS = 4;  // of images in a group

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
                asm volatile("" ::: "memory");  // loads moved up from here would spill the sums
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
    float *whole;       // (H, W rounded up, C, image): its input, if a ring would not do
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
    int64_t first_image;
    Rows rows;
    float *mean, *scale, *shift;  // [C][image]
    const float **neighbour, **sources;
    BuildScratch scratch;
    BlockOperator own, corners;

    PRC_INLINE int channels() const { return C ? C : plan.channels; }
    PRC_INLINE ptrdiff_t stride() const { return ptrdiff_t(channels()) * GROUP; }
    PRC_INLINE ptrdiff_t raw_row() const { return (plan.width + PX - 1) / PX * PX * stride(); }

    Band(const Plan &plan, const Call &call) : plan(plan), call(call) {
        rows.height = plan.height;
        rows.padding = plan.padding;
        rows.top = plan.top;
        rows.bottom = plan.bottom;
        rows.whole = plan.whole;
        rows.bands = call.threads;
        rows.row_floats = (plan.left + plan.blocks * BLOCK + plan.right) * stride();
        rows.margin = plan.left * stride();
    }

    void lay_out(Carver &carver) {
        const int corner_count = 4 * plan.taps.count;
        rows.lay_out(carver);
        mean = carver.take<float>(size_t(stride()));
        scale = carver.take<float>(size_t(stride()));
        shift = carver.take<float>(size_t(stride()));
        neighbour = carver.take<const float *>(size_t(plan.top + plan.bottom + 1));
        sources = carver.take<const float *>(size_t(larger(plan.max_slots, corner_count)));
        scratch.lay_out(plan, carver);
        if (!plan.cached) lay_out_operator(own, plan, carver);
        corners.list = carver.take<unsigned short>(size_t(corner_count));
        corners.matrices =
            carver.take<float>(size_t(corner_count) * plan.channels * plan.channels * BLOCK);
    }

    PRC_NOINLINE void read_images(int y, float *row) const {
        const ptrdiff_t plane = ptrdiff_t(plan.height) * plan.width;
        for (int c = 0; c < channels(); c++)
            for (int v = 0; v < V; v++) {
                const float *images[LANES];
                const int64_t first = first_image + v * LANES;
                const int valid = int(first + LANES <= call.images ? LANES
                                      : first < call.images        ? call.images - first
                                                                   : 0);
                for (int i = 0; i < valid; i++)
                    images[i] =
                        call.x + ((first + i) * channels() + c) * plane + ptrdiff_t(y) * plan.width;
                float *to = row + (c * V + v) * LANES;
                int x = 0;
                for (; x + LANES <= plan.width; x += LANES) {
                    Vector tile[LANES];
                    for (int i = 0; i < LANES; i++)
                        tile[i] = i < valid ? load(images[i] + x) : Vector{};
                    transpose(tile);
                    for (int i = 0; i < LANES; i++) store(to + (x + i) * stride(), tile[i]);
                }
                for (; x < plan.width; x++)
                    for (int i = 0; i < LANES; i++)
                        to[x * stride() + i] = i < valid ? images[i][x] : 0.f;
            }
    }

    // N vectors, `step` floats apart in raw and `lane_step` floats apart in the statistics.
    template <int N>
    PRC_INLINE void contrast(const float *raw, ptrdiff_t step, int lane, int lane_step,
                             Vector (&z)[N]) const {
#pragma GCC unroll 4
        for (int i = 0; i < N; i++) {
            const int l = lane + i * lane_step;
            z[i] = (load(raw + i * step) - load(mean + l)) * load(scale + l) + load(shift + l);
        }
        if (call.tanh) tanh_of_scaled(z);
    }

    PRC_NOINLINE void write_images(int y) const {
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
                    images[i] = call.out + ((first + i) * channels() + c) * plane +
                                ptrdiff_t(y) * plan.width;
                const int lane = (c * V + v) * LANES;
                int x = 0;
                for (; x + LANES <= plan.width; x += LANES) {
                    Vector tile[LANES];
                    for (int i = 0; i < LANES; i += 4)
                        contrast(raw + (x + i) * stride() + lane, stride(), lane, 0,
                                 reinterpret_cast<Vector(&)[4]>(tile[i]));
                    transpose(tile);
                    for (int i = 0; i < valid; i++) store(images[i] + x, tile[i]);
                }
                for (; x < plan.width; x++) {
                    Vector pixel[1];
                    contrast(raw + x * stride() + lane, 0, lane, 0, pixel);
                    for (int i = 0; i < valid; i++) images[i][x] = pixel[0][i];
                }
            }
    }

    PRC_NOINLINE void contrast_row(int y, float *row) const {
        const float *raw = team->raw + y * raw_row();
        for (int x = 0; x < plan.width; x++, raw += stride(), row += stride())
            for (int j = 0; j < channels() * GROUP; j += GROUP) {
                Vector z[V];
                contrast(raw + j, LANES, j, LANES, z);
#pragma GCC unroll 4
                for (int v = 0; v < V; v++) store(row + j + v * LANES, z[v]);
            }
    }

    void fill_row(int64_t repeat, int y) {
        float *row = rows.input(y);
        if (repeat == 0)
            read_images(y, row);
        else
            contrast_row(y, row);
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
            sources[s] = neighbour[op->slots[s].row + plan.top] +
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
            plan.packed + ptrdiff_t(plan.block_index(y, block)) * plan.taps.count * 2 * BLOCK;
        for (int pixel = 0; pixel < pixels; pixel++) {
            int count = 0;
            for (int t = 0; t < plan.taps.count; t++) {
                const float *dy = packed + t * 2 * BLOCK, *dx = dy + BLOCK;
                if (!is_valid_offset(dy[pixel]) || !is_valid_offset(dx[pixel])) continue;
                const float top = __builtin_floorf(dy[pixel]), left = __builtin_floorf(dx[pixel]);
                for (int corner = 0; corner < 4; corner++) {
                    const int down = corner / 2, right = corner % 2;
                    const int row = y + plan.taps.row[t] + int(top) + down;
                    const int column =
                        pad_index(block * BLOCK + pixel + plan.taps.column[t] + int(left) + right,
                                  plan.width, plan.padding);
                    if (column < 0 || pad_index(row, plan.height, plan.padding) < 0) continue;
                    const float bilinear = (down ? dy[pixel] - top : 1.f - (dy[pixel] - top)) *
                                           (right ? dx[pixel] - left : 1.f - (dx[pixel] - left));
                    if (bilinear == 0.f) continue;
                    sources[count] = rows.source(row) + column * stride();
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
            for (int r = -plan.top; r <= plan.bottom; r++)
                neighbour[r + plan.top] = rows.source(y + r);
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

    // The affine map that standardises and applies gamma and beta, for each lane.
    PRC_NOINLINE void compute_contrast() {
        for (int j = 0; j < channels() * GROUP; j += WIDE_LANES) {
            Wide average{}, variance{};
            if (call.standardise)
                join_rows(team->statistics + j, stride(), plan.height, plan.width, average,
                          variance);
            for (int i = j; i < j + WIDE_LANES; i++) {
                const Affine a = affine_of(call, average[i - j], variance[i - j], i / GROUP);
                mean[i] = a.mean;
                scale[i] = a.scale;
                shift[i] = a.shift;
            }
        }
    }

    void run(int64_t first_image) {
        this->first_image = first_image;
        rows.run(*this, team->barrier, call.repeats);
        for (int y = rows.y0; y < rows.y1; y++) write_images(y);
    }
};
