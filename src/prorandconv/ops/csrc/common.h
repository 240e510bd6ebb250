// What the C interface (native.cpp) and the code compiled per instruction set (kernel.h) share.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace prorandconv {

constexpr int BLOCK = 16;  // neighbouring output pixels of a row whose operator is built together
constexpr int PART = 4;    // pixels of a block that share one list of source pixels
constexpr int PARTS = BLOCK / PART;
constexpr int MAX_BOX = 5;           // widest range of a tap's displacements that a block merges
constexpr int MAX_REACH = 16;        // farthest source pixel for which rows go through a window
constexpr float FAR_AWAY = 1 << 23;  // offsets are clamped to this, which counts as outside
constexpr int MAX_SIZE = 1 << 20;
constexpr int MAX_MODES = 16;  // along each axis; more are slower than planes that are made once
constexpr int MAX_SPAN = 8;    // most neighbours along an axis that a vector of pixels reads
constexpr int ROWS = 4;        // whose pixels are computed together, one tap after the other
constexpr int DEGREE = 4;      // of the polynomials that stand for offsets along a column
constexpr int MAX_ROWS = 16;   // that one polynomial serves
constexpr float POLYNOMIAL_ERROR = 4e-7f;  // pixels; rounding may add as much
constexpr int FEW_IMAGES = 4;  // so many with one draw are faster with pixels as lanes
constexpr int MAX_CHANNELS_OF_LANES = 3;  // for which images as lanes are compiled
constexpr int MAX_WEIGHTS = 1 << 26;  // each is kept once for every lane and indexed by an int
// Several groups are in work at once, and all blocks' operators kept, while they fit in the cache.
constexpr size_t MAX_BYTES_OF_GROUPS = size_t(16) << 20;
constexpr int64_t MAX_BYTES_OF_OPERATOR = int64_t(10) << 20;

enum Padding { ZEROS, REFLECT, REPLICATE };

// The last workspaces of a kind that were returned, kept for the next call: mapping fresh pages at
// each call costs as much as a repetition.
struct WorkspaceHeader;
enum WorkspaceUse { PLAN, IMAGES };
struct Workspaces {
    std::atomic<WorkspaceHeader *> kept[2]{};
};

// Polynomials in place of basis functions along a column: for every so many rows the differences of
// order 0 to DEGREE at the first one, (blocks, DEGREE + 1, modes), and last, each function's largest
// error (modes).
struct Polynomials {
    int rows;
    const float *differences;
};

// One call of the C interface. An image is a volume with a depth of 1 and displacements along two axes.
struct Call {
    const float *x;
    float *out;
    int64_t images;
    int channels, axes, depth, height, width;
    // (axes k^axes, [D,] H, W), or with modes, the coefficients (axes k^axes, modes[0], modes[1],
    // modes[2]) of basis functions (D, modes[0]), (H, modes[1]) and (W, modes[2]).
    const float *offsets;
    const float *basis[3];
    int modes[3];
    Polynomials polynomials[2];
    const float *weight;
    int kernel_size;
    const float *gamma, *beta;
    float eps;
    bool standardise, tanh;
    int64_t repeats;
    int padding;
    int threads;
    Workspaces *workspaces;

    int taps() const {
        return kernel_size * kernel_size * (axes == 3 ? kernel_size : 1);
    }
    int64_t pixels() const { return int64_t(depth) * height * width; }
    int64_t offsets_per_plane() const {
        return modes[2] ? int64_t(modes[0]) * modes[1] * modes[2] : pixels();
    }
};

// The same index for a position outside the image, or -1 where the padding is zero.
inline int pad_index(int i, int size, int padding) {
    if (i >= 0 && i < size) return i;
    if (padding == ZEROS) return -1;
    if (padding == REPLICATE || size == 1) return i < 0 ? 0 : size - 1;
    const int period = 2 * (size - 1);
    i %= period;
    if (i < 0) i += period;
    return i < size ? i : period - i;
}

// Lets the threads of a team wait for each other. Spins because the wait is short, yields because
// the machine may have fewer free cores than threads.
class Barrier {
  public:
    void wait(int members) {
        if (members == 1) return;
        const int round = round_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) == members - 1) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
        } else {
            for (int spins = 0; round_.load(std::memory_order_acquire) == round; spins++)
                relax(spins);
        }
    }

  private:
    static void relax(int spins);
    alignas(64) std::atomic<int> arrived_{0};
    std::atomic<int> round_{0};
};

// Hands out aligned pieces of one allocation. Laying out with memory = nullptr only measures.
struct Carver {
    char *memory = nullptr;
    size_t used = 0;
    template <typename T>
    T *take(size_t count) {
        T *piece = memory ? reinterpret_cast<T *>(memory + used) : nullptr;
        used += (count * sizeof(T) + 63) / 64 * 64;
        return piece;
    }
};

// A workspace of at least this many bytes, or nullptr.
char *acquire_workspace(size_t bytes, Workspaces &workspaces, WorkspaceUse use);
void release_workspace(char *workspace, Workspaces &workspaces, WorkspaceUse use);

// Runs task(argument, thread, threads) on up to `threads` threads at once.
using Task = void (*)(void *argument, int thread, int threads);
void run_parallel(int threads, Task task, void *argument);

enum Status { OK = 0, OUT_OF_MEMORY = 1, UNSUPPORTED = 2 };

}  // namespace prorandconv
