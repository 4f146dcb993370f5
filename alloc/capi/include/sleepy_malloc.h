/* What libsleepy_malloc.so has beside malloc, free and their kin, which <stdlib.h> and <malloc.h> declare.
 *
 * An event loop lends its thread's heap for the time of a wait, so that a scavenger thread can give what the heap does
 * not need back to the system, and takes it back in nanoseconds:
 *
 *     sleepy_idle_start();
 *     n = epoll_wait(fd, events, 64, timeout);
 *     sleepy_idle_end();
 *
 * Neither call cares how long the wait takes; calls that do not balance are harmless, and so is every use of the heap
 * in between.
 *
 * A program that should also run without the library defines SLEEPY_MALLOC_OPTIONAL before it includes this, is not
 * linked to it, and asks first: `if (sleepy_idle_start) sleepy_idle_start();`. With LD_PRELOAD it finds the library.
 */
#ifndef SLEEPY_MALLOC_H
#define SLEEPY_MALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef SLEEPY_MALLOC_OPTIONAL
#define SLEEPY_MALLOC_API __attribute__((weak))
#else
#define SLEEPY_MALLOC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Counts of events are exact; sizes are sums over heaps that may be changing. New figures are added at the end. */
typedef struct sleepy_stats_t {
    uint64_t park_wakes;          /* times that a wait woke the scavenger */
    uint64_t scavenger_starts;    /* scavenger threads started */
    uint64_t scavenger_turns;     /* times that the scavenger looked at everything */
    uint64_t scavenger_sleeps;    /* times that the scavenger went to sleep */
    uint64_t parked_sweeps;       /* sweeps of lent heaps, the aborted ones included */
    uint64_t aborted_sweeps;      /* sweeps that stopped because the owner wanted its heap back */
    uint64_t inline_slices;       /* bounded slices of a sweep that owners did themselves */
    uint64_t purged_bytes;        /* bytes given back to the system */
    uint64_t purge_calls;         /* system calls that gave them back */
    uint64_t pending_bytes;       /* bytes that are free and not given back yet, outside of what heaps hold */
    uint64_t holed_bytes;         /* bytes given back, or about to be, inside pages that are in use */
    uint64_t committed_bytes;     /* bytes that heaps hold, or have freed and not given back yet */
    uint64_t live_bytes;          /* bytes in blocks in use */
    uint64_t heaps;               /* heaps in use */
    uint64_t remote_frees;        /* blocks freed by a thread that does not own their page */
    uint64_t abandoned_pages;     /* pages whose thread has ended and that have blocks in use */
    uint64_t abandoned_total;     /* pages that were ever left so */
    uint64_t reclaimed_pages;     /* pages that a heap took over after another had given them up */
    uint64_t abandoned_bitmaps;   /* bitmaps made to find pages that belong to no heap */
    uint64_t arenas;              /* mappings that memory comes from */
    uint64_t reclaim_wait_max_ns; /* the longest time that an owner waited for a heap that was being swept */
} sleepy_stats_t;

/* Before a wait: lends the calling thread's heap. False: nothing was lent. */
SLEEPY_MALLOC_API bool sleepy_idle_start(void);

/* After a wait: takes it back. */
SLEEPY_MALLOC_API void sleepy_idle_end(void);

/* Gives all free memory back that can be given at once; returns the bytes. */
SLEEPY_MALLOC_API size_t sleepy_purge_now(void);

/* Writes the figures of this moment; pass sizeof(sleepy_stats_t). What the library does not know is zero. */
SLEEPY_MALLOC_API void sleepy_stats(sleepy_stats_t *out, size_t out_bytes);

#ifdef __cplusplus
}
#endif

#endif
