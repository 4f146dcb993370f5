/* Waits of a program that knows nothing of the library, one of each kind: each returns what it should, and while it lasts
 * the memory goes back. The argument names the wait, or asks for cancellation; see `main`. */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>

enum { BLOCKS = 40000, SESSION = 8, KEPT_OF = 8, WAIT_MS = 60 };

static char *blocks[BLOCKS];

static long resident_bytes(void) {
    static char text[256];
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm != NULL && fgets(text, sizeof text, statm) != NULL);
    fclose(statm);
    long total, resident;
    CHECK(sscanf(text, "%ld %ld", &total, &resident) == 2);
    return resident * sysconf(_SC_PAGESIZE);
}

static struct timespec in_ms(clockid_t clock, long ms) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += ms * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static const struct timespec wait_time = {.tv_nsec = WAIT_MS * 1000000L};

static void *sleeps(void *unused) {
    nanosleep(&wait_time, NULL);
    return unused;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static bool is_done;

static void *signals(void *unused) {
    nanosleep(&wait_time, NULL);
    pthread_mutex_lock(&mutex);
    is_done = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    sem_post(&semaphore);
    return unused;
}

static pid_t sleeping_child(void) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        nanosleep(&wait_time, NULL);
        _exit(3);
    }
    return pid;
}

/* Waits once, for a while, and checks what comes of it. Epoll descriptors are kept open. */
static void wait_once(const char *name) {
    static int poll_fd = -1;
    if (poll_fd < 0) poll_fd = epoll_create1(0);
    struct epoll_event event;
    struct pollfd fd = {.fd = poll_fd, .events = POLLIN};
    errno = 0;
    if (strcmp(name, "poll") == 0) CHECK(poll(&fd, 1, WAIT_MS) == 0 && fd.revents == 0);
    else if (strcmp(name, "ppoll") == 0) CHECK(ppoll(&fd, 1, &wait_time, NULL) == 0);
    else if (strcmp(name, "select") == 0) {
        struct timeval time = {.tv_usec = WAIT_MS * 1000};
        CHECK(select(0, NULL, NULL, NULL, &time) == 0);
    } else if (strcmp(name, "pselect") == 0) CHECK(pselect(0, NULL, NULL, NULL, &wait_time, NULL) == 0);
    else if (strcmp(name, "epoll_wait") == 0) CHECK(epoll_wait(poll_fd, &event, 1, WAIT_MS) == 0);
    else if (strcmp(name, "epoll_pwait") == 0) CHECK(epoll_pwait(poll_fd, &event, 1, WAIT_MS, NULL) == 0);
    else if (strcmp(name, "nanosleep") == 0) CHECK(nanosleep(&wait_time, NULL) == 0);
    else if (strcmp(name, "clock_nanosleep") == 0) CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_time, NULL) == 0);
    else if (strcmp(name, "sleep") == 0) CHECK(sleep(1) == 0);
    else if (strcmp(name, "usleep") == 0) CHECK(usleep(WAIT_MS * 1000) == 0);
    else if (strcmp(name, "pthread_cond_wait") == 0 || strcmp(name, "sem_wait") == 0) {
        pthread_t thread;
        is_done = false;
        CHECK(pthread_create(&thread, NULL, signals, NULL) == 0);
        if (name[0] == 'p') {
            pthread_mutex_lock(&mutex);
            while (!is_done) CHECK(pthread_cond_wait(&condition, &mutex) == 0);
            pthread_mutex_unlock(&mutex);
        } else
            CHECK(sem_wait(&semaphore) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    } else if (strcmp(name, "pthread_cond_timedwait") == 0) {
        struct timespec until = in_ms(CLOCK_REALTIME, WAIT_MS);
        pthread_mutex_lock(&mutex);
        while (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT) continue;
        pthread_mutex_unlock(&mutex);
    } else if (strcmp(name, "pthread_cond_clockwait") == 0) {
        struct timespec until = in_ms(CLOCK_MONOTONIC, WAIT_MS);
        pthread_mutex_lock(&mutex);
        while (pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until) != ETIMEDOUT) continue;
        pthread_mutex_unlock(&mutex);
    } else if (strcmp(name, "sem_timedwait") == 0) {
        struct timespec until = in_ms(CLOCK_REALTIME, WAIT_MS);
        CHECK(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
    } else if (strcmp(name, "sem_clockwait") == 0) {
        struct timespec until = in_ms(CLOCK_MONOTONIC, WAIT_MS);
        CHECK(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) == -1 && errno == ETIMEDOUT);
    } else if (strcmp(name, "pthread_join") == 0) {
        pthread_t thread;
        void *result = NULL;
        CHECK(pthread_create(&thread, NULL, sleeps, blocks) == 0);
        CHECK(pthread_join(thread, &result) == 0 && result == blocks);
    } else {
        pid_t child = sleeping_child();
        int status = 0;
        if (strcmp(name, "wait") == 0) CHECK(wait(&status) == child);
        else if (strcmp(name, "waitpid") == 0) CHECK(waitpid(child, &status, 0) == child);
        else if (strcmp(name, "wait3") == 0) CHECK(wait3(&status, 0, NULL) == child);
        else if (strcmp(name, "wait4") == 0) CHECK(wait4(child, &status, 0, NULL) == child);
        else CHECK(!"a known wait");
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
        CHECK(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
    }
}

