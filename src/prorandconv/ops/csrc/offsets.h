// Where offsets come from: stored planes, or coefficients of smooth basis functions that are summed
// where the offsets are needed, so that the planes never exist. Part of kernel.h.

// The taps that matter. One is dropped when it cannot change the sum in float32, whichever channels
// are involved.
struct Taps {
    int count;
    int *plane, *row, *column;  // of a tap, from the middle of the kernel
    int *index;                 // of a tap among all
    float *largest;             // [C][C]: |weight| of the strongest tap

    void lay_out(const Call &call, Carver &carver) {
        const size_t most = size_t(call.taps());
        plane = carver.take<int>(most);
        row = carver.take<int>(most);
        column = carver.take<int>(most);
        index = carver.take<int>(most);
        largest = carver.take<float>(size_t(call.channels) * call.channels);
    }

    void choose(const Call &call) {
        const int k = call.kernel_size, all = call.taps(), pairs = call.channels * call.channels;
        for (int pair = 0; pair < pairs; pair++) {
            largest[pair] = 0;
            for (int tap = 0; tap < all; tap++)
                largest[pair] = __builtin_fmaxf(largest[pair], size(call, pair, tap));
        }
        count = 0;
        for (int tap = 0; tap < all; tap++) {
            int pair = 0;
            while (pair < pairs && size(call, pair, tap) <= largest[pair] * 0x1p-26f) pair++;
            if (pair == pairs) continue;
            index[count] = tap;
            plane[count] = call.axes == 3 ? tap / (k * k) - k / 2 : 0;
            row[count] = tap / k % k - k / 2;
            column[count] = tap % k - k / 2;
            count++;
        }
    }

    static float size(const Call &call, int pair, int tap) {
        return __builtin_fabsf(call.weight[ptrdiff_t(pair) * call.taps() + tap]);
    }
};

// Infinite offsets and NaN become FAR_AWAY: outside, whatever the padding.
PRC_INLINE bool is_valid_offset(float offset) { return offset > -FAR_AWAY && offset < FAR_AWAY; }
PRC_INLINE Vector clamp_offset(Vector d) {
    d = d > -FAR_AWAY ? d : splat(-FAR_AWAY);
    return d < FAR_AWAY ? d : splat(FAR_AWAY);
}

// One thread's view of the offsets. A field is one axis of the displacement of a tap that matters.
struct Offsets {
    const Call &call;
    const Taps &taps;
    int z, y;
    ptrdiff_t padded;   // width, rounded up
    int padded_modes;   // along a row, rounded up
    float *columns;     // [modes along a row][padded]: basis functions along a row
    float *of_plane;    // [fields][modes along a column][padded modes]: coefficients in plane z
    float *of_rows;     // [rows or orders of differences][fields][padded modes]

    Offsets(const Call &call, const Taps &taps) : call(call), taps(taps) {}

    PRC_INLINE int fields() const { return call.axes * taps.count; }
    PRC_INLINE bool smooth() const { return call.modes[2]; }
    PRC_INLINE ptrdiff_t place(int field) const {
        return call.axes * taps.index[field / call.axes] + field % call.axes;
    }

    // For as many rows at a time.
    void lay_out(Carver &carver, int rows) {
        const size_t all = smooth() ? size_t(call.axes) * call.taps() : 0;
        padded = (call.width + BLOCK - 1) / BLOCK * BLOCK;
        padded_modes = (call.modes[2] + LANES - 1) / LANES * LANES;
        columns = carver.take<float>(size_t(call.modes[2]) * padded);
        of_plane = carver.take<float>(all * call.modes[1] * padded_modes);
        of_rows = carver.take<float>(all * rows * padded_modes);
    }

    // Beyond the row's end, basis functions go on with the last pixel's value.
    void prepare() {
        for (int j = 0; j < call.modes[2]; j++)
            for (int x = 0; x < padded; x++)
                columns[j * padded + x] =
                    call.basis[2][smaller(x, call.width - 1) * ptrdiff_t(call.modes[2]) + j];
        z = -1;
    }

