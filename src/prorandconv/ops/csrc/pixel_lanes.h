// The kernel for one image, or a few, that have a draw to themselves. Part of kernel.h.
//
// - Pixels of a row are the lanes of the vectors. A row has one channel after the other.
// - Offsets are smooth: as a rule all lanes of a tap read the same two neighbours along each axis
//   (spans.h), so that they are straight loads, weighted by hat functions. Where the integer part
//   changes within the lanes, the span is longer; beyond MAX_SPAN, or too far from the rows at
//   hand, pixels go one by one.
// - What a tap has read is mixed over the channels in registers; nothing but the raw result and its
//   statistics leaves them. Offsets are made from their waves on the way.

// What is the same for all images and threads.
struct PixelPlan {
    const Call &call;
    Taps taps;
    float *weight;  // [taps][C in][C out]
    int reach;      // how far pixels are read from the pixel in work
    bool whole;     // farther than MAX_REACH
    bool still;     // no offsets

    PixelPlan(const Call &call) : call(call) {}
};

// One thread's band of rows of one image. C = 0 stands for any number of channels.
template <int C>
struct PixelBand {
    static constexpr int V = PIXELS / LANES;

    const PixelPlan &plan;
    const Call &call;
    Rows rows;
    OffsetRows offsets;
    int64_t image;
    float *statistics;        // [H][3][C], the team's
    ptrdiff_t plane;          // floats from a channel of a row to the next
    float *displaced;         // [taps][dy, dx][PIXELS]
    const float **neighbour;  // rows around the row in work
    Affine *contrast;         // [C]
    float *sums;              // [2][C][LANES]: what a vector of pixels sums up; statistics of a row

    PixelBand(const PixelPlan &plan, int bands)
        : plan(plan), call(plan.call), offsets(plan.call, plan.taps) {
        rows.height = call.height;
        rows.padding = call.padding;
        rows.top = rows.bottom = plan.reach;
        rows.whole = plan.whole;
        rows.bands = bands;
        rows.margin = plan.reach;
        plane = plan.reach + (call.width + LANES - 1) / LANES * LANES + plan.reach;
        rows.row_floats = plane * call.channels;
    }

    PRC_INLINE int channels() const { return C ? C : call.channels; }

    void lay_out(Carver &carver) {
        rows.lay_out(carver);
        offsets.lay_out(carver);
        displaced = carver.take<float>(size_t(plan.taps.count) * 2 * PIXELS);
        neighbour = carver.take<const float *>(2 * size_t(plan.reach) + 1);
        contrast = carver.take<Affine>(size_t(call.channels));
        sums = carver.take<float>(size_t(call.channels) * 4 * LANES);
    }

    PRC_INLINE ptrdiff_t place(int c, int y) const {
        return ((image * channels() + c) * call.height + y) * ptrdiff_t(call.width);
    }

    template <int N>
    PRC_INLINE void apply_contrast(const Affine &a, Vector (&z)[N]) const {
#pragma GCC unroll 4
        for (int i = 0; i < N; i++) z[i] = (z[i] - a.mean) * a.scale + a.shift;
        if (call.tanh) tanh_of_scaled(z);
    }

    PRC_NOINLINE void contrast_row(int c, const float *from, float *to) const {
        int x = 0;
        for (; x + 2 * LANES <= call.width; x += 2 * LANES) {
            Vector z[2] = {load(from + x), load(from + x + LANES)};
            apply_contrast(contrast[c], z);
            store(to + x, z[0]);
            store(to + x + LANES, z[1]);
        }
        for (; x < call.width; x += LANES) {
            const int pixels = smaller(LANES, call.width - x);
            Vector z[1] = {load_some(from + x, pixels)};
            apply_contrast(contrast[c], z);
            store_some(to + x, z[0], pixels);
        }
    }

