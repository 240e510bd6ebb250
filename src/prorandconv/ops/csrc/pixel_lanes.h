// The kernel for volumes, and for one image, or a few, that have a draw to themselves. Part of
// kernel.h.
//
// - Pixels of a row are the lanes of the vectors. A row has one channel after the other.
// - A patch is a vector of pixels in some rows, one below the other. Offsets are smooth: as a rule a
//   tap reads the same two neighbours along each axis for a whole patch, so that they are straight
//   loads with linear interpolation between them. Where the integer part of an offset changes within
//   a patch, its rows look for their spans one by one (spans.h); beyond MAX_SPAN, or too far from
//   the rows at hand, pixels go one by one.
// - Along a column, offsets are polynomials: the differences of a patch's first row lead to the
//   others by a few additions. The taps are the outer loop, so that differences and weights stay in
//   registers.

// What is the same for all images and threads.
struct PixelPlan {
    const Call &call;
    Taps taps;
    float *weight;  // [taps][C in][C out]
    int reach;      // how far pixels are read from the pixel in work
    bool far;       // farther than MAX_REACH
    int rows;       // of a patch
    const Polynomials *polynomials;

    PixelPlan(const Call &call) : call(call) {}
};

template <int BITS>
struct Long {
    static constexpr int value = BITS;
};

// How values change from the first of some rows to the last, and how far they can be from the line
// between both, by orders of differences.
struct Chord {
    float at_last[DEGREE + 1]{}, slack[DEGREE + 1]{};

    explicit Chord(int rows) {
        const double last = rows - 1;
        for (int order = 1; order <= DEGREE; order++) {
            const double end = binomial(last, order);
            double most = 0;
            for (int r = 0; r < rows; r++) {
                const double off = binomial(r, order) - end * r / last;
                most = __builtin_fmax(most, __builtin_fabs(off));
            }
            at_last[order] = float(end);
            slack[order] = float(most);
        }
    }
    static double binomial(double n, int k) {
        double product = 1;
        for (int i = 0; i < k; i++) product *= (n - i) / (i + 1);
        return product;
    }
};

// One thread's band of rows of one image, or of planes of a volume. C = 0 stands for any number of
// channels.
template <int AXES, int C>
struct PixelBand {
    const PixelPlan &plan;
    const Call &call;
    Window window;
    Offsets offsets;
    Chord chord;
    int64_t image;
    float *statistics;  // [D][H][3][C], the team's
    Affine *contrast;   // [C]
    float *sums;        // [rows][C][LANES] of a patch
    float *row_sums;    // [rows][2][C][LANES]: statistics of the rows in work

    PixelBand(const PixelPlan &plan, int bands)
        : plan(plan), call(plan.call), window(plan.call, plan.reach, plan.rows, plan.far, bands),
          offsets(plan.call, plan.taps), chord(plan.rows) {}

    PRC_INLINE int channels() const { return C ? C : call.channels; }

    void lay_out(Carver &carver) {
        window.lay_out(carver);
        offsets.lay_out(carver, larger(ROWS, DEGREE + 1));
        contrast = carver.take<Affine>(size_t(call.channels));
        sums = carver.take<float>(size_t(call.channels) * plan.rows * LANES);
        row_sums = carver.take<float>(size_t(call.channels) * plan.rows * 2 * LANES);
    }