    // How far offsets reach along an axis: their largest, or a bound of it.
    float reach() const {
        float farthest = 0, peaks[3][MAX_MODES];
        const int size[] = {call.depth, call.height, call.width};
        for (int axis = 0; smooth() && axis < 3; axis++)
            for (int i = 0; i < call.modes[axis]; i++)
                peaks[axis][i] = peak(call.basis[axis] + i, call.modes[axis], size[axis]);
        for (int field = 0; call.offsets && field < fields(); field++) {
            const float *values = call.offsets + place(field) * call.offsets_per_plane();
            float size = 0;
            if (smooth())  // it may have been rounded down, and polynomials are not exact
                size = weighted(values, peaks) * 1.0001f + 1e-3f;
            else
                size = peak(values, 1, call.offsets_per_plane());
            farthest = __builtin_fmaxf(farthest, limited(size));
        }
        return farthest;
    }

    // The error that polynomials bring into the offsets. Coefficients are random, so that the functions
    // along the other axes add up to no more than PEAK times their mean square's root.
    float error_of(const Polynomials &polynomials) const {
        constexpr float PEAK = 5;
        const int blocks = (call.height + polynomials.rows - 1) / polynomials.rows;
        const float *errors = polynomials.differences + blocks * (DEGREE + 1) * call.modes[1];
        float most = 0;
        for (int field = 0; field < fields(); field++) {
            const float *from = call.offsets + place(field) * call.offsets_per_plane();
            float squares[MAX_MODES]{}, sum = 0;
            for (int h = 0; h < call.modes[0]; h++)
                for (int i = 0; i < call.modes[1]; i++)
                    for (int j = 0; j < call.modes[2]; j++, from++) squares[i] += *from * *from;
            for (int i = 0; i < call.modes[1]; i++)
                sum += PEAK * errors[i] * __builtin_sqrtf(squares[i]);
            most = __builtin_fmaxf(most, limited(sum));
        }
        return most;
    }

    float weighted(const float *coefficients, const float (&peaks)[3][MAX_MODES]) const {
        float sum = 0;
        for (int h = 0; h < call.modes[0]; h++)
            for (int i = 0; i < call.modes[1]; i++)
                for (int j = 0; j < call.modes[2]; j++)
                    sum += peaks[0][h] * peaks[1][i] * peaks[2][j] *
                           __builtin_fabsf(*coefficients++);
        return sum;
    }

    // The largest |value|; infinity and NaN count as FAR_AWAY.
    static float peak(const float *values, ptrdiff_t step, ptrdiff_t count) {
        Vector most{};
        ptrdiff_t i = 0;
        for (; step == 1 && i + LANES <= count; i += LANES) {
            Vector size = load(values + i);
            size = size > -size ? size : -size;
            size = size < FAR_AWAY ? size : splat(FAR_AWAY);
            most = size > most ? size : most;
        }
        float largest = 0;
        for (int lane = 0; lane < LANES; lane++) largest = __builtin_fmaxf(largest, most[lane]);
        for (; i < count; i++) largest = __builtin_fmaxf(largest, limited(values[i * step]));
        return largest;
    }

    // |value|, at most FAR_AWAY.
    static float limited(float value) {
        const float size = __builtin_fabsf(value);
        return size < FAR_AWAY ? size : FAR_AWAY;
    }

    // Sums the coefficients along the depth for a plane of pixels.
    void begin_plane(int plane) {
        if (!smooth() || plane == z) return;
        z = plane;
        const int rows = call.modes[1], columns = call.modes[2], count = rows * columns;
        const float *factor = call.basis[0] + ptrdiff_t(z) * call.modes[0];
        float flat[MAX_MODES * MAX_MODES + LANES], *to = of_plane;
        for (int field = 0; field < fields(); field++) {
            const float *from = call.offsets + place(field) * call.offsets_per_plane();
            for (int i = 0; i < count; i += LANES) {
                const int some = smaller(LANES, count - i);
                Vector sum{};
                for (int h = 0; h < call.modes[0]; h++) {
                    const float *values = from + ptrdiff_t(h) * count + i;
                    sum += (some == LANES ? load(values) : load_some(values, some)) * factor[h];
                }
                store(flat + i, sum);
            }
            for (int i = 0; i < rows; i++, to += padded_modes) {
                __builtin_memcpy(to, flat + i * columns, size_t(columns) * sizeof(float));
                for (int j = columns; j < padded_modes; j++) to[j] = 0;
            }
        }
    }