    void fill_row(int64_t repeat, int y) {
        float *row = rows.input(y);
        for (int c = 0; c < channels(); c++, row += plane) {
            if (repeat == 0)
                __builtin_memcpy(row, call.x + place(c, y), size_t(call.width) * sizeof(float));
            else
                contrast_row(c, call.out + place(c, y), row);
            if (call.padding == ZEROS) continue;
            for (int x = 1; x <= plan.reach; x++) {
                row[-x] = row[pad_index(-x, call.width, call.padding)];
                row[call.width - 1 + x] =
                    row[pad_index(call.width - 1 + x, call.width, call.padding)];
            }
        }
    }

    // What a tap reads of IN channels: a window of ROWS x COLUMNS neighbours (0: as long as the
    // spans) of every lane, from `from[0] + column` on.
    static constexpr int IN = C ? C : 1;
    template <int ROWS, int COLUMNS>
    PRC_INLINE void read_window(const float *const *from, ptrdiff_t column, const Span &down,
                                const Span &across, Vector (&sample)[IN]) const {
#pragma GCC unroll 3
        for (int r = 0; r < (ROWS ? ROWS : down.length); r++) {
            const Vector share = hat<ROWS>(down.from_first, r);
#pragma GCC unroll 3
            for (int c = 0; c < (COLUMNS ? COLUMNS : across.length); c++) {
                const Vector weight = share * hat<COLUMNS>(across.from_first, c);
#pragma GCC unroll 3
                for (int in = 0; in < IN; in++)
                    sample[in] += weight * load(from[r] + in * plane + column + c);
            }
        }
    }

    // The same, pixel by pixel, from wherever they are.
    PRC_NOINLINE void read_corners(int y, int x, int tap, ptrdiff_t channel, const float *d,
                                   Vector (&sample)[IN]) const {
        for (int i = 0; i < LANES; i++) {
            const float dy = d[i], dx = d[PIXELS + i];
            if (!is_near(dy) || !is_near(dx)) continue;
            const float top = __builtin_floorf(dy), left = __builtin_floorf(dx);
            for (int corner = 0; corner < 4; corner++) {
                const int down = corner / 2, right = corner % 2;
                const float weight = (down ? dy - top : 1.f - (dy - top)) *
                                     (right ? dx - left : 1.f - (dx - left));
                const int row = pad_index(y + plan.taps.row[tap] + int(top) + down, call.height,
                                          call.padding);
                const int column = pad_index(x + i + plan.taps.column[tap] + int(left) + right,
                                             call.width, call.padding);
                if (row < 0 || column < 0 || weight == 0.f) continue;
                const float *pixel = rows.input(row) + channel + column;
                for (int in = 0; in < IN; in++) sample[in][i] += weight * pixel[in * plane];
            }
        }
    }

    PRC_INLINE void read_tap(int y, int x, int tap, ptrdiff_t channel, const float *d,
                             Vector (&sample)[IN]) const {
#pragma GCC unroll 3
        for (int in = 0; in < IN; in++) sample[in] = Vector{};
        const Span down = span_of(d), across = span_of(d + PIXELS);
        const int top = plan.taps.row[tap] + down.first + plan.reach;
        const int left = plan.taps.column[tap] + across.first + plan.reach;
        const bool wide = down.length > MAX_SPAN || across.length > MAX_SPAN;
        if (wide || (plan.whole && (top < 0 || top + down.length > 2 * plan.reach + 1 || left < 0 ||
                                    left + across.length > 2 * plan.reach + 1))) {
            Vector found[IN]{};  // its address is taken, while the sample stays in registers
            read_corners(y, x, tap, channel, d, found);
#pragma GCC unroll 3
            for (int in = 0; in < IN; in++) sample[in] = found[in];
            return;
        }
        const float *const *from = neighbour + top;
        const ptrdiff_t column = channel + x + left - plan.reach;
        if (down.length == 2 && across.length == 2)
            read_window<2, 2>(from, column, down, across, sample);
        else if (down.length == 2 && across.length == 3)
            read_window<2, 3>(from, column, down, across, sample);
        else if (down.length == 3 && across.length == 2)
            read_window<3, 2>(from, column, down, across, sample);
        else if (down.length == 3 && across.length == 3)
            read_window<3, 3>(from, column, down, across, sample);
        else
            read_window<0, 0>(from, column, down, across, sample);
    }

