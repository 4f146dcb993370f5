/* The C interface of an allocator, call by call. Runs on the C library's malloc too: what is asked of ours alone is
 * asked where `ours` is set. */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <string.h>

static bool ours;
static uint64_t seed = 1;

/* Sizes beyond which there is no object. Volatile, so that the compiler does not object to asking for one. */
static volatile size_t too_large[] = {(size_t)PTRDIFF_MAX + 1, SIZE_MAX / 2 + 2, SIZE_MAX - 4096, SIZE_MAX - 15, SIZE_MAX - 1, SIZE_MAX};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_aligned(const void *block, size_t align) { return (uintptr_t)block % align == 0; }

static size_t alignment_of_size(size_t size) { return size <= 8 ? 8 : 16; }

static void fill(void *block, size_t bytes, unsigned cookie) { memset(block, (int)(cookie & 255), bytes); }

static bool is_filled(const void *block, size_t bytes, unsigned cookie) {
    const unsigned char *at = block;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != (cookie & 255)) return false;
    return true;
}

static void nothing_is_something(void) {
    enum { N = 200 };
    void *blocks[N];
    for (int i = 0; i < N; i++) {
        blocks[i] = i % 2 ? malloc(0) : calloc(i % 4 ? 0 : 7, i % 4 ? 7 : 0);
        CHECK(blocks[i] != NULL);
        for (int j = 0; j < i; j++) CHECK(blocks[i] != blocks[j]);
    }
    for (int i = 0; i < N; i++) free(blocks[i]);
    free(NULL);
    CHECK(malloc_usable_size(NULL) == 0);
}

static void every_block_is_aligned_and_all_of_it_is_usable(void) {
    enum { N = 6000 };
    static void *blocks[N];
    static size_t usable[N];
    for (int i = 0; i < N; i++) {
        size_t size = i < 5000 ? (size_t)i : (size_t)chance(&seed) % (1 << 18);
        blocks[i] = malloc(size);
        CHECK(blocks[i] != NULL);
        CHECK(is_aligned(blocks[i], alignment_of_size(size)));
        usable[i] = malloc_usable_size(blocks[i]);
        CHECK(usable[i] >= size);
        fill(blocks[i], usable[i], (unsigned)i);
    }
    for (int i = 0; i < N; i++) {
        CHECK(is_filled(blocks[i], usable[i], (unsigned)i));
        CHECK(malloc_usable_size(blocks[i]) == usable[i]);
    }
    for (int i = 0; i < N; i += 2) free(blocks[i]);
    for (int i = 1; i < N; i += 2) {
        CHECK(is_filled(blocks[i], usable[i], (unsigned)i));
        free(blocks[i]);
    }
    for (size_t size = 1 << 16; size <= (size_t)1 << 28; size = size * 3 / 2) {
        char *block = malloc(size);
        CHECK(block != NULL && is_aligned(block, 16));
        CHECK(malloc_usable_size(block) >= size);
        block[0] = block[size / 2] = block[size - 1] = 1;
        free(block);
    }
}

