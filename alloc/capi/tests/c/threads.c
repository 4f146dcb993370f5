/* Threads that come and go, free each other's blocks, fork, are cancelled, and load libraries meanwhile. The argument
 * names the scenario; see `main`. */
#define _GNU_SOURCE
#include "check.h"
#define SLEEPY_MALLOC_OPTIONAL
#include "sleepy_malloc.h"
#include <dlfcn.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

enum { THREADS = 4, SLOTS = 512 };

/* A block says how large it is, and holds a cookie everywhere else. */
typedef struct {
    uint32_t words;
    uint32_t cookie;
    uint32_t rest[];
} Block;

static Block *make(uint64_t *state) {
    uint32_t roll = chance(state);
    uint32_t words = roll % 100 ? chance(state) % 60 : roll % 1000 ? chance(state) % 2000 : chance(state) % 100000;
    Block *block = malloc(sizeof(Block) + words * sizeof(uint32_t));
    CHECK(block != NULL);
    block->words = words;
    block->cookie = chance(state);
    for (uint32_t i = 0; i < words; i++) block->rest[i] = block->cookie + i;
    return block;
}

static void destroy(Block *block) {
    for (uint32_t i = 0; i < block->words; i++) CHECK(block->rest[i] == block->cookie + i);
    block->cookie = 0;
    free(block);
}

static _Atomic(Block *) slots[SLOTS];
static atomic_bool stop;

static void churn(uint64_t *state, int times) {
    for (int i = 0; i < times; i++) {
        Block *taken = atomic_exchange(&slots[chance(state) % SLOTS], chance(state) % 4 ? make(state) : NULL);
        if (taken == NULL) continue;
        if (chance(state) % 8 == 0) {
            uint32_t words = chance(state) % 300;
            Block *moved = realloc(taken, sizeof(Block) + words * sizeof(uint32_t));
            CHECK(moved != NULL);
            for (uint32_t at = moved->words; at < words; at++) moved->rest[at] = moved->cookie + at;
            moved->words = words;
            taken = moved;
        }
        destroy(taken);
    }
}

static void empty_slots(void) {
    for (int i = 0; i < SLOTS; i++) {
        Block *block = atomic_exchange(&slots[i], NULL);
        if (block != NULL) destroy(block);
    }
}

static void *churner(void *seed) {
    uint64_t state = (uintptr_t)seed;
    churn(&state, 200000);
    return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), uintptr_t argument) {
    CHECK(pthread_create(thread, NULL, run, (void *)argument) == 0);
}

static void cross(void) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) start(&threads[i], churner, i + 1);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    empty_slots();
}

/* Each thread lives for a few blocks, which outlive it. */
static void *short_lived(void *seed) {
    uint64_t state = (uintptr_t)seed;
    churn(&state, 30);
    return NULL;
}

static void come_and_go(void) {
    for (uintptr_t round = 0; round < 600; round++) {
        pthread_t threads[THREADS];
        for (uintptr_t i = 0; i < THREADS; i++) start(&threads[i], short_lived, round * THREADS + i);
        for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    }
    empty_slots();
}

/* Thread-specific data beyond the 32 keys that fit into a thread's own record, with destructors that go on allocating. */
enum { KEYS = 60 };
static pthread_key_t keys[KEYS];
static atomic_int destroyed;

static void late(void *block) {
    destroy(block);
    uint64_t state = (uintptr_t)block;
    for (int i = 0; i < 20; i++) destroy(make(&state));
    /* Kept past the thread's end. */
    churn(&state, 2);
    atomic_fetch_add(&destroyed, 1);
}

static void *with_keys(void *seed) {
    uint64_t state = (uintptr_t)seed;
    for (int i = KEYS - 1; i >= 0; i--) CHECK(pthread_setspecific(keys[i], make(&state)) == 0);
    if (sleepy_idle_start && (uintptr_t)seed % 2) sleepy_idle_start();
    return NULL;
}

static void specific_data(void) {
    for (int i = 0; i < KEYS; i++) CHECK(pthread_key_create(&keys[i], late) == 0);
    for (uintptr_t round = 0; round < 50; round++) {
        pthread_t threads[THREADS];
        for (uintptr_t i = 0; i < THREADS; i++) start(&threads[i], with_keys, round * THREADS + i);
        for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(destroyed == 50 * THREADS * KEYS);
    empty_slots();
}

/* Forks while other threads are in the middle of anything; a child uses what it inherits, and threads of its own. */
static void *until_stopped(void *seed) {
    uint64_t state = (uintptr_t)seed;
    while (!atomic_load(&stop)) {
        churn(&state, 200);
        if (sleepy_idle_start) {
            sleepy_idle_start();
            if ((uintptr_t)seed % 2) poll(NULL, 0, 1);
            sleepy_idle_end();
        }
    }
    return NULL;
}

static void child(uint64_t seed) {
    alarm(60);
    /* A slot's block may be in another thread's hands just now, in the parent; what is in a slot is whole. */
    churn(&seed, 3000);
    pthread_t thread;
    start(&thread, churner, seed | 1);
    churn(&seed, 3000);
    CHECK(pthread_join(thread, NULL) == 0);
    empty_slots();
    if (sleepy_idle_start) {
        sleepy_idle_start();
        poll(NULL, 0, 1);
        sleepy_idle_end();
    }
    /* And a child of its own. */
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        churn(&seed, 500);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    _exit(0);
}

static void forks(void) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) start(&threads[i], until_stopped, i + 1);
    uint64_t state = 99;
    for (int i = 0; i < 40; i++) {
        churn(&state, 300);
        if (sleepy_idle_start && i % 2) sleepy_idle_start();
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) child(state + (uint64_t)i);
        int status = 0;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(status == 0);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    empty_slots();
}

