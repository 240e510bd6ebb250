// Where offsets come from: stored planes, or waves that are summed where the offsets are needed, so
// that the planes never exist. Part of kernel.h.

// The taps that matter. One is dropped when it cannot change the sum in float32, whichever channels
// are involved.
struct Taps {
    int count;
    int *row, *column;  // of a tap, from the middle of the kernel
    int *index;         // of a tap among all
    float *largest;     // [C][C]: |weight| of the strongest tap

    void lay_out(const Call &call, Carver &carver) {
        const size_t most = size_t(call.kernel_size) * call.kernel_size;
        row = carver.take<int>(most);
        column = carver.take<int>(most);
        index = carver.take<int>(most);
        largest = carver.take<float>(size_t(call.channels) * call.channels);
    }

    void choose(const Call &call) {
        const int k = call.kernel_size, all = k * k, pairs = call.channels * call.channels;
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
            row[count] = tap / k - k / 2;
            column[count] = tap % k - k / 2;
            count++;
        }
    }

    static float size(const Call &call, int pair, int tap) {
        return __builtin_fabsf(call.weight[pair * call.kernel_size * call.kernel_size + tap]);
    }
};

// Infinite offsets and NaN become FAR_AWAY: outside, whatever the padding.
PRC_INLINE bool is_near(float offset) { return offset > -FAR_AWAY && offset < FAR_AWAY; }
PRC_INLINE Vector brought_near(Vector d) {
    d = d > -FAR_AWAY ? d : splat(-FAR_AWAY);
    return d < FAR_AWAY ? d : splat(FAR_AWAY);
}

// One thread's view of the offsets, row by row: a plane is dy or dx of a tap that matters.
struct OffsetRows {
    const Call &call;
    const Taps &taps;
    int y;
    ptrdiff_t padded;      // width, rounded up
    const float *columns;  // [column waves][padded]: waves along a row
    float *copied;         // the same, if the width is not a round number
    float *combined;       // [planes][column waves] factors of them for row y, and what rounds up

    OffsetRows(const Call &call, const Taps &taps) : call(call), taps(taps) {}

    PRC_INLINE int planes() const { return 2 * taps.count; }
    PRC_INLINE ptrdiff_t place(int plane) const { return 2 * taps.index[plane / 2] + plane % 2; }

    void lay_out(Carver &carver) {
        padded = (call.width + PIXELS - 1) / PIXELS * PIXELS;
        const size_t factors = size_t(call.planes()) * call.column_waves + MAX_WAVES;
        copied = carver.take<float>(padded > call.width ? call.column_waves * size_t(padded) : 0);
        combined = carver.take<float>(call.column_waves ? factors : 0);
    }

    // Beyond the row's end, waves go on with the last pixel's value.
    void prepare() {
        columns = padded > call.width ? copied : call.by_column;
        for (int j = 0; padded > call.width && j < call.column_waves; j++)
            for (int x = 0; x < padded; x++)
                copied[j * padded + x] =
                    call.by_column[j * ptrdiff_t(call.width) + smaller(x, call.width - 1)];
    }

    // How far offsets reach along an axis: their largest, or for waves a bound of it.
    float reach() const {
        float farthest = 0, row_peaks[MAX_WAVES], column_peaks[MAX_WAVES];
        for (int i = 0; i < call.row_waves; i++)
            row_peaks[i] = peak(call.by_row + i, call.row_waves, call.height);
        for (int j = 0; j < call.column_waves; j++)
            column_peaks[j] = peak(call.by_column + ptrdiff_t(j) * call.width, 1, call.width);
        for (int plane = 0; call.offsets && plane < planes(); plane++) {
            const float *numbers = call.offsets + place(plane) * call.numbers_per_plane();
            float size = 0;
            if (call.row_waves) {
                for (int i = 0; i < call.row_waves; i++)
                    for (int j = 0; j < call.column_waves; j++)
                        size += row_peaks[i] * column_peaks[j] * __builtin_fabsf(*numbers++);
                size *= __builtin_fabsf(*call.sigma) * 1.0001f;  // it may have been rounded down
            } else {
                size = peak(numbers, 1, call.numbers_per_plane());
            }
            farthest = __builtin_fmaxf(farthest, near(size));
        }
        return farthest;
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
        for (; i < count; i++) largest = __builtin_fmaxf(largest, near(values[i * step]));
        return largest;
    }

