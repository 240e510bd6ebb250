// The rows that a repetition reads. Part of kernel.h.
//
// Standardise + affine + tanh of the previous repetition happens while rows enter a ring that stays
// in cache; the convolution overwrites the raw rows. So a repetition is one pass over memory. Each
// thread of a team works on a band of rows; what it reads of its neighbours' bands is copied first.

struct Rows {
    int height, padding;
    int top, bottom;  // how far rows are read above and below the row in work
    bool whole;       // offsets reach too far for a ring: all rows are kept, shared by the team
    int bands, y0, y1;
    int ring_rows, halo_top, halo_bottom;
    ptrdiff_t row_floats, margin;  // floats of a row, and those before its first pixel
    float *ring, *halo, *zeros;
    float *shared;  // [height][row_floats] if whole

    void lay_out(Carver &carver) {
        const size_t rows = whole ? 0 : size_t(top + bottom + 1);
        ring = carver.take<float>(rows * row_floats);
        // A single band has no neighbours.
        halo = carver.take<float>(bands > 1 ? rows * row_floats : 0);
        zeros = carver.take<float>(size_t(row_floats));
    }

    void set_band(int band, int bands) {
        this->bands = bands;
        y0 = int(int64_t(height) * band / bands);
        y1 = int(int64_t(height) * (band + 1) / bands);
        halo_top = smaller(top, y0);
        halo_bottom = smaller(bottom, height - y1);
        ring_rows = smaller(top + bottom + 1, y1 - y0);
    }

    // Margins stay zero from here on if the padding is zero.
    void clear() {
        __builtin_memset(
            ring, 0,
            size_t(reinterpret_cast<char *>(zeros + row_floats) - reinterpret_cast<char *>(ring)));
        if (whole)
            __builtin_memset(shared + y0 * row_floats, 0,
                             size_t(y1 - y0) * row_floats * sizeof(float));
    }

    // Row y of the convolution's input; y may be outside the image.
    PRC_INLINE const float *source(int y) const {
        y = pad_index(y, height, padding);
        return y < 0 ? zeros + margin : input(y);
    }
    PRC_INLINE float *input(int y) const {
        float *row = whole     ? shared + y * row_floats
                     : y < y0  ? halo + (y - y0 + halo_top) * row_floats
                     : y >= y1 ? halo + (y - y1 + halo_top) * row_floats
                               : ring + y % ring_rows * row_floats;
        return row + margin;
    }

    // A band's share of all repetitions: worker has fill_row(repeat, y), convolve_row(y) and
    // compute_contrast().
    template <typename Worker>
    void run(Worker &worker, Barrier &barrier, int64_t repeats) const {
        for (int64_t repeat = 0; repeat < repeats; repeat++) {
            const int before = whole ? y0 : y0 - halo_top, after = whole ? y1 : y1 + halo_bottom;
            for (int y = before; y < after; y++)
                if (whole || y < y0 || y >= y1) worker.fill_row(repeat, y);
            barrier.wait(bands);
            int filled = whole ? y1 : y0;
            for (int y = y0; y < y1; y++) {
                for (; filled < y1 && filled <= y + bottom; filled++)
                    worker.fill_row(repeat, filled);
                worker.convolve_row(y);
            }
            barrier.wait(bands);
            worker.compute_contrast();
        }
    }
};
