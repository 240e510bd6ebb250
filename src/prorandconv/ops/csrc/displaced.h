// Displacements of pixels that follow each other, and labels that move by them. Part of kernel.h.

// Adds to one pixel's step what happened before at the place where the step leads.
PRC_NOINLINE void follow_pixel(const Follow &call, int y, int x) {
    const int h = call.height, w = call.width;
    const float *step = call.step, *before = call.before;
    float *out = call.out;
    const ptrdiff_t plane = ptrdiff_t(h) * w, here = ptrdiff_t(y) * w + x;
    out[here] = step[here];
    out[plane + here] = step[plane + here];
    float row = y + step[here], column = x + step[plane + here];
    if (!is_near(column) || !is_near(row)) return;
    const bool inside = column >= -0.5f && column <= w - 0.5f && row >= -0.5f && row <= h - 0.5f;
    if (call.zeros && !inside) return;
    column = __builtin_fminf(__builtin_fmaxf(column, 0), float(w - 1));
    row = __builtin_fminf(__builtin_fmaxf(row, 0), float(h - 1));
    const int left = int(column), top = int(row);
    const ptrdiff_t rows[2] = {ptrdiff_t(top) * w, ptrdiff_t(smaller(top + 1, h - 1)) * w};
    const int columns[2] = {left, smaller(left + 1, w - 1)};
    const float down[2] = {1 - (row - top), row - top};
    const float across[2] = {1 - (column - left), column - left};
    for (int i = 0; i < 4; i++) {
        const float weight = down[i / 2] * across[i % 2];
        if (weight == 0) continue;  // what is infinite or NaN must not spread
        const ptrdiff_t place = rows[i / 2] + columns[i % 2];
        out[here] += weight * before[place];
        out[plane + here] += weight * before[plane + place];
    }
}

// Means of ROWS x COLUMNS neighbours (0: any number) in both planes.
template <int ROWS, int COLUMNS>
PRC_INLINE void sample(const float *before, ptrdiff_t plane, int width, const Span &down,
                       const Span &across, Vector (&sum)[2]) {
    for (int i = 0; i < (ROWS ? ROWS : down.length); i++, before += width) {
        const Vector row = hat<ROWS>(down.from_first, i);
        for (int j = 0; j < (COLUMNS ? COLUMNS : across.length); j++) {
            const Vector weight = row * hat<COLUMNS>(across.from_first, j);
            sum[0] += weight * load(before + j);
            sum[1] += weight * load(before + plane + j);
        }
    }
}

// The same for a vector of pixels whose steps differ little and lead inside; false if they do not, or
// lead to what is infinite or NaN.
PRC_INLINE bool follow_near(const Follow &call, int y, int x) {
    const int h = call.height, w = call.width;
    const ptrdiff_t plane = ptrdiff_t(h) * w, here = ptrdiff_t(y) * w + x;
    const float *places[2] = {call.step + here, call.step + plane + here};
    for (const float *axis : places)
        if (any_outside(load(axis), -FAR_AWAY, FAR_AWAY)) return false;
    const Span down = span_of(places[0]), across = span_of(places[1]);
    if (across.length > MAX_SPAN || down.length > MAX_SPAN) return false;
    const int left = x + across.first, top = y + down.first;
    if (left < 0 || left + across.length - 1 + LANES > w || top < 0 || top + down.length > h)
        return false;
    Vector sum[2]{};
    const float *first = call.before + ptrdiff_t(top) * w + left;
    if (across.length == 2 && down.length == 2)
        sample<2, 2>(first, plane, w, down, across, sum);
    else
        sample<0, 0>(first, plane, w, down, across, sum);
    for (const Vector &one : sum)
        if (any_outside(one, -FAR_AWAY, FAR_AWAY)) return false;
    store(call.out + here, load(places[0]) + sum[0]);
    store(call.out + plane + here, load(places[1]) + sum[1]);
    return true;
}

