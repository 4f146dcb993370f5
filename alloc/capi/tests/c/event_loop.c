/* An event loop around epoll that lends its heap while it waits, and gets back the memory that it does not need. It runs
 * without the library too, and then only loops. The argument names the kind of loop; see `main`. */
#define _GNU_SOURCE
#define SLEEPY_MALLOC_OPTIONAL
#include "sleepy_malloc.h"
#include "check.h"
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

enum { BUFFERS = 8192, BUFFER_BYTES = 16 * 1024, KEPT_OF = 16 };
static const long TOTAL_BYTES = (long)BUFFERS * BUFFER_BYTES;
static const long FREED_BYTES = TOTAL_BYTES - TOTAL_BYTES / KEPT_OF;

static char *buffers[BUFFERS];

static long resident_bytes(void) {
    static char text[4096];
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    long kib = 0;
    while (fgets(text, sizeof text, status))
        if (sscanf(text, "VmRSS: %ld kB", &kib) == 1) break;
    fclose(status);
    CHECK(kib > 0);
    return kib * 1024;
}

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A turn's own work: some small blocks that are gone when it ends. */
static void work(int turn) {
    for (int i = 0; i < 20; i++) {
        char *block = malloc((size_t)(turn + i * 37) % 900 + 1);
        CHECK(block != NULL);
        block[0] = 1;
        free(block);
    }
}

int main(int argc, char **argv) {
    CHECK(argc > 1);
    const char *kind = argv[1];
    bool is_timer = strcmp(kind, "timer") == 0, is_busy = strcmp(kind, "busy") == 0;
    CHECK(is_timer || is_busy || strcmp(kind, "blocked") == 0);
    bool is_lending = sleepy_idle_start != NULL;

    int poll_fd = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    CHECK(poll_fd >= 0 && timer >= 0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = timer};
    CHECK(epoll_ctl(poll_fd, EPOLL_CTL_ADD, timer, &event) == 0);
    /* A timer of a millisecond, or one of half a second for the loop that is blocked nearly all the time. */
    long interval_ns = is_timer ? 1000000 : 500000000;
    struct itimerspec times = {.it_interval.tv_nsec = interval_ns, .it_value.tv_nsec = interval_ns};
    CHECK(timerfd_settime(timer, 0, &times, NULL) == 0);

    long base_bytes = resident_bytes();
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = malloc(BUFFER_BYTES);
        CHECK(buffers[i] != NULL);
        memset(buffers[i], i, BUFFER_BYTES);
    }
    long full_bytes = resident_bytes();
    CHECK(full_bytes >= base_bytes + TOTAL_BYTES);
    for (int i = 0; i < BUFFERS; i++) {
        if (i % KEPT_OF == 0) continue;
        free(buffers[i]);
        buffers[i] = NULL;
    }

    /* As long as it takes, on however busy a machine; without the library it never comes, so a few turns must do. */
    double start = now_seconds(), limit = is_lending ? 60 : 0.2;
    long goal_bytes = full_bytes - FREED_BYTES / 10 * 9, bytes = full_bytes;
    int turns = 0;
    do {
        if (is_lending) sleepy_idle_start();
        int count = epoll_wait(poll_fd, &event, 1, is_busy ? 0 : -1);
        if (is_lending) sleepy_idle_end();
        CHECK(count >= 0);
        uint64_t expirations;
        if (count > 0) CHECK(read(timer, &expirations, sizeof expirations) == sizeof expirations);
        work(turns++);
        if (!is_busy || turns % 1000 == 0) bytes = resident_bytes();
    } while (bytes > goal_bytes && now_seconds() - start < limit);

    for (int i = 0; i < BUFFERS; i += KEPT_OF)
        for (int at = 0; at < BUFFER_BYTES; at++) CHECK(buffers[i][at] == (char)i);

    if (is_lending) {
        sleepy_stats_t stats;
        sleepy_stats(&stats, sizeof stats);
        dprintf(2, "%s: %ld MiB at base, %ld full, %ld after %.0f ms and %d turns; %lu wakes, %lu sweeps, %lu MiB purged\n", kind,
                base_bytes >> 20, full_bytes >> 20, bytes >> 20, (now_seconds() - start) * 1e3, turns, stats.park_wakes,
                stats.parked_sweeps, stats.purged_bytes >> 20);
        CHECK(bytes <= goal_bytes);
        CHECK((long)stats.purged_bytes >= FREED_BYTES / 10 * 9);
        CHECK(stats.live_bytes >= (uint64_t)(TOTAL_BYTES / KEPT_OF) && stats.live_bytes <= (uint64_t)TOTAL_BYTES);
        CHECK(stats.park_wakes <= (uint64_t)turns / 4 + 8);

        /* A caller that was compiled with an older header, and one with a newer. */
        uint64_t newer[sizeof stats / 8 + 2];
        memset(newer, 0xff, sizeof newer);
        sleepy_stats((sleepy_stats_t *)newer, 8);
        CHECK(newer[0] == stats.park_wakes && newer[1] == UINT64_MAX);
        sleepy_stats((sleepy_stats_t *)newer, sizeof newer);
        CHECK(newer[sizeof stats / 8] == 0 && newer[sizeof stats / 8 + 1] == 0);

        /* Calls that do not balance, and use in between. */
        sleepy_idle_end();
        sleepy_idle_start();
        sleepy_idle_start();
        work(1);
        sleepy_idle_end();
        sleepy_idle_end();
        for (int i = 0; i < BUFFERS; i++) free(buffers[i]);
        sleepy_purge_now();
        CHECK(resident_bytes() < base_bytes + (32 << 20));
    }
    puts("all is well");
    return 0;
}