    // |value|, at most FAR_AWAY.
    static float near(float value) {
        const float size = __builtin_fabsf(value);
        return size < FAR_AWAY ? size : FAR_AWAY;
    }

    void begin_row(int y) {
        this->y = y;
        const float *wave = call.by_row + ptrdiff_t(y) * call.row_waves;
        float factor[MAX_WAVES];
        for (int i = 0; i < call.row_waves; i++) factor[i] = wave[i] * *call.sigma;
        // Vectors are longer than the rows of coefficients: each is stored over the end of the last
        // one, and what would be read beyond the coefficients is copied first.
        for (int plane = 0; call.row_waves && plane < planes(); plane++) {
            const ptrdiff_t count = call.numbers_per_plane(), first = place(plane) * count;
            const float *numbers = call.offsets + first;
            float *to = combined + plane * call.column_waves, last[MAX_WAVES * MAX_WAVES + LANES];
            if (first + count + LANES > call.planes() * count) {
                __builtin_memcpy(last, numbers, size_t(count) * sizeof(float));
                numbers = last;
            }
            for (int j = 0; j < call.column_waves; j += LANES) {
                Vector sum{};
                for (int i = 0; i < call.row_waves; i++)
                    sum += load(numbers + i * call.column_waves + j) * factor[i];
                store(to + j, sum);
            }
        }
    }

    // Offsets of V vectors of pixels from x on: [planes][V * LANES], beyond the row's end the last
    // pixel's.
    template <int V>
    PRC_INLINE void read_pixels(int x, float *to) const {
        int plane = 0;
        if (call.row_waves) {
            for (; plane + 6 <= planes(); plane += 6) sum_waves<6, V>(plane, x, to);
            for (; plane < planes(); plane += 2) sum_waves<2, V>(plane, x, to);
        } else if (call.offsets) {
            for (; plane < planes(); plane++) copy_plane<V>(plane, x, to + plane * V * LANES);
        } else {
            __builtin_memset(to, 0, size_t(planes()) * V * LANES * sizeof(float));
        }
    }

  private:
    template <int PLANES, int V>
    PRC_INLINE void sum_waves(int plane, int x, float *to) const {
        Vector sum[PLANES][V]{};
        const float *wave = columns + x, *factor = combined + plane * call.column_waves;
        for (int j = 0; j < call.column_waves; j++, wave += padded, factor++) {
#pragma GCC unroll 6
            for (int p = 0; p < PLANES; p++) {
                const Vector its_factor = splat(factor[p * call.column_waves]);
#pragma GCC unroll 4
                for (int v = 0; v < V; v++) sum[p][v] += load(wave + v * LANES) * its_factor;
            }
        }
#pragma GCC unroll 6
        for (int p = 0; p < PLANES; p++)
#pragma GCC unroll 4
            for (int v = 0; v < V; v++) store(to + ((plane + p) * V + v) * LANES, sum[p][v]);
    }

    template <int V>
    PRC_INLINE void copy_plane(int plane, int x, float *to) const {
        const int pixels = smaller(V * LANES, call.width - x);
        const float *row =
            call.offsets + (place(plane) * call.height + y) * ptrdiff_t(call.width) + x;
        __builtin_memcpy(to, row, size_t(pixels) * sizeof(float));
        for (int i = pixels; i < V * LANES; i++) to[i] = row[pixels - 1];
    }
};
