// The input of a repetition that patches of pixels read. Part of kernel.h.
//
// A slice is a row of an image or a plane of a volume. Standardise + affine + tanh of the previous
// repetition happens while slices enter a window that slides over the image and stays in cache; the
// convolution overwrites the raw slices. So a repetition is one pass over memory. What continues the
// image beyond its border is in the window, too. Each thread of a team works on a band of slices;
// what it reads of its neighbours' bands is copied first.

struct Window {
    const Call &call;
    int slices, inner_rows;  // of the image, and of a slice
    int reach, margin;       // slices, and rows of a slice, that are read beyond the ones in work
    int step;                // slices in work at once
    bool far;                // offsets reach too far: all slices are kept, shared by the team
    int bands, first_own = 0, end_own = 0;
    ptrdiff_t plane, row_floats, slice_floats;  // from a channel, a row, a slice to the next
    int capacity, first = 0, filled = 0;        // of slices; those from `first` on are at hand
    float *buffer, *halo;

    Window(const Call &call, int reach, int rows, bool far, int bands)
        : call(call), reach(reach), far(far), bands(bands) {
        const bool volume = call.axes == 3;
        slices = volume ? call.depth : call.height;
        inner_rows = volume ? call.height : 1;
        margin = volume ? reach : 0;
        step = volume ? 1 : rows;
        plane = (call.width + LANES - 1) / LANES * LANES + 2 * reach;
        row_floats = plane * call.channels;
        slice_floats = row_floats * (inner_rows + 2 * margin);
        // With room for some more, those that are kept need not be moved at each step.
        const int more = volume || slices < 64 ? 0 : 2 * reach;
        capacity = far ? slices : smaller(2 * reach + step + more, slices + 2 * reach);
    }

    // What all threads need of a window that they share.
    size_t shared_floats() const { return far ? size_t(capacity) * slice_floats : 0; }

    void lay_out(Carver &carver) {
        buffer = carver.take<float>(far ? 0 : size_t(capacity) * slice_floats);
        // A single band has no neighbours.
        halo = carver.take<float>(far || bands == 1 ? 0 : size_t(reach) * slice_floats);
    }

    // Blocks of rows do not depend on the number of bands, so that no bit does.
    void set_band(int band, float *shared) {
        const int64_t blocks = (slices + step - 1) / step;
        first_own = smaller(slices, int(blocks * band / bands) * step);
        end_own = smaller(slices, int(blocks * (band + 1) / bands) * step);
        if (far) buffer = shared;
        // Margins stay zero from here on if the padding is zero.
        const size_t bytes = size_t(slice_floats) * sizeof(float);
        if (far) {
            __builtin_memset(slice(first_own), 0, size_t(end_own - first_own) * bytes);
        } else {
            __builtin_memset(buffer, 0, size_t(capacity) * bytes);
            if (bands > 1) __builtin_memset(halo, 0, size_t(reach) * bytes);
        }
    }

    PRC_INLINE float *slice(int index) const { return buffer + (index - first) * slice_floats; }
    // The first pixel of a row, in channel 0.
    PRC_INLINE float *at(int z, int y) const {
        if (call.axes == 2) return slice(y) + reach;
        return slice(z) + (y + margin) * row_floats + reach;
    }

    template <typename Fill>
    void fill_slice(int index, float *to, const Fill &fill) const {
        for (int i = 0; i < inner_rows; i++) {
            float *row = to + (i + margin) * row_floats + reach;
            fill(call.axes == 2 ? 0 : index, call.axes == 2 ? index : i, row);
            if (call.padding == ZEROS) continue;
            for (int c = 0; c < call.channels; c++, row += plane)
                for (int x = 1; x <= reach; x++) {
                    row[-x] = row[pad_index(-x, call.width, call.padding)];
                    row[call.width - 1 + x] =
                        row[pad_index(call.width - 1 + x, call.width, call.padding)];
                }
        }
        for (int i = 1; i <= margin && call.padding != ZEROS; i++) {
            copy_row(to, -i);
            copy_row(to, inner_rows - 1 + i);
        }
    }
    void copy_row(float *slice, int row) const {
        const int from = pad_index(row, inner_rows, call.padding);
        __builtin_memcpy(slice + (row + margin) * row_floats, slice + (from + margin) * row_floats,
                         size_t(row_floats) * sizeof(float));
    }

    // A slice beyond the border of the image.
    void continue_slice(int index) {
        const int from = pad_index(index, slices, call.padding);
        const size_t bytes = size_t(slice_floats) * sizeof(float);
        if (from < 0)
            __builtin_memset(slice(index), 0, bytes);
        else
            __builtin_memcpy(slice(index), slice(from), bytes);
    }

    // Before other threads overwrite what their bands have beside this one.
    template <typename Fill>
    void begin(const Fill &fill) {
        first = far ? 0 : first_own - reach;
        filled = first_own;
        for (int i = first_own; far && i < end_own; i++) fill_slice(i, slice(i), fill);
        if (far || first_own == end_own) return;
        for (int i = larger(first, 0); i < first_own; i++) fill_slice(i, slice(i), fill);
        for (int i = end_own; i < smaller(end_own + reach, slices); i++)
            fill_slice(i, halo + (i - end_own) * slice_floats, fill);
    }

    // Has at hand what `count` slices read from `index` on.
    template <typename Fill>
    void move_to(int index, int count, const Fill &fill) {
        if (far) return;
        const int end = index + count + reach;
        if (end - first > capacity) {
            const int kept = index - reach;
            __builtin_memmove(buffer, slice(kept),
                              size_t(filled - kept) * slice_floats * sizeof(float));
            first = kept;
        }
        for (; filled < end; filled++) {
            if (filled < end_own)
                fill_slice(filled, slice(filled), fill);
            else if (filled < slices)
                __builtin_memcpy(slice(filled), halo + (filled - end_own) * slice_floats,
                                 size_t(slice_floats) * sizeof(float));
            else
                continue_slice(filled);
        }
        for (int i = first; index == first_own && i < 0; i++) continue_slice(i);
    }
};
