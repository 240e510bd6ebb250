// Which neighbours a vector of pixels reads where its offsets are smooth. Part of kernel.h.

// The neighbours along an axis that a tap reads for a vector of pixels, and where between them the
// pixels fall, from the first neighbour on.
struct Span {
    int first, length;
    Vector from_first;
};

PRC_INLINE Span span_of(const float *offsets) {
    const float base = __builtin_floorf(*offsets);
    const Vector from = load(offsets) - base;
    if (!any_outside(from, 0.f, 1.f)) return {int(base), 2, from};
    if (!any_outside(from, 0.f, 2.f)) return {int(base), 3, from};
    if (!any_outside(from, -1.f, 1.f)) return {int(base) - 1, 3, from + 1.f};
    float low = 0, high = 0;
    for (int i = 1; i < LANES; i++) {
        low = __builtin_fminf(low, __builtin_floorf(from[i]));
        high = __builtin_fmaxf(high, __builtin_floorf(from[i]));
    }
    if (high - low > MAX_SPAN - 2) return {0, MAX_SPAN + 1, from};
    return {int(base + low), int(high - low) + 2, from - low};
}

// Weights of LENGTH neighbours (0: any number).
template <int LENGTH>
PRC_INLINE Vector hat(Vector from_first, int neighbour) {
    if (LENGTH == 2) return neighbour ? from_first : 1.f - from_first;
    if (LENGTH == 3 && neighbour == 0) return positive(1.f - from_first);
    if (LENGTH == 3 && neighbour == 2) return positive(from_first - 1.f);
    const Vector distance = from_first - float(neighbour);
    return positive(1.f - (distance > -distance ? distance : -distance));
}