    PRC_INLINE ptrdiff_t place(int c, int z, int y) const {
        return (((image * channels() + c) * call.depth + z) * call.height + y) *
               ptrdiff_t(call.width);
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

    // Input of a repetition, for the window.
    void fill_row(int64_t repeat, int z, int y, float *row) const {
        for (int c = 0; c < channels(); c++, row += window.plane) {
            if (repeat == 0)
                __builtin_memcpy(row, call.x + place(c, z, y), size_t(call.width) * sizeof(float));
            else
                contrast_row(c, call.out + place(c, z, y), row);
        }
    }

    // Where a vector of pixels of a row is, and in which channels of the window it reads.
    struct Place {
        int z, y, x, channel;
    };

    // One row of a patch where the integer part of an offset changes: `at` are the offsets from
    // `base` on.
    template <int IN>
    PRC_INLINE void read_row(const Place &to, int tap, const Vector (&at)[AXES], const int *base,
                             Vector (&sample)[IN]) const {
        Vector from[AXES];
        int first[3] = {plan.taps.plane[tap], plan.taps.row[tap], plan.taps.column[tap]};
        int is_long = 0;
        bool near = !plan.far;
#pragma GCC unroll 3
        for (int axis = 0; axis < AXES; axis++) {
            bool three = false;
            first[axis + 3 - AXES] += base[axis];
            from[axis] = at[axis];
            near = near && is_short(from[axis], first[axis + 3 - AXES], three);
            is_long = 2 * is_long + three;
        }
        if (!near) {
            Vector given[AXES], found[IN];  // their addresses are taken
            for (int axis = 0; axis < AXES; axis++) given[axis] = at[axis];
            read_spans<IN>(to, tap, given, base, found);
            for (int in = 0; in < IN; in++) sample[in] = found[in];
            return;
        }
        const float *row = window.at(to.z + first[0], to.y + first[1]) + to.channel * window.plane +
                           to.x + first[2];
        const ptrdiff_t step[2] = {window.slice_floats, window.row_floats};
        const auto read = [&](auto axes) {
#pragma GCC unroll 4
            for (int in = 0; in < IN; in++)
                sample[in] = interpolate<AXES, decltype(axes)::value>(row + in * window.plane,
                                                                      step + 3 - AXES, from);
        };
        if (is_long == 0) read(Long<0>());
        if (is_long == 1) read(Long<1>());
        if (is_long == 2) read(Long<2>());
        if (is_long == 3) read(Long<3>());
        if constexpr (AXES == 3) {
            if (is_long == 4) read(Long<4>());
            if (is_long == 5) read(Long<5>());
            if (is_long == 6) read(Long<6>());
            if (is_long == 7) read(Long<7>());
        }
    }

    // The same where it changes more than once, or where what it reads may not be at hand.
    template <int IN>
    PRC_NOINLINE void read_spans(const Place &to, int tap, const Vector *at, const int *base,
                                 Vector *sample) const {
        Span span[3];
        bool near = true;
        int first[3] = {plan.taps.plane[tap], plan.taps.row[tap], plan.taps.column[tap]};
        const int own[3] = {to.z, to.y, 0}, size[3] = {call.depth, call.height, 1};
        span[0] = {0, 1, Vector{}};
        for (int axis = 3 - AXES; axis < 3; axis++) {
            const Span found = span_of(at[axis + AXES - 3], base[axis + AXES - 3]);
            span[axis] = found;
            first[axis] += found.first;
            near = near && found.length <= MAX_SPAN;
            const int last = first[axis] + found.length - 1;
            // Slices are only at hand as far as they exist if all of them are.
            if (plan.far && axis == 3 - AXES)
                near = near && own[axis] + first[axis] >= 0 && own[axis] + last < size[axis];
            else
                near = near && first[axis] >= -plan.reach && last <= plan.reach;
        }
        for (int in = 0; in < IN; in++) sample[in] = Vector{};
        if (!near) return read_corners<IN>(to, tap, at, base, sample);
        Vector across[MAX_SPAN + 1];
        for (int i = 0; i < span[2].length; i++) across[i] = weight_of(span[2].from_first, i);
        for (int h = 0; h < span[0].length; h++)
            for (int i = 0; i < span[1].length; i++) {
                const float *row = window.at(to.z + first[0] + h, to.y + first[1] + i) +
                                   to.channel * window.plane + to.x + first[2];
                Vector down = weight_of(span[1].from_first, i);
                if (AXES == 3) down *= weight_of(span[0].from_first, h);
                for (int j = 0; j < span[2].length; j++) {
                    const Vector weight = down * across[j];
#pragma GCC unroll 4
                    for (int in = 0; in < IN; in++)
                        sample[in] += weight * load(row + in * window.plane + j);
                }
            }
    }

    // The same, pixel by pixel, from wherever they are.
    template <int IN>
    PRC_NOINLINE void read_corners(const Place &to, int tap, const Vector *at, const int *base,
                                   Vector *sample) const {
        const int tap_at[3] = {plan.taps.plane[tap], plan.taps.row[tap], plan.taps.column[tap]};
        const int size[3] = {call.depth, call.height, call.width};
        for (int lane = 0; lane < smaller(LANES, call.width - to.x); lane++) {
            const int own[3] = {to.z, to.y, to.x + lane};
            int low[3] = {0, 0, 0};
            float after[3] = {0, 0, 0};
            bool valid = true;
            for (int axis = 3 - AXES; axis < 3; axis++) {
                const int i = axis + AXES - 3;
                const float whole = __builtin_floorf(at[i][lane]);
                valid = valid && is_valid_offset(at[i][lane] + float(base[i]));
                if (!valid) break;
                low[axis] = own[axis] + tap_at[axis] + base[i] + int(whole);
                after[axis] = at[i][lane] - whole;
            }
            if (!valid) continue;
            for (int corner = 0; corner < 1 << AXES; corner++) {
                float weight = 1;
                int index[3] = {0, 0, 0};
                for (int axis = 3 - AXES; axis < 3; axis++) {
                    const int next = corner >> (2 - axis) & 1;
                    weight *= next ? after[axis] : 1.f - after[axis];
                    // What is near is in the window, and so is what continues the image there.
                    index[axis] = low[axis] + next;
                    if (plan.far)
                        index[axis] = pad_index(index[axis], size[axis], call.padding);
                }
                if (weight == 0.f) continue;
                if (plan.far && (index[0] < 0 || index[1] < 0 || index[2] < 0)) continue;
                const float *pixel =
                    window.at(index[0], index[1]) + to.channel * window.plane + index[2];
                for (int in = 0; in < IN; in++) sample[in][lane] += weight * pixel[in * window.plane];
            }
        }
    }

    // sums += what a tap reads of IN channels for a patch, mixed into OUT channels (0: all).
    // `at` are the patch's offsets, or with polynomials their differences at its first row.
    template <int IN, int OUT, int COUNT>
    PRC_INLINE void add_tap(const Place &to, int rows, int tap, Vector (&at)[AXES][COUNT],
                            const int *base, bool smooth) const {
        constexpr bool POLYNOMIAL = COUNT == DEGREE + 1;
        const ptrdiff_t step[2] = {window.slice_floats, window.row_floats};
        const int shift[3] = {AXES == 3 ? base[0] : 0, base[AXES - 2], base[AXES - 1]};
        const float *from = nullptr;
        if (smooth)
            from = window.at(to.z + plan.taps.plane[tap] + shift[0],
                             to.y + plan.taps.row[tap] + shift[1]) +
                   to.channel * window.plane + to.x + plan.taps.column[tap] + shift[2];
        const int outs = OUT ? OUT : channels();
        const float *weight =
            plan.weight + (ptrdiff_t(tap) * channels() + to.channel) * channels();
        float *sum = sums;
        Vector kept[IN * (OUT ? OUT : 1)];
        if constexpr (OUT != 0) {
#pragma GCC unroll 9
            for (int i = 0; i < IN * OUT; i++) kept[i] = splat(weight[i]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < (POLYNOMIAL ? rows : ROWS); r++) {
            if (!POLYNOMIAL && r >= rows) break;
            Vector here[AXES], sample[IN];
#pragma GCC unroll 3
            for (int axis = 0; axis < AXES; axis++) here[axis] = at[axis][POLYNOMIAL ? 0 : r];
            if (smooth) {
#pragma GCC unroll 4
                for (int in = 0; in < IN; in++)
                    sample[in] =
                        interpolate<AXES, 0>(from + in * window.plane, step + 3 - AXES, here);
                from += window.row_floats;
            } else {
                const Place row{to.z, to.y + r, to.x, to.channel};
                read_row<IN>(row, tap, here, base, sample);
            }
            if constexpr (POLYNOMIAL) {
#pragma GCC unroll 3
                for (int axis = 0; axis < AXES; axis++)
#pragma GCC unroll 4
                    for (int order = 0; order < DEGREE; order++)
                        at[axis][order] += at[axis][order + 1];
            }
            if constexpr (OUT != 0) {
#pragma GCC unroll 3
                for (int out = 0; out < OUT; out++, sum += LANES) {
                    Vector total = load(sum);
#pragma GCC unroll 3
                    for (int in = 0; in < IN; in++) total += sample[in] * kept[in * OUT + out];
                    store(sum, total);
                }
            } else {
                for (int out = 0; out < outs; out++, sum += LANES) {
                    Vector total = load(sum);
#pragma GCC unroll 4
                    for (int in = 0; in < IN; in++) total += sample[in] * weight[in * outs + out];
                    store(sum, total);
                }
            }
        }
    }

    // Whether all pixels of a patch read the same two neighbours; `at` becomes what is left of the
    // offsets from `base` on, which then is the first of them.
    template <int COUNT>
    PRC_INLINE bool find_base(const Place &to, int rows, int tap, Vector (&at)[AXES][COUNT],
                              int *base) const {
        bool smooth = true;
        const int tap_at[3] = {plan.taps.plane[tap], plan.taps.row[tap], plan.taps.column[tap]};
#pragma GCC unroll 3
        for (int axis = 0; axis < AXES; axis++) {
            Vector low, high;
            if constexpr (COUNT == DEGREE + 1) {
                Vector last = at[axis][0], slack = Vector{};
#pragma GCC unroll 4
                for (int order = 1; order <= DEGREE; order++) {
                    const Vector d = at[axis][order];
                    last += d * chord.at_last[order];
                    slack += (d > -d ? d : -d) * chord.slack[order];
                }
                low = (last < at[axis][0] ? last : at[axis][0]) - slack;
                high = (last > at[axis][0] ? last : at[axis][0]) + slack;
            } else {
                low = high = at[axis][0];
                for (int r = 1; r < COUNT; r++) {
                    if (r >= rows) break;
                    low = at[axis][r] < low ? at[axis][r] : low;
                    high = at[axis][r] > high ? at[axis][r] : high;
                }
            }
            const float first = at[axis][0][0];
            const float floor = is_valid_offset(first) ? __builtin_floorf(first) : 0.f;
            base[axis] = int(floor);
            smooth = smooth && !any_outside(low - floor, 0.f, 1.f) &&
                     !any_outside(high - floor, 0.f, 1.f);
            if (!plan.far) continue;
            const int from = tap_at[axis + 3 - AXES] + base[axis];
            if (axis > 0)
                smooth = smooth && from >= -plan.reach && from + 1 <= plan.reach;
            else if (AXES == 2)
                smooth = smooth && to.y + from >= 0 && to.y + rows + from < call.height;
            else
                smooth = smooth && to.z + from >= 0 && to.z + from + 1 < call.depth;
        }
#pragma GCC unroll 3
        for (int axis = 0; axis < AXES; axis++) {
            // Far apart, what is left would have fewer bits than the offsets.
            if (COUNT != DEGREE + 1 && !smooth) base[axis] = 0;
#pragma GCC unroll 4
            for (int r = 0; r < (COUNT == DEGREE + 1 ? 1 : COUNT); r++)
                at[axis][r] -= float(base[axis]);
        }
        return smooth;
    }

    template <int COUNT>
    PRC_INLINE void add_channels(const Place &to, int rows, int tap, Vector (&at)[AXES][COUNT],
                                 const int *base, bool smooth) const {
        if constexpr (C != 0) {
            add_tap<C, C>(to, rows, tap, at, base, smooth);
        } else {
            for (int channel = 0; channel < channels();) {
                const Place part{to.z, to.y, to.x, channel};
                Vector own[AXES][COUNT];
#pragma GCC unroll 3
                for (int axis = 0; axis < AXES; axis++)
#pragma GCC unroll 5
                    for (int i = 0; i < COUNT; i++) own[axis][i] = at[axis][i];
                if (channels() - channel >= 4) {
                    add_tap<4, 0>(part, rows, tap, own, base, smooth);
                    channel += 4;
                } else if (channels() - channel >= 2) {
                    add_tap<2, 0>(part, rows, tap, own, base, smooth);
                    channel += 2;
                } else {
                    add_tap<1, 0>(part, rows, tap, own, base, smooth);
                    channel += 1;
                }
            }
        }
    }

    // A tap of a patch whose offsets are polynomials.
    PRC_NOINLINE void add_polynomial(const Place &to, int rows, int tap) const {
        Vector at[AXES][DEGREE + 1], sum[AXES][DEGREE + 1][1];
        offsets.template sum_modes<AXES, DEGREE + 1, 1>(AXES * tap, 0, to.x, sum);
#pragma GCC unroll 3
        for (int axis = 0; axis < AXES; axis++)
#pragma GCC unroll 5
            for (int order = 0; order <= DEGREE; order++) at[axis][order] = sum[axis][order][0];
        int base[AXES];
        const bool smooth = find_base(to, rows, tap, at, base);
        add_channels(to, rows, tap, at, base, smooth);
    }

    // A tap of a patch whose offsets are read row by row.
    PRC_NOINLINE void add_rows(const Place &to, int rows, int tap) const {
        Vector at[AXES][ROWS];
        if (rows == ROWS && offsets.smooth()) {
            Vector sum[AXES][ROWS][1];
            offsets.template sum_modes<AXES, ROWS, 1>(AXES * tap, 0, to.x, sum);
#pragma GCC unroll 3
            for (int axis = 0; axis < AXES; axis++)
#pragma GCC unroll 4
                for (int r = 0; r < ROWS; r++) at[axis][r] = sum[axis][r][0];
        } else {
            for (int r = 0; r < ROWS; r++) {
                float values[AXES * LANES];
                offsets.template read_row<AXES, 1>(AXES * tap, smaller(r, rows - 1), to.x, values);
                for (int axis = 0; axis < AXES; axis++) at[axis][r] = load(values + axis * LANES);
            }
        }
        if (plan.far)
            for (int axis = 0; axis < AXES; axis++)
                for (int r = 0; r < ROWS; r++) at[axis][r] = clamp_offset(at[axis][r]);
        int base[AXES];
        const bool smooth = find_base(to, rows, tap, at, base);
        add_channels(to, rows, tap, at, base, smooth);
    }

    // A tap without offsets.
    PRC_NOINLINE void add_still(const Place &to, int rows, int tap) const {
        for (int r = 0; r < rows; r++) {
            const float *from = window.at(to.z + plan.taps.plane[tap], to.y + r + plan.taps.row[tap]) +
                                to.x + plan.taps.column[tap];
            const float *weight = plan.weight + ptrdiff_t(tap) * channels() * channels();
            float *sum = sums + ptrdiff_t(r) * channels() * LANES;
            for (int in = 0; in < channels(); in++, from += window.plane, weight += channels()) {
                const Vector sample = load(from);
#pragma GCC unroll 3
                for (int out = 0; out < channels(); out++)
                    store(sum + out * LANES, load(sum + out * LANES) + sample * weight[out]);
            }
        }
    }

    // A patch's sums become the raw result, and are counted in the statistics of their rows.
    PRC_NOINLINE void finish_patch(const Place &to, int rows) const {
        const int pixels = smaller(LANES, call.width - to.x);
        const IntVector lane = counted();
        const float *sum = sums;
        for (int r = 0; r < rows; r++) {
            float *totals = row_sums + ptrdiff_t(r) * 2 * channels() * LANES;
            for (int c = 0; c < channels(); c++, sum += LANES, totals += 2 * LANES) {
                const Vector value = load(sum);
                float *raw = call.out + place(c, to.z, to.y + r) + to.x;
                float *pivot = statistics_of(to.z, to.y + r) + c;
                if (to.x == 0) {
                    *pivot = value[0];
                    store(totals, Vector{});
                    store(totals + LANES, Vector{});
                }
                const Vector difference = lane < pixels ? value - *pivot : Vector{};
                store(totals, load(totals) + difference);
                store(totals + LANES, load(totals + LANES) + difference * difference);
                if (pixels == LANES)
                    store(raw, value);
                else
                    store_some(raw, value, pixels);
            }
        }
    }

    PRC_INLINE float *statistics_of(int z, int y) const {
        return statistics + (ptrdiff_t(z) * call.height + y) * 3 * channels();
    }

    // Some rows of plane z, of the first one at most as many as a patch has.
    void convolve_rows(int z, int y, int rows) {
        if (plan.polynomials)
            offsets.begin_polynomials(z, y, *plan.polynomials);
        else
            offsets.begin_rows(z, y, rows);
        for (int x = 0; x < call.width; x += LANES) {
            const Place to{z, y, x, 0};
            __builtin_memset(sums, 0, size_t(rows) * channels() * LANES * sizeof(float));
            for (int tap = 0; tap < plan.taps.count; tap++) {
                if (!call.offsets)
                    add_still(to, rows, tap);
                else if (plan.polynomials)
                    add_polynomial(to, rows, tap);
                else
                    add_rows(to, rows, tap);
            }
            finish_patch(to, rows);
        }
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < channels(); c++)
                for (int i = 0; i < 2; i++)
                    statistics_of(z, y + r)[(1 + i) * channels() + c] =
                        sum_of(load(row_sums + ((ptrdiff_t(r) * channels() + c) * 2 + i) * LANES));
    }

    void compute_contrast() {
        for (int c = 0; c < channels(); c++) {
            double average = 0, variance = 0;
            if (call.standardise)
                join_rows(statistics + c, channels(), call.depth * call.height, call.width,
                          average, variance);
            contrast[c] = affine_of(call, average, variance, c);
        }
    }

    void run(Barrier &barrier) {
        for (int64_t repeat = 0; repeat < call.repeats; repeat++) {
            const auto fill = [&](int z, int y, float *row) { fill_row(repeat, z, y, row); };
            window.begin(fill);
            barrier.wait(window.bands);
            for (int slice = window.first_own; slice < window.end_own; slice += window.step) {
                const int count = smaller(window.step, window.end_own - slice);
                window.move_to(slice, count, fill);
                if (AXES == 2)
                    convolve_rows(0, slice, count);
                else
                    for (int y = 0; y < call.height; y += plan.rows)
                        convolve_rows(slice, y, smaller(plan.rows, call.height - y));
            }
            barrier.wait(window.bands);
            compute_contrast();
        }
        for (int c = 0; c < channels(); c++)
            for (int slice = window.first_own; slice < window.end_own; slice++)
                for (int y = 0; y < (AXES == 2 ? 1 : call.height); y++) {
                    float *row = call.out + (AXES == 2 ? place(c, 0, slice) : place(c, slice, y));
                    contrast_row(c, row, row);
                }
    }
};

template <int AXES, int C>
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
        PixelBand<AXES, C> band(plan, threads);
        statistics = carver.take<float>(size_t(call.depth) * call.height * 3 * call.channels);
        shared = carver.take<float>(band.window.shared_floats());
        Carver one;
        band.lay_out(one);
        band_bytes = one.used;
        band_memory = carver.take<char>(band_bytes * threads);
    }

    static void task(void *argument, int thread, int threads) {
        PixelJob &job = *static_cast<PixelJob *>(argument);
        PixelBand<AXES, C> band(job.plan, threads);
        Carver carver{job.band_memory + job.band_bytes * thread};
        band.lay_out(carver);
        band.statistics = job.statistics;
        band.window.set_band(thread, job.shared);
        band.offsets.prepare();
        for (band.image = 0; band.image < job.plan.call.images; band.image++)
            band.run(job.barrier);
    }
};

