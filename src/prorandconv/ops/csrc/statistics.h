// Mean and variance of an image, and the affine map that follows from them. Part of kernel.h.
//
// Each row has three numbers: a pivot near its pixels, which keeps the variance exact where the
// mean is large, and the sums of the differences to it and of their squares.

PRC_INLINE void read(const float *p, double &v) { v = double(*p); }
PRC_INLINE void read(const float *p, Wide &v) { v = load_wide(p); }

// Joins the rows' statistics (height, 3, stride): one channel, or some lanes at once.
template <typename Number>
PRC_INLINE void join_rows(const float *row, ptrdiff_t stride, int rows, int pixels,
                          Number &average, Number &variance) {
    const double width = 1. / pixels, height = 1. / rows;
    Number pivot, row_pivot, row_sum, row_squares, sum{}, squares{}, within{};
    read(row, row_pivot);
    read(row + stride, row_sum);
    pivot = row_pivot + row_sum * width;
    for (int y = 0; y < rows; y++, row += 3 * stride) {
        read(row, row_pivot);
        read(row + stride, row_sum);
        read(row + 2 * stride, row_squares);
        const Number d = row_pivot + row_sum * width - pivot;
        sum += d;
        squares += d * d;
        within += row_squares - row_sum * row_sum * width;
    }
    average = pivot + sum * height;
    variance = (within * width + (squares - sum * sum * height)) * height;
}

// Standardises and applies gamma and beta, scaled for tanh_of_scaled: (z - mean) * scale + shift.
struct Affine {
    float mean, scale, shift;
};
PRC_INLINE Affine affine_of(const Call &call, double average, double variance, int channel) {
    const double v = variance > 0 || variance != variance ? variance : 0;
    const double deviation = call.standardise ? __builtin_sqrt(v + call.eps) : 1;
    const double a = (call.gamma ? call.gamma[channel] : 1.f) / deviation;
    const double b = call.beta ? call.beta[channel] : 0.f;
    const double unit = call.tanh ? TANH_SCALE : 1;
    return {float(average), float(a * unit), float(b * unit)};
}