/* Threads that are cancelled in a wait, with their heap lent. */
static void *waits_for_ever(void *ready) {
    uint64_t state = 5;
    Block *blocks[100];
    for (int i = 0; i < 100; i++) blocks[i] = make(&state);
    for (int i = 0; i < 100; i += 2) destroy(blocks[i]);
    for (int i = 1; i < 100; i += 2) {
        Block *taken = atomic_exchange(&slots[i], blocks[i]);
        if (taken != NULL) destroy(taken);
    }
    int poll_fd = epoll_create1(0);
    struct epoll_event event;
    pthread_cleanup_push(free, malloc(100));
    if (sleepy_idle_start) sleepy_idle_start();
    atomic_fetch_add((atomic_int *)ready, 1);
    for (;;) epoll_wait(poll_fd, &event, 1, -1);
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancels(void) {
    for (int round = 0; round < 100; round++) {
        pthread_t threads[THREADS];
        atomic_int ready = 0;
        for (uintptr_t i = 0; i < THREADS; i++) start(&threads[i], waits_for_ever, (uintptr_t)&ready);
        while (atomic_load(&ready) < THREADS) sched_yield();
        for (int i = 0; i < THREADS; i++) CHECK(pthread_cancel(threads[i]) == 0);
        for (int i = 0; i < THREADS; i++) {
            void *result = NULL;
            CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
        }
    }
    empty_slots();
}

/* Libraries with thread-local data, loaded while threads run: each makes every thread's table of such data grow, at the
 * thread's next access, which may be in the middle of an allocation. */
static const char **library_names;
static int library_count;
static atomic_int loaded;

static void *touches_libraries(void *seed) {
    uint64_t state = (uintptr_t)seed;
    void **handles = calloc((size_t)library_count, sizeof(void *));
    for (int i = 0; i < library_count; i++) {
        while (atomic_load(&loaded) <= i) churn(&state, 50);
        handles[i] = dlopen(library_names[i], RTLD_NOW | RTLD_NOLOAD);
        CHECK(handles[i] != NULL);
        void *(*touch)(void) = (void *(*)(void))dlsym(handles[i], "touch");
        CHECK(touch != NULL);
        free(touch());
    }
    for (int i = 0; i < library_count; i++) dlclose(handles[i]);
    free(handles);
    return NULL;
}

static void libraries(int count, const char **names) {
    CHECK(count > 0);
    library_names = names;
    library_count = count;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) start(&threads[i], touches_libraries, i + 1);
    uint64_t state = 3;
    for (int i = 0; i < count; i++) {
        churn(&state, 500);
        void *handle = dlopen(names[i], RTLD_NOW);
        if (handle == NULL) dprintf(2, "%s\n", dlerror());
        CHECK(handle != NULL);
        atomic_store(&loaded, i + 1);
    }
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(dlopen("no such library", RTLD_NOW) == NULL && dlerror() != NULL);
    empty_slots();
}

/* The library is loaded by a program that has run on the C library's malloc for a while, by threads that are older. */
static void *(*late_malloc)(size_t);
static void (*late_free)(void *);

static void *uses_late_library(void *seed) {
    uint64_t state = (uintptr_t)seed;
    while (!atomic_load(&loaded)) sched_yield();
    for (int i = 0; i < 20000; i++) {
        size_t bytes = chance(&state) % 5000 + sizeof(Block);
        Block *block = late_malloc(bytes);
        CHECK(block != NULL);
        memset(block, 0, bytes);
        Block *taken = atomic_exchange(&slots[chance(&state) % SLOTS], block);
        if (taken != NULL) late_free(taken);
    }
    return NULL;
}

static void opened_late(const char *name) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) start(&threads[i], uses_late_library, i + 1);
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) dprintf(2, "%s\n", dlerror());
    CHECK(handle != NULL);
    late_malloc = (void *(*)(size_t))dlsym(handle, "malloc");
    late_free = (void (*)(void *))dlsym(handle, "free");
    CHECK(late_malloc != malloc && late_free != free);
    atomic_store(&loaded, 1);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < SLOTS; i++) late_free(atomic_exchange(&slots[i], NULL));
    /* It stays where it is: threads that end, and the end of the process, call it. */
    CHECK(dlclose(handle) == 0);
    CHECK(dlopen(name, RTLD_NOW | RTLD_NOLOAD) != NULL);
}

/* Handlers at exit allocate and free what came from everywhere, while threads still run. */
static void at_exit(void) {
    uint64_t state = 8;
    churn(&state, 5000);
    write(1, "all is well\n", 12);
}

static void exits(void) {
    CHECK(atexit(at_exit) == 0);
    for (int i = 0; i < 60; i++) CHECK(atexit(empty_slots) == 0);
    pthread_t thread;
    for (uintptr_t i = 0; i < THREADS; i++) start(&thread, until_stopped, i + 1);
    poll(NULL, 0, 20);
    exit(0);
}

int main(int argc, char **argv) {
    CHECK(argc > 1);
    const char *name = argv[1];
    if (strcmp(name, "cross") == 0) cross();
    else if (strcmp(name, "come-and-go") == 0) come_and_go();
    else if (strcmp(name, "specific-data") == 0) specific_data();
    else if (strcmp(name, "forks") == 0) forks();
    else if (strcmp(name, "cancels") == 0) cancels();
    else if (strcmp(name, "libraries") == 0) libraries(argc - 2, (const char **)argv + 2);
    else if (strcmp(name, "opened-late") == 0) opened_late(argv[2]);
    else if (strcmp(name, "exits") == 0) exits();
    else CHECK(!"a known scenario");
    puts("all is well");
    return 0;
}