    // sum[out] += all taps of a vector of pixels from x on; Sums is an array that stays in
    // registers, or a pointer.
    template <typename Sums>
    PRC_INLINE void sum_taps(int y, int x, const float *d, Sums &sum) const {
        for (int tap = 0; tap < plan.taps.count; tap++, d += 2 * PIXELS)
            for (int in = 0; in < channels(); in += IN) {
                Vector sample[IN];
                if (plan.still) {
                    const float *const *from = neighbour + plan.taps.row[tap] + plan.reach;
#pragma GCC unroll 3
                    for (int i = 0; i < IN; i++)
                        sample[i] = load(*from + (in + i) * plane + x + plan.taps.column[tap]);
                } else {
                    read_tap(y, x, tap, in * plane, d, sample);
                }
                const float *weight =
                    plan.weight + (ptrdiff_t(tap) * channels() + in) * channels();
#pragma GCC unroll 3
                for (int i = 0; i < IN; i++)
#pragma GCC unroll 3
                    for (int out = 0; out < channels(); out++)
                        sum[out] += sample[i] * weight[i * channels() + out];
            }
    }

    // One vector of pixels from x on, and what it adds to the statistics of the row.
    PRC_NOINLINE void convolve_pixels(int y, int x, const float *d) {
        Vector *sum = reinterpret_cast<Vector *>(sums);
        if (C) {
            Vector local[IN]{};
            sum_taps(y, x, d, local);
#pragma GCC unroll 3
            for (int c = 0; c < IN; c++) sum[c] = local[c];
        } else {
            for (int c = 0; c < channels(); c++) sum[c] = Vector{};
            sum_taps(y, x, d, sum);
        }
        const int pixels = smaller(LANES, call.width - x);
        const IntVector lane = counted();
        Vector *totals = reinterpret_cast<Vector *>(sums) + channels(),
               *squares = totals + channels();
#pragma GCC unroll 3
        for (int c = 0; c < channels(); c++) {
            float *to = call.out + place(c, y) + x, *pivot = statistics_of(y) + c;
            if (x == 0) {
                *pivot = sum[c][0];
                totals[c] = squares[c] = Vector{};
            }
            const Vector difference = lane < pixels ? sum[c] - *pivot : Vector{};
            totals[c] += difference;
            squares[c] += difference * difference;
            if (pixels == LANES)
                store(to, sum[c]);
            else
                store_some(to, sum[c], pixels);
        }
    }

    PRC_INLINE float *statistics_of(int y) const {
        return statistics + ptrdiff_t(y) * 3 * channels();
    }

    void convolve_row(int y) {
        for (int r = -plan.reach; r <= plan.reach; r++)
            neighbour[r + plan.reach] = rows.source(y + r);
        offsets.begin_row(y);
        for (int first = 0; first < call.width; first += PIXELS) {
            if (!plan.still) offsets.read_pixels<V>(first, displaced);
            if (plan.whole)
                for (int i = 0; i < plan.taps.count * 2 * PIXELS; i += LANES)
                    store(displaced + i, brought_near(load(displaced + i)));
            for (int x = first; x < smaller(first + PIXELS, call.width); x += LANES)
                convolve_pixels(y, x, displaced + x - first);
        }
        const float *lanes = sums + ptrdiff_t(channels()) * LANES;
        for (int i = channels(); i < 3 * channels(); i++, lanes += LANES)
            statistics_of(y)[i] = sum_of(load(lanes));
    }

    void compute_contrast() {
        for (int c = 0; c < channels(); c++) {
            double average = 0, variance = 0;
            if (call.standardise)
                join_rows(statistics + c, channels(), call.height, call.width, average, variance);
            contrast[c] = affine_of(call, average, variance, c);
        }
    }

    void run(Barrier &barrier) {
        rows.run(*this, barrier, call.repeats);
        for (int c = 0; c < channels(); c++)
            for (int y = rows.y0; y < rows.y1; y++) {
                float *row = call.out + place(c, y);
                contrast_row(c, row, row);
            }
    }
};