static void what_is_too_large_fails(void) {
    for (size_t i = 0; i < COUNT(too_large); i++) {
        size_t size = too_large[i];
        errno = 0;
        CHECK(malloc(size) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(calloc(1, size) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(calloc(size, 1) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(realloc(NULL, size) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(aligned_alloc(64, size) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(memalign(4096, size) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(valloc(size) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(pvalloc(size) == NULL && errno == ENOMEM);
    }
    volatile size_t half = PTRDIFF_MAX;
    errno = 0;
    CHECK(malloc(half) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(malloc(half - 4096) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(malloc((size_t)1 << 50) == NULL && errno == ENOMEM);
    /* And all is well afterwards. */
    void *block = malloc(100);
    CHECK(block != NULL);
    free(block);
}

static void products_overflow(void) {
    static volatile size_t factors[][2] = {
        {SIZE_MAX, 2}, {2, SIZE_MAX}, {SIZE_MAX / 2, 3}, {(size_t)1 << 32, (size_t)1 << 32}, {SIZE_MAX, SIZE_MAX}, {SIZE_MAX / 16 + 1, 16}};
    for (size_t i = 0; i < COUNT(factors); i++) {
        size_t count = factors[i][0], size = factors[i][1];
        errno = 0;
        CHECK(calloc(count, size) == NULL && errno == ENOMEM);
        char *block = malloc(50);
        fill(block, 50, 9);
        errno = 0;
        CHECK(reallocarray(block, count, size) == NULL && errno == ENOMEM);
        CHECK(is_filled(block, 50, 9));
        free(block);
    }
    char *block = reallocarray(NULL, 7, 100);
    CHECK(block != NULL && malloc_usable_size(block) >= 700);
    fill(block, 700, 3);
    block = reallocarray(block, 1000, 100);
    CHECK(block != NULL && malloc_usable_size(block) >= 100000 && is_filled(block, 700, 3));
    free(block);
}

static void calloc_is_zero(void) {
    for (int round = 0; round < 4; round++) {
        for (size_t size = 1; size < (size_t)1 << 24; size = size * 5 / 3 + 1) {
            void *blocks[4];
            for (int i = 0; i < 4; i++) {
                blocks[i] = malloc(size);
                fill(blocks[i], malloc_usable_size(blocks[i]), 0xa5);
            }
            for (int i = 0; i < 4; i++) free(blocks[i]);
            for (int i = 0; i < 4; i++) {
                blocks[i] = calloc(1, size);
                CHECK(blocks[i] != NULL && is_aligned(blocks[i], alignment_of_size(size)));
                CHECK(is_filled(blocks[i], size, 0));
                fill(blocks[i], malloc_usable_size(blocks[i]), 0x5a);
            }
            for (int i = 0; i < 4; i++) free(blocks[i]);
        }
        malloc_trim(0);
    }
}

static void realloc_keeps_contents(void) {
    errno = 5;
    void *empty = realloc(NULL, 0);
    CHECK(empty != NULL);
    CHECK(realloc(empty, 0) == NULL && errno == 5);
    for (int round = 0; round < 300; round++) {
        size_t size = 1 + chance(&seed) % 64;
        unsigned char *block = malloc(size);
        unsigned cookie = chance(&seed);
        fill(block, size, cookie);
        for (int step = 0; step < 24; step++) {
            size_t next = 1 + chance(&seed) % (step % 6 == 5 ? 1 << 22 : step % 2 ? 1 << 14 : 600);
            unsigned char *moved = realloc(block, next);
            CHECK(moved != NULL && is_aligned(moved, alignment_of_size(next)));
            CHECK(malloc_usable_size(moved) >= next);
            CHECK(is_filled(moved, size < next ? size : next, cookie));
            cookie = chance(&seed);
            fill(moved, malloc_usable_size(moved), cookie);
            block = moved;
            size = next;
        }
        for (size_t i = 0; i < COUNT(too_large); i++) {
            errno = 0;
            CHECK(realloc(block, too_large[i]) == NULL && errno == ENOMEM);
        }
        CHECK(is_filled(block, size, cookie));
        free(block);
    }
    /* By ones, as strings grow. */
    char *text = NULL;
    for (size_t size = 1; size < 20000; size++) {
        text = realloc(text, size);
        CHECK(text != NULL);
        text[size - 1] = (char)size;
    }
    for (size_t size = 1; size < 20000; size++) CHECK(text[size - 1] == (char)size);
    free(text);
    /* A large block that becomes small gives its memory back. */
    char *large = malloc(100 << 20);
    CHECK(large != NULL);
    fill(large, 100, 8);
    large = realloc(large, 100);
    CHECK(large != NULL && is_filled(large, 100, 8));
    if (ours) CHECK(malloc_usable_size(large) < 4096);
    free(large);
}

static void check_aligned(void *block, size_t align, size_t size, unsigned cookie) {
    CHECK(block != NULL);
    CHECK(is_aligned(block, align));
    CHECK(is_aligned(block, alignment_of_size(size)));
    CHECK(malloc_usable_size(block) >= size);
    fill(block, malloc_usable_size(block), cookie);
}

static void blocks_have_the_alignment_asked_for(void) {
    static const size_t sizes[] = {0, 1, 8, 9, 24, 40, 100, 1000, 4095, 4097, 70000, 1 << 20, 5 << 20};
    enum { N = 3 * COUNT(sizes) };
    for (size_t align = 1; align <= (size_t)8 << 20; align *= 2) {
        void *blocks[N];
        for (unsigned i = 0; i < COUNT(sizes); i++) {
            void **at = &blocks[3 * i];
            at[0] = aligned_alloc(align, sizes[i]);
            check_aligned(at[0], align, sizes[i], 3 * i);
            at[1] = memalign(align, sizes[i]);
            check_aligned(at[1], align, sizes[i], 3 * i + 1);
            CHECK(posix_memalign(&at[2], align < 8 ? 8 : align, sizes[i]) == 0);
            check_aligned(at[2], align, sizes[i], 3 * i + 2);
        }
        for (unsigned i = 0; i < N; i++) CHECK(is_filled(blocks[i], malloc_usable_size(blocks[i]), i));
        for (unsigned i = 0; i < N; i++) {
            size_t size = sizes[i / 3];
            if (i % 2) {
                blocks[i] = realloc(blocks[i], size * 2 + 1);
                CHECK(blocks[i] != NULL && is_filled(blocks[i], size, i));
            }
            free(blocks[i]);
        }
    }
    /* Blocks that are aligned without being asked for, among those that are asked to be. */
    for (int i = 0; i < 2000; i++) {
        size_t align = (size_t)1 << chance(&seed) % 14, size = chance(&seed) % 3000;
        void *block = aligned_alloc(align, size);
        check_aligned(block, align, size, 1);
        if (i % 3) free(block);
    }
}

static void odd_alignments(void) {
    static volatile size_t odd[] = {0, 3, 5, 6, 7, 9, 12, 24, 48, 100, 4097};
    for (size_t i = 0; i < COUNT(odd); i++) {
        size_t power = 1;
        while (power < odd[i]) power *= 2;
        void *block = memalign(odd[i], 100);
        check_aligned(block, power, 100, 1);
        free(block);
        if (ours) {
            errno = 0;
            CHECK(aligned_alloc(odd[i], 100) == NULL && errno == EINVAL);
        }
    }
    volatile size_t beyond = SIZE_MAX / 2 + 2;
    errno = 0;
    CHECK(memalign(beyond, 1) == NULL && errno == EINVAL);
    /* Alignments that nobody has: refused in good order. */
    for (unsigned shift = 48; shift < 64; shift++) {
        volatile size_t align = (size_t)1 << shift;
        errno = 0;
        CHECK(memalign(align, 100) == NULL && errno == ENOMEM);
        void *out = &out;
        CHECK(posix_memalign(&out, align, 100) == ENOMEM && out == &out);
    }
    for (unsigned shift = 24; shift < 48; shift++) {
        size_t align = (size_t)1 << shift;
        errno = 0;
        void *block = memalign(align, 100);
        CHECK(block == NULL ? errno == ENOMEM : is_aligned(block, align));
        if (block != NULL) fill(block, 100, 1);
        free(block);
    }
}

static void posix_memalign_checks_and_keeps_errno(void) {
    static volatile size_t wrong[] = {0, 1, 2, 4, 3, 6, 7, 9, 12, 24, 40, 4095, SIZE_MAX};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        void *out = &out;
        errno = 77;
        CHECK(posix_memalign(&out, wrong[i], 100) == EINVAL);
        CHECK(out == &out && errno == 77);
    }
    for (size_t i = 0; i < COUNT(too_large); i++) {
        void *out = &out;
        errno = 77;
        CHECK(posix_memalign(&out, 64, too_large[i]) == ENOMEM);
        CHECK(out == &out && (!ours || errno == 77));
    }
}

static void whole_pages(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t size = 0; size < 5 * page; size += 501) {
        void *block = valloc(size);
        check_aligned(block, page, size, 1);
        free(block);
        block = pvalloc(size);
        check_aligned(block, page, (size + page - 1) / page * page, 1);
        free(block);
    }
}

static void free_keeps_errno(void) {
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1; size <= (size_t)1 << 29; size = size * 3 + 7) {
            errno = 42;
            char *block = malloc(size);
            CHECK(block != NULL && (!ours || errno == 42));
            block[size - 1] = 1;
            errno = 43;
            free(block);
            CHECK(errno == 43);
        }
    }
}

/* Names that the C library here may not have yet, or has no more. */
static void newer_and_older_names(void) {
    void (*sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    void (*aligned_sized)(void *, size_t, size_t) = (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
    void (*old)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "cfree");
    CHECK(!ours || (sized && aligned_sized && old));
    for (size_t size = 0; size < 300; size += 7) {
        if (sized) sized(malloc(size), size);
        if (aligned_sized) aligned_sized(aligned_alloc(64, size), 64, size);
        if (old) old(calloc(1, size));
    }
    if (sized) sized(NULL, 10);
    if (aligned_sized) aligned_sized(NULL, 64, 10);
}

/* Blocks that the C library allocates and the program frees, and the other way round. */
static void the_library_uses_the_same(void) {
    char *copy = strdup("a string that is long enough not to fit into the smallest block");
    CHECK(copy != NULL && malloc_usable_size(copy) > strlen(copy));
    free(copy);
    char *text = NULL;
    CHECK(asprintf(&text, "%0500d", 7) == 500);
    text = realloc(text, 5000);
    CHECK(text != NULL && strlen(text) == 500);
    free(text);
    char *data = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&data, &bytes);
    CHECK(stream != NULL);
    for (int i = 0; i < 10000; i++) fprintf(stream, "%d\n", i);
    CHECK(fclose(stream) == 0 && bytes == 48890);
    stream = fmemopen(data, bytes, "r");
    size_t room = 1, lines = 0;
    char *line = malloc(room);
    while (getline(&line, &room, stream) > 0) CHECK(atoi(line) == (int)lines++);
    CHECK(lines == 10000);
    fclose(stream);
    free(line);
    free(data);
    free(realpath("/usr/../usr", NULL));
}

static void reports(void) {
    CHECK(mallopt(M_TRIM_THRESHOLD, 1 << 20) == 1);
    int trimmed = malloc_trim(0);
    CHECK(trimmed == 0 || trimmed == 1);
    struct mallinfo2 before = mallinfo2();
    enum { N = 1000, SIZE = 3000 };
    static char *blocks[N];
    for (int i = 0; i < N; i++) blocks[i] = malloc(SIZE);
    struct mallinfo2 after = mallinfo2();
    CHECK(after.uordblks >= before.uordblks + N * SIZE);
    CHECK(after.arena + after.hblkhd >= after.uordblks);
    CHECK(after.fordblks <= after.arena);
    for (int i = 0; i < N; i++) free(blocks[i]);
    CHECK(mallinfo2().uordblks + N * SIZE <= after.uordblks);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    struct mallinfo narrow = mallinfo();
    CHECK(narrow.arena >= 0 && narrow.uordblks >= 0 && narrow.fordblks >= 0);
    malloc_stats();
}

int main(int argc, char **argv) {
    ours = argc > 1 && strcmp(argv[1], "ours") == 0;
    CHECK(ours == (dlsym(RTLD_DEFAULT, "sleepy_idle_start") != NULL));
    nothing_is_something();
    every_block_is_aligned_and_all_of_it_is_usable();
    what_is_too_large_fails();
    products_overflow();
    calloc_is_zero();
    realloc_keeps_contents();
    blocks_have_the_alignment_asked_for();
    odd_alignments();
    posix_memalign_checks_and_keeps_errno();
    whole_pages();
    free_keeps_errno();
    newer_and_older_names();
    the_library_uses_the_same();
    reports();
    puts("all is well");
    return 0;
}
