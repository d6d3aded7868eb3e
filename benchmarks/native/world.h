/* What both twins share: the columns of a run, the queue, the running list and the finish heap.
 *
 * The same structures as src/shadowtime/kernel on a pool of processors, written as a C programmer
 * would: 32-bit mirrors of the waiting jobs in job order with tombstones, minima of each block of
 * 64, running jobs sorted by expected end, ends in a heap of packed (time, job) keys.
 * Nobody may outlive its estimate (run <= estimate); the benchmark makes sure of that.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, SHIFT = 6 };
enum { HEAD = 1, RESERVED = 2, BACKFILLED = 3 }; /* shadowtime.types.Reason */
#define BIG INT32_MAX
#define NEVER (((int64_t)1 << 40) - 1)

typedef struct {
    int64_t n;
    const int64_t *submit, *run, *estimate, *procs;
    int64_t *start, *promised, *blocked_at;
    int8_t *reason;
    int32_t *wait_procs, *wait_length, *least_procs, *least_length;
    int64_t *running, *ends;
    int64_t n_running, n_ends, n_waiting;
    int64_t now, free, arrived, fresh, queue_from;
    int bits;
} World;

static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t mask_of(const World *w) { return ((int64_t)1 << w->bits) - 1; }
static inline int64_t end_at(const World *w, int64_t at) { return w->running[at] >> w->bits; }
static inline int64_t job_at(const World *w, int64_t at) { return w->running[at] & mask_of(w); }

static int make_world(World *w, int64_t capacity)
{
    int64_t blocks = w->n / BLOCK + 1, room = min64(w->n, capacity) + 2;
    size_t line = (size_t)blocks * BLOCK * sizeof(int32_t);
    w->wait_procs = malloc(line);
    w->wait_length = malloc(line);
    w->least_procs = malloc((size_t)blocks * sizeof(int32_t));
    w->least_length = malloc((size_t)blocks * sizeof(int32_t));
    w->running = malloc((size_t)room * sizeof(int64_t));
    w->ends = malloc((size_t)room * sizeof(int64_t));
    if (!w->wait_procs || !w->wait_length || !w->least_procs || !w->least_length || !w->running ||
        !w->ends)
        return 0;
    for (int64_t i = 0; i < blocks * BLOCK; i++) w->wait_procs[i] = w->wait_length[i] = BIG;
    for (int64_t i = 0; i < blocks; i++) w->least_procs[i] = w->least_length[i] = BIG;
    for (int64_t i = 0; i < w->n; i++) w->start[i] = w->promised[i] = w->blocked_at[i] = -1;
    w->bits = 1;
    while (w->n >> w->bits) w->bits++;
    w->free = capacity;
    return 1;
}

static void free_world(World *w)
{
    free(w->wait_procs);
    free(w->wait_length);
    free(w->least_procs);
    free(w->least_length);
    free(w->running);
    free(w->ends);
}

/* The finish heap. */

static inline void push_end(World *w, int64_t key)
{
    int64_t at = w->n_ends++;
    while (at > 0) {
        int64_t parent = (at - 1) >> 1;
        if (w->ends[parent] <= key) break;
        w->ends[at] = w->ends[parent];
        at = parent;
    }
    w->ends[at] = key;
}

static inline void pop_end(World *w)
{
    int64_t size = --w->n_ends, key = w->ends[size], at = 0, child = 1;
    while (child < size) {
        if (child + 1 < size && w->ends[child + 1] < w->ends[child]) child++;
        if (key <= w->ends[child]) break;
        w->ends[at] = w->ends[child];
        at = child;
        child = 2 * at + 1;
    }
    w->ends[at] = key;
}

/* The queue. */

static inline int32_t least_in_block(const int32_t *line, int64_t block)
{
    const int32_t *from = line + block * BLOCK;
    int32_t least = BIG;
    for (int i = 0; i < BLOCK; i++) least = from[i] < least ? from[i] : least;
    return least;
}

static inline void enqueue(World *w, int64_t job)
{
    int64_t block = job >> SHIFT;
    int32_t procs = (int32_t)w->procs[job], length = (int32_t)w->estimate[job];
    w->wait_procs[job] = procs;
    w->wait_length[job] = length;
    if (procs < w->least_procs[block]) w->least_procs[block] = procs;
    if (length < w->least_length[block]) w->least_length[block] = length;
    w->n_waiting++;
    if (job < w->queue_from) w->queue_from = job;
}

static inline void dequeue(World *w, int64_t job)
{
    int64_t block = job >> SHIFT;
    w->wait_procs[job] = w->wait_length[job] = BIG;
    w->n_waiting--;
    w->least_procs[block] = least_in_block(w->wait_procs, block);
    w->least_length[block] = least_in_block(w->wait_length, block);
}

static inline int64_t first_waiting(World *w)
{
    if (w->n_waiting == 0) {
        w->queue_from = w->arrived;
        return -1;
    }
    int64_t at = w->queue_from;
    while (w->wait_procs[at] == BIG) {
        at++;
        if ((at & (BLOCK - 1)) == 0) {
            int64_t block = at >> SHIFT;
            while (w->least_procs[block] == BIG) block++;
            at = block * BLOCK;
        }
    }
    w->queue_from = at;
    return at;
}

/* Starts and ends. */

static inline void begin(World *w, int64_t job, int reason)
{
    dequeue(w, job);
    w->free -= w->procs[job];
    w->start[job] = w->now;
    w->reason[job] = (int8_t)reason;
    int64_t key = (w->now + w->estimate[job]) << w->bits | job, at = w->n_running++;
    while (at > 0 && w->running[at - 1] > key) {
        w->running[at] = w->running[at - 1];
        at--;
    }
    w->running[at] = key;
    push_end(w, (w->now + w->run[job]) << w->bits | job);
}

static inline void begin_first(World *w, int64_t job)
{
    begin(w, job, w->blocked_at[job] < 0 ? HEAD : RESERVED);
}

static inline void end_job(World *w, int64_t job)
{
    int64_t key = (w->start[job] + w->estimate[job]) << w->bits | job;
    int64_t low = 0, high = w->n_running;
    while (low < high) {
        int64_t middle = (low + high) >> 1;
        if (w->running[middle] < key) low = middle + 1;
        else high = middle;
    }
    w->n_running--;
    memmove(w->running + low, w->running + low + 1,
            (size_t)(w->n_running - low) * sizeof(int64_t));
    w->free += w->procs[job];
}

/* The next instant and its events: 0 when nothing is left, 1 after submissions only, 2 after an
 * end. */
static inline int advance(World *w)
{
    int64_t now = NEVER;
    int what = 1;
    if (w->n_ends > 0) now = w->ends[0] >> w->bits;
    if (w->arrived < w->n) now = min64(now, w->submit[w->arrived]);
    if (now >= NEVER) return 0;
    w->now = now;
    while (w->n_ends > 0 && w->ends[0] >> w->bits == now) {
        int64_t job = w->ends[0] & mask_of(w);
        pop_end(w);
        end_job(w, job);
        what = 2;
    }
    w->fresh = w->arrived;
    while (w->arrived < w->n && w->submit[w->arrived] <= now) enqueue(w, w->arrived++);
    return what;
}