// The same for a vector of pixels whose steps lead anywhere; false if some lead to what is infinite or
// NaN.
PRC_INLINE bool follow_far(const Follow &call, int y, int x) {
    const int h = call.height, w = call.width;
    const ptrdiff_t plane = ptrdiff_t(h) * w, here = ptrdiff_t(y) * w + x;
    const Vector own[2] = {load(call.step + here), load(call.step + plane + here)};
    Vector row = own[0] + float(y);
    Vector column = own[1] + __builtin_convertvector(counted() + x, Vector);
    if (any_outside(row, -FAR_AWAY, FAR_AWAY) || any_outside(column, -FAR_AWAY, FAR_AWAY))
        return false;
    const IntVector inside = (row >= -0.5f) & (row <= h - 0.5f) & (column >= -0.5f) &
                             (column <= w - 0.5f);
    row = positive(row < float(h - 1) ? row : splat(float(h - 1)));
    column = positive(column < float(w - 1) ? column : splat(float(w - 1)));
    const IntVector top = __builtin_convertvector(row, IntVector);
    const IntVector left = __builtin_convertvector(column, IntVector);
    // Where there is no further pixel, its weight is 0.
    const IntVector below = top < h - 1 ? top + 1 : top, right = left < w - 1 ? left + 1 : left;
    const Vector down = row - __builtin_convertvector(top, Vector);
    const Vector across = column - __builtin_convertvector(left, Vector);
    const IntVector places[4] = {top * w + left, top * w + right, below * w + left,
                                 below * w + right};
    const Vector weights[4] = {(1.f - down) * (1.f - across), (1.f - down) * across,
                               down * (1.f - across), down * across};
    for (int axis = 0; axis < 2; axis++) {
        Vector sum{};
        for (int i = 0; i < 4; i++)
            sum += weights[i] * gather(call.before + axis * plane, places[i]);
        if (any_outside(sum, -FAR_AWAY, FAR_AWAY)) return false;
        if (call.zeros) sum = inside ? sum : Vector{};
        store(call.out + axis * plane + here, own[axis] + sum);
    }
    return true;
}

void follow_rows(const Follow &call, int64_t first, int64_t last) {
    const int w = call.width;
    for (int y = int(first); y < int(last); y++)
        for (int next = 0; next < w; next += LANES) {
            const int x = larger(smaller(next, w - LANES), 0);  // the last ones overlap
            if (w >= LANES && (follow_near(call, y, x) || follow_far(call, y, x))) continue;
            for (int i = x; i < w && i < x + LANES; i++) follow_pixel(call, y, i);
        }
}

constexpr int MOVED = 256;  // labels of a row that move at once

// Copies labels of so many pixels from their places, -1 being outside, in all maps of a field.
template <typename Label>
PRC_INLINE void copy_labels(const Move &call, ptrdiff_t map, ptrdiff_t here, const int *places,
                            int count) {
    const ptrdiff_t plane = ptrdiff_t(call.height) * call.width;
    const Label fill = Label(call.fill);
    for (int64_t i = 0; i < call.maps; i++) {
        const Label *from = static_cast<const Label *>(call.labels) + (map + i) * plane;
        Label *to = static_cast<Label *>(call.out) + (map + i) * plane + here;
        for (int j = 0; j < count; j++) to[j] = places[j] < 0 ? fill : from[places[j]];
    }
}

// The nearest whole number, of two the even one; of what is not small, something not small.
PRC_INLINE Vector nearest(Vector v) {
    const float round = 12582912.f;  // 1.5 * 2^23: adding it leaves no fractional bits
    return v + round - round;
}

void move_rows(const Move &call, int64_t first, int64_t last) {
    const int h = call.height, w = call.width;
    const ptrdiff_t plane = ptrdiff_t(h) * w;
    int places[MOVED];
    for (int64_t number = first; number < last; number++) {
        const int64_t field = number / h;
        const int y = int(number % h);
        const ptrdiff_t row = ptrdiff_t(y) * w;
        const float *down = call.field + field * 2 * plane + row, *across = down + plane;
        for (int begin = 0; begin < w; begin += MOVED) {
            const int count = smaller(MOVED, w - begin);
            for (int i = 0; i < count; i += LANES) {
                const int x = begin + i, some = smaller(LANES, count - i);
                const Vector columns = __builtin_convertvector(counted() + x, Vector);
                Vector to_row = nearest(load_some(down + x, some) + float(y));
                Vector to_column = nearest(load_some(across + x, some) + columns);
                const IntVector inside = (to_row >= 0.f) & (to_row <= float(h - 1)) &
                                         (to_column >= 0.f) & (to_column <= float(w - 1));
                to_row = inside ? to_row : Vector{};
                to_column = inside ? to_column : Vector{};
                const IntVector place = __builtin_convertvector(to_row, IntVector) * w +
                                        __builtin_convertvector(to_column, IntVector);
                const IntVector known = inside ? place : place * 0 - 1;
                __builtin_memcpy(places + i, &known, size_t(some) * sizeof(int));
            }
            const ptrdiff_t map = ptrdiff_t(field * call.maps), here = row + begin;
            if (call.bytes == 1)
                copy_labels<uint8_t>(call, map, here, places, count);
            else if (call.bytes == 2)
                copy_labels<uint16_t>(call, map, here, places, count);
            else if (call.bytes == 4)
                copy_labels<uint32_t>(call, map, here, places, count);
            else
                copy_labels<uint64_t>(call, map, here, places, count);
        }
    }
}
