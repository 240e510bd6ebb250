// Vectors of PRC_LANES floats in the compiler's own notation, tanh and transposition. Part of
// kernel.h.

#define PRC_INLINE inline __attribute__((always_inline))
#define PRC_NOINLINE __attribute__((noinline))

constexpr int LANES = PRC_LANES;
constexpr int PIXELS = LANES == 16 ? 32 : 16;  // whose offsets are made at once

typedef float Vector __attribute__((vector_size(4 * LANES)));
typedef int IntVector __attribute__((vector_size(4 * LANES)));

PRC_INLINE Vector load(const float *p) {
    Vector v;
    __builtin_memcpy(&v, p, sizeof(v));
    return v;
}
PRC_INLINE void store(float *p, Vector v) { __builtin_memcpy(p, &v, sizeof(v)); }
// Doubles of half as many lanes, as wide as a Vector: to pass wider ones needs other registers.
typedef float Half __attribute__((vector_size(2 * LANES)));
typedef double Wide __attribute__((vector_size(4 * LANES)));
constexpr int WIDE_LANES = LANES / 2;
PRC_INLINE Wide load_wide(const float *p) {
    Half v;
    __builtin_memcpy(&v, p, sizeof(v));
    return __builtin_convertvector(v, Wide);
}
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
// max(v, 0), and 0 for NaN.
PRC_INLINE Vector positive(Vector v) {
#if PRC_LANES == 8
    return (Vector)_mm256_max_ps((__m256)v, _mm256_setzero_ps());
#elif PRC_LANES == 16
    return (Vector)_mm512_max_ps((__m512)v, _mm512_setzero_ps());
#else
    return v > 0.f ? v : Vector{};
#endif
}
// Whether any v is not in [low, high).
PRC_INLINE bool any_outside(Vector v, float low, float high) {
#if PRC_LANES == 16
    return _mm512_cmp_ps_mask((__m512)v, (__m512)splat(low), _CMP_NGE_UQ) |
           _mm512_cmp_ps_mask((__m512)v, (__m512)splat(high), _CMP_NLT_UQ);
#elif PRC_LANES == 8
    return _mm256_movemask_ps(
        _mm256_or_ps(_mm256_cmp_ps((__m256)v, (__m256)splat(low), _CMP_NGE_UQ),
                     _mm256_cmp_ps((__m256)v, (__m256)splat(high), _CMP_NLT_UQ)));
#else
    int outside = 0;
    for (int i = 0; i < LANES; i++) outside |= !(v[i] >= low && v[i] < high);
    return outside;
#endif
}
PRC_INLINE Vector load_some(const float *p, int count) {
    Vector v{};
    __builtin_memcpy(&v, p, size_t(count) * sizeof(float));
    return v;
}
PRC_INLINE void store_some(float *p, Vector v, int count) {
    __builtin_memcpy(p, &v, size_t(count) * sizeof(float));
}
PRC_INLINE IntVector counted() {  // 0, 1, 2, ...
    IntVector v;
    for (int i = 0; i < LANES; i++) v[i] = i;
    return v;
}
PRC_INLINE float sum_of(Vector v) {
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) v[i] += v[i + half];
    return v[0];
}
PRC_INLINE int absolute(int a) { return a < 0 ? -a : a; }
PRC_INLINE int smaller(int a, int b) { return a < b ? a : b; }
PRC_INLINE int larger(int a, int b) { return a > b ? a : b; }

// tanh(z) for z = u / (2 log2 e): 1 - 2 / (1 + 2^u), |error| < 2e-7. 2^u is a polynomial for the
// fractional part and an addition to the exponent's bits for the integer part. NaN stays NaN.
// Several vectors side by side, step by step, because the chain of one is all latency.
constexpr double TANH_SCALE = 2 * 1.4426950408889634;
template <int N>
PRC_INLINE void tanh_of_scaled(Vector (&u)[N]) {
    const float round = 12582912.f;  // 1.5 * 2^23: adding it leaves no fractional bits
    Vector f[N], p[N];
#define PRC_EACH _Pragma("GCC unroll 4") for (int i = 0; i < N; i++)
    PRC_EACH u[i] = clamp(u[i], 64.f);
    PRC_EACH p[i] = u[i] + round;
    PRC_EACH f[i] = u[i] - (p[i] - round);
    PRC_EACH u[i] = p[i];
    PRC_EACH p[i] = f[i] * 1.32764713e-3f + 9.67554096e-3f;
    PRC_EACH p[i] = p[i] * f[i] + 5.55071309e-2f;
    PRC_EACH p[i] = p[i] * f[i] + 2.40221202e-1f;
    PRC_EACH p[i] = p[i] * f[i] + 6.93146944e-1f;
    PRC_EACH p[i] = p[i] * f[i] + 1.00000012f;
    PRC_EACH u[i] = 1.f - 2.f / (1.f + (Vector)((IntVector)p[i] + ((IntVector)u[i] << 23)));
#undef PRC_EACH
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