template <int AXES>
int apply_pixel_axes(const PixelPlan &plan) {
    const int slices = AXES == 3 ? plan.call.depth : plan.call.height;
    const int threads = smaller(smaller(plan.call.threads, 64), larger(1, slices / 8));
#if PRC_FAST
    if (plan.call.channels == 3) {
        PixelJob<AXES, 3> job(plan, threads);
        return run_job(job, plan.call, threads);
    }
    if (plan.call.channels == 2) {
        PixelJob<AXES, 2> job(plan, threads);
        return run_job(job, plan.call, threads);
    }
    if (plan.call.channels == 1) {
        PixelJob<AXES, 1> job(plan, threads);
        return run_job(job, plan.call, threads);
    }
#endif
    PixelJob<AXES, 0> job(plan, threads);
    return run_job(job, plan.call, threads);
}

inline void lay_out_pixel_plan(PixelPlan &plan, Carver &carver) {
    const Call &call = plan.call;
    plan.taps.lay_out(call, carver);
    plan.weight = carver.take<float>(size_t(call.taps()) * call.channels * call.channels);
}

inline int apply_pixels(const Call &call) {
    PixelPlan plan(call);
    Carver measure;
    lay_out_pixel_plan(plan, measure);
    char *const memory = acquire_workspace(measure.used, *call.workspaces, PLAN);
    if (!memory) return OUT_OF_MEMORY;
    Carver carver{memory};
    lay_out_pixel_plan(plan, carver);
    plan.taps.choose(call);
    const int all = call.taps(), channels = call.channels;
    for (int tap = 0; tap < plan.taps.count; tap++)
        for (int in = 0; in < channels; in++)
            for (int out = 0; out < channels; out++)
                plan.weight[(ptrdiff_t(tap) * channels + in) * channels + out] =
                    call.weight[(ptrdiff_t(out) * channels + in) * all + plan.taps.index[tap]];
    const Offsets offsets(call, plan.taps);
    const int radius = call.kernel_size / 2;
    const float reach = offsets.reach();
    plan.far = !(radius + reach + 1 < MAX_REACH);
    plan.reach = plan.far ? MAX_REACH : !call.offsets ? radius : radius + int(reach) + 1;
    plan.polynomials = nullptr;
    plan.rows = ROWS;
    for (const Polynomials &each : call.polynomials)
        if (!plan.polynomials && !plan.far && each.rows &&
            offsets.error_of(each) <= POLYNOMIAL_ERROR) {
            plan.polynomials = &each;
            plan.rows = each.rows;
        }
    const int status = call.axes == 3 ? apply_pixel_axes<3>(plan) : apply_pixel_axes<2>(plan);
    release_workspace(memory, *call.workspaces, PLAN);
    return status;
}