template <int C>
struct PixelJob {
    const PixelPlan &plan;
    int threads;
    Barrier barrier;
    float *statistics, *shared;
    char *band_memory;
    size_t band_bytes;

    PixelJob(const PixelPlan &plan, int threads) : plan(plan), threads(threads) {}

    void lay_out(Carver &carver) {
        const Call &call = plan.call;
        PixelBand<C> band(plan, threads);
        statistics = carver.take<float>(size_t(call.height) * 3 * call.channels);
        shared = carver.take<float>(plan.whole ? size_t(call.height) * band.rows.row_floats : 0);
        Carver one;
        band.lay_out(one);
        band_bytes = one.used;
        band_memory = carver.take<char>(band_bytes * threads);
    }

    static void task(void *argument, int thread, int threads) {
        PixelJob &job = *static_cast<PixelJob *>(argument);
        PixelBand<C> band(job.plan, job.threads);
        Carver carver;
        carver.memory = job.band_memory + job.band_bytes * thread;
        band.lay_out(carver);
        band.statistics = job.statistics;
        band.rows.shared = job.shared;
        band.rows.set_band(thread, threads);
        band.rows.clear();
        band.offsets.prepare();
        for (band.image = 0; band.image < job.plan.call.images; band.image++)
            band.run(job.barrier);
    }

    int apply() {
        const Call &call = plan.call;
        Carver measure;
        lay_out(measure);
        char *memory = acquire_workspace(measure.used, *call.workspaces, IMAGES);
        if (!memory) return OUT_OF_MEMORY;
        Carver carver;
        carver.memory = memory;
        lay_out(carver);
        run_parallel(threads, task, this);
        release_workspace(memory, *call.workspaces, IMAGES);
        return OK;
    }
};

template <int C>
int apply_pixel_channels(const PixelPlan &plan) {
    const int most = larger(1, plan.call.height / 8);
    return PixelJob<C>(plan, smaller(smaller(plan.call.threads, 64), most)).apply();
}

inline void lay_out_pixel_plan(PixelPlan &plan, Carver &carver) {
    const Call &call = plan.call;
    plan.taps.lay_out(call, carver);
    plan.weight = carver.take<float>(size_t(call.kernel_size) * call.kernel_size * call.channels *
                                     call.channels);
}

inline int apply_pixels(const Call &call) {
    PixelPlan plan(call);
    Carver measure, carver;
    lay_out_pixel_plan(plan, measure);
    carver.memory = acquire_workspace(measure.used, *call.workspaces, PLAN);
    if (!carver.memory) return OUT_OF_MEMORY;
    char *const memory = carver.memory;
    lay_out_pixel_plan(plan, carver);
    plan.taps.choose(call);
    int radius = 0;
    const int all = call.kernel_size * call.kernel_size, channels = call.channels;
    for (int tap = 0; tap < plan.taps.count; tap++) {
        radius = larger(radius, absolute(plan.taps.row[tap]));
        radius = larger(radius, absolute(plan.taps.column[tap]));
        for (int in = 0; in < channels; in++)
            for (int out = 0; out < channels; out++)
                plan.weight[(ptrdiff_t(tap) * channels + in) * channels + out] =
                    call.weight[(ptrdiff_t(out) * channels + in) * all + plan.taps.index[tap]];
    }
    plan.still = !call.offsets;
    const float reach = OffsetRows(call, plan.taps).reach();
    plan.whole = !(radius + reach + 1 < MAX_REACH);
    plan.reach = plan.whole ? MAX_REACH : plan.still ? radius : radius + int(reach) + 1;
    int status;
#if PRC_FAST
    if (channels == 3)
        status = apply_pixel_channels<3>(plan);
    else if (channels == 1)
        status = apply_pixel_channels<1>(plan);
    else
#endif
        status = apply_pixel_channels<0>(plan);
    release_workspace(memory, *call.workspaces, PLAN);
    return status;
}