/* Leaves holes: a few neighbouring blocks in each of the allocator's pages stay, so no page of its own is free. */
static void memory_goes_back(const char *name) {
    bool is_lent = dlsym(RTLD_DEFAULT, "sleepy_idle_start") != NULL;
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(1000);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], i, 1000);
    }
    long full = resident_bytes();
    for (int i = 0; i < BLOCKS; i++) {
        if (i / SESSION % KEPT_OF == 0) continue;
        free(blocks[i]);
        blocks[i] = NULL;
    }
    /* Half of what is free at least; on however busy a machine. Only the library brings it below that. */
    long goal = full - 1000L * BLOCKS / KEPT_OF * (KEPT_OF - 1) / 2;
    struct timespec limit = in_ms(CLOCK_MONOTONIC, 60000), now;
    do {
        wait_once(name);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (is_lent && resident_bytes() > goal && now.tv_sec < limit.tv_sec);
    CHECK(!is_lent || resident_bytes() <= goal);
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i] != NULL)
            for (int at = 0; at < 1000; at++) CHECK(blocks[i][at] == (char)i);
}

/* Threads that are cancelled while they wait, and clean up. */
static atomic_int ready;

static void unlock(void *unused) {
    (void)unused;
    free(malloc(100));
    pthread_mutex_unlock(&mutex);
}

static void *waits_for_ever(void *kind) {
    char *mine[200];
    for (int i = 0; i < 200; i++) memset(mine[i] = malloc(2000), 1, 2000);
    for (int i = 0; i < 200; i++) free(mine[i]);
    if ((intptr_t)kind == 0) {
        atomic_fetch_add(&ready, 1);
        for (;;) poll(NULL, 0, -1);
    }
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, NULL);
    atomic_fetch_add(&ready, 1);
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancels(void) {
    for (int round = 0; round < 50; round++) {
        pthread_t threads[4];
        atomic_store(&ready, 0);
        for (intptr_t i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, waits_for_ever, (void *)(i % 2)) == 0);
        while (atomic_load(&ready) < 4) sched_yield();
        for (int i = 0; i < 4; i++) CHECK(pthread_cancel(threads[i]) == 0);
        for (int i = 0; i < 4; i++) {
            void *result = NULL;
            CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
        }
    }
}

int main(int argc, char **argv) {
    CHECK(argc > 1 && sem_init(&semaphore, 0, 0) == 0);
    if (strcmp(argv[1], "cancels") == 0) cancels();
    else memory_goes_back(argv[1]);
    puts("all is well");
    return 0;
}
