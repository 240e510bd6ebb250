/* Counts the bytes that a process has asked for and not yet freed, and the most there ever were.

   Preloaded (see memory.py), these functions replace glibc's, which do the work. Each block has a
   header with the size asked for: what glibc really sets aside depends on chance and is larger,
   by megabytes for a block aligned to huge pages. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void __libc_free(void *);

typedef struct {
  void *base;
  size_t size;
} Header;

static atomic_long live, highest;

static void *counted(char *base, size_t size, size_t alignment) {
  if (!base) return NULL;
  uintptr_t place = (uintptr_t)base + sizeof(Header);
  place = (place + alignment - 1) / alignment * alignment;
  ((Header *)place)[-1] = (Header){base, size};
  long now = atomic_fetch_add(&live, (long)size) + (long)size, high = atomic_load(&highest);
  while (now > high && !atomic_compare_exchange_weak(&highest, &high, now)) {
  }
  return (void *)place;
}

void *malloc(size_t size) {
  return counted(size > PTRDIFF_MAX ? NULL : __libc_malloc(size + sizeof(Header)), size, 16);
}

void *calloc(size_t count, size_t each) {
  size_t size;
  if (__builtin_mul_overflow(count, each, &size) || size > PTRDIFF_MAX) return NULL;
  return counted(__libc_calloc(1, size + sizeof(Header)), size, 16);
}

void free(void *block) {
  if (!block) return;
  Header header = ((Header *)block)[-1];
  atomic_fetch_sub(&live, (long)header.size);
  __libc_free(header.base);
}

void *realloc(void *block, size_t size) {
  void *moved = malloc(size);
  if (block && moved) {
    size_t before = ((Header *)block)[-1].size;
    memcpy(moved, block, before < size ? before : size);
    free(block);
  }
  return moved;
}

void *memalign(size_t alignment, size_t size) {
  if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX) return NULL;
  if (alignment < 16) alignment = 16;
  return counted(__libc_malloc(size + alignment + sizeof(Header)), size, alignment);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
  void *found = memalign(alignment, size);
  if (!found) return ENOMEM;
  *block = found;
  return 0;
}

void *valloc(size_t size) { return memalign(4096, size); }
void *pvalloc(size_t size) { return memalign(4096, (size + 4095) / 4096 * 4096); }
size_t malloc_usable_size(void *block) { return block ? ((Header *)block)[-1].size : 0; }

long allocations_live(void) { return atomic_load(&live); }
long allocations_highest(void) { return atomic_load(&highest); }
void allocations_restart(void) { atomic_store(&highest, atomic_load(&live)); }
