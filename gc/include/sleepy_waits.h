/* Waits of C code that a collecting runtime (sleepy-gc) has called: the two halves around the wait.
 *
 * A library that blocks where the runtime does not see it says so, and the runtime collects until the event is there, lends its heap and
 * gives up its interpreter lock for as long as the library waits:
 *
 *     static bool has_row(void *connection);          // looks, does not wait
 *
 *     bool is_there = sleepy_wait_start(has_row, connection);
 *     row = next_row(connection);                     // waits, unless it is there
 *     sleepy_wait_end();
 *
 * Both do nothing where the thread was not called by a runtime that has opened the door (Sleeper::call_c), and nothing where it is
 * turned off. Calls that do not balance are harmless. The heap's objects must not be used between the two.
 *
 * A library that should also run without the runtime defines SLEEPY_WAITS_OPTIONAL before it includes this, and asks first:
 * `if (sleepy_wait_start) …`. One that is loaded into a program which does not export its symbols is given the two calls as a table.
 */
#ifndef SLEEPY_WAITS_H
#define SLEEPY_WAITS_H

#include <stdbool.h>

#ifdef SLEEPY_WAITS_OPTIONAL
#define SLEEPY_WAITS_API __attribute__((weak))
#else
#define SLEEPY_WAITS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Whether what is waited for is there. Called at first and after each step of the collector, on the same thread. It must not block, and
 * its two calls of this header do nothing. */
typedef bool (*sleepy_ready_t)(void *data);

/* Before a wait: collects for as long as `ready` says that the caller would have to wait, then lends the heap. True: it is there, and
 * nothing was lent. A `ready` that is NULL says no: one step is made at most. */
SLEEPY_WAITS_API bool sleepy_wait_start(sleepy_ready_t ready, void *data);

/* After a wait: takes the heap back, and the interpreter lock. */
SLEEPY_WAITS_API void sleepy_wait_end(void);

/* The same two. */
typedef struct sleepy_waits_t {
    bool (*start)(sleepy_ready_t ready, void *data);
    void (*end)(void);
} sleepy_waits_t;

#ifdef __cplusplus
}
#endif

#endif