    // Sums them along a column, with factors for COUNT rows [modes] one after the other, as of_rows
    // from `number` on.
    template <int COUNT>
    void combine(const float *factors, int number) {
        const int rows = call.modes[1];
        const ptrdiff_t step = ptrdiff_t(fields()) * padded_modes;
        float *to = of_rows + number * step;
        for (int field = 0; field < fields(); field++)
            for (int j = 0; j < padded_modes; j += LANES, to += LANES) {
                const float *from = of_plane + ptrdiff_t(field) * rows * padded_modes + j;
                Vector sum[COUNT]{};
                for (int i = 0; i < rows; i++) {
                    const Vector value = load(from + i * padded_modes);
#pragma GCC unroll 5
                    for (int r = 0; r < COUNT; r++) sum[r] += value * factors[r * rows + i];
                }
#pragma GCC unroll 5
                for (int r = 0; r < COUNT; r++) store(to + r * step, sum[r]);
            }
    }

    // At most ROWS rows of a plane.
    void begin_rows(int z, int y, int rows) {
        begin_plane(z);
        this->z = z;
        this->y = y;
        if (!smooth()) return;
        const float *factors = call.basis[1] + ptrdiff_t(y) * call.modes[1];
        if (rows == ROWS) return combine<ROWS>(factors, 0);
        for (int r = 0; r < rows; r++) combine<1>(factors + r * call.modes[1], r);
    }

    // The same for a polynomial: of_rows has the orders of its differences.
    void begin_polynomials(int z, int y, const Polynomials &polynomials) {
        begin_plane(z);
        this->y = y;
        const ptrdiff_t before = ptrdiff_t(y / polynomials.rows) * (DEGREE + 1);
        combine<DEGREE + 1>(polynomials.differences + before * call.modes[1], 0);
    }

    // Fields `first` to first + FIELDS - 1 in COUNT rows, or orders of differences, from `row` on,
    // for V vectors of pixels from x on.
    template <int FIELDS, int COUNT, int V>
    PRC_INLINE void sum_modes(int first, int row, int x, Vector (&sum)[FIELDS][COUNT][V]) const {
        const float *basis = columns + x;
        const float *factor = of_rows + (ptrdiff_t(row) * fields() + first) * padded_modes;
        const ptrdiff_t step = ptrdiff_t(fields()) * padded_modes;
#pragma GCC unroll 6
        for (int f = 0; f < FIELDS; f++)
#pragma GCC unroll 5
            for (int c = 0; c < COUNT; c++)
#pragma GCC unroll 4
                for (int v = 0; v < V; v++) sum[f][c][v] = Vector{};
        for (int j = 0; j < call.modes[2]; j++, basis += padded, factor++) {
            Vector value[V];
#pragma GCC unroll 4
            for (int v = 0; v < V; v++) value[v] = load(basis + v * LANES);
#pragma GCC unroll 6
            for (int f = 0; f < FIELDS; f++)
#pragma GCC unroll 5
                for (int c = 0; c < COUNT; c++) {
                    const Vector its_factor = splat(factor[f * padded_modes + c * step]);
#pragma GCC unroll 4
                    for (int v = 0; v < V; v++) sum[f][c][v] += value[v] * its_factor;
                }
        }
    }

    // Some fields of row y + r for V vectors of pixels from x on, as [FIELDS][V * LANES]; beyond the
    // row's end the last pixel's.
    template <int FIELDS, int V>
    PRC_INLINE void read_row(int first, int r, int x, float *to) const {
        if (smooth()) {
            Vector sum[FIELDS][1][V];
            sum_modes<FIELDS, 1, V>(first, r, x, sum);
#pragma GCC unroll 6
            for (int f = 0; f < FIELDS; f++)
#pragma GCC unroll 4
                for (int v = 0; v < V; v++) store(to + (f * V + v) * LANES, sum[f][0][v]);
        } else if (call.offsets) {
            const int pixels = smaller(V * LANES, call.width - x);
            for (int field = first; field < first + FIELDS; field++, to += V * LANES) {
                const ptrdiff_t before = (place(field) * call.depth + z) * call.height + y + r;
                const float *row = call.offsets + before * call.width + x;
                __builtin_memcpy(to, row, size_t(pixels) * sizeof(float));
                for (int i = pixels; i < V * LANES; i++) to[i] = row[pixels - 1];
            }
        } else {
            __builtin_memset(to, 0, FIELDS * V * LANES * sizeof(float));
        }
    }
};
