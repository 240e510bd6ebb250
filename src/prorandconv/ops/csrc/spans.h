// Which neighbours a vector of pixels reads where its offsets are smooth, and interpolation between
// them. Part of kernel.h.

// The neighbours along an axis that a tap reads for a vector of pixels, and where between them the
// pixels fall, from the first neighbour on.
struct Span {
    int first, length;
    Vector from_first;
};

// The span of offsets from `base` on.
PRC_INLINE Span span_of(Vector from, int base) {
    float low = __builtin_floorf(from[0]), high = low;
    for (int i = 1; i < LANES; i++) {
        low = __builtin_fminf(low, __builtin_floorf(from[i]));
        high = __builtin_fmaxf(high, __builtin_floorf(from[i]));
    }
    if (!(high - low <= MAX_SPAN - 2)) return {0, MAX_SPAN + 1, from};
    return {base + int(low), int(high - low) + 2, from - low};
}

// Whether `from` is within two neighbours, or else within three: then it becomes what is left from
// `first` on.
PRC_INLINE bool is_short(Vector &from, int &first, bool &is_long) {
    const float floor = __builtin_floorf(from[0]);
    first += int(floor);
    from -= floor;
    is_long = any_outside(from, 0.f, 1.f);
    if (!is_long || !any_outside(from, 0.f, 2.f)) return true;
    from += 1.f;
    first -= 1;
    return !any_outside(from, 0.f, 2.f);
}

// Linear interpolation weight of a neighbour.
PRC_INLINE Vector weight_of(Vector from_first, int neighbour) {
    const Vector distance = from_first - float(neighbour);
    return positive(1.f - (distance > -distance ? distance : -distance));
}

// Loads once what is used twice: compilers would rather load it again, which costs more.
PRC_INLINE Vector load_once(const float *p) {
    Vector v = load(p);
#if defined(__x86_64__)
    asm("" : "+v"(v));
#endif
    return v;
}

// Interpolates between two neighbours along each of some axes, the last of which is along a row, or
// between three along the axes with a bit in LONG, the first axis with the highest. `step` leads to
// the next neighbour along the others; `at` is where from the first neighbour on.
template <int AXES, int LONG>
PRC_INLINE Vector interpolate(const float *p, const ptrdiff_t *step, const Vector *at) {
    constexpr bool is_long = LONG >> (AXES - 1) & 1;
    constexpr int REST = LONG & ((1 << (AXES - 1)) - 1);
    Vector value[3];
#pragma GCC unroll 3
    for (int i = 0; i < 2 + is_long; i++) {
        if constexpr (AXES == 1)
            value[i] = i == 0 && !is_long ? load_once(p) : load(p + i);
        else
            value[i] = interpolate<AXES - 1, REST>(p + i * *step, step + 1, at + 1);
    }
    if constexpr (is_long) {
        const Vector before = positive(1.f - *at), after = positive(*at - 1.f);
        return before * value[0] + (1.f - before - after) * value[1] + after * value[2];
    } else {
        return value[0] + *at * (value[1] - value[0]);
    }
}
