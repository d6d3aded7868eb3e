/* EASY on a pool of processors: the twin of src/shadowtime/engine/passes/easy.py. */
#include "world.h"

typedef struct {
    int64_t head, time, extra;
} Shadow;

static void find_shadow(const World *w, Shadow *shadow)
{
    int64_t need = w->procs[shadow->head], available = w->free, at = 0;
    shadow->time = w->now + 1;
    while (at < w->n_running && (available < need || end_at(w, at) <= shadow->time)) {
        shadow->time = max64(shadow->time, end_at(w, at));
        available += w->procs[job_at(w, at)];
        at++;
    }
    shadow->extra = available - need;
}

static int any_fits(const World *w, int64_t block, int32_t free, int32_t extra, int32_t left)
{
    const int32_t *procs = w->wait_procs + block * BLOCK, *length = w->wait_length + block * BLOCK;
    int hit = 0;
    for (int i = 0; i < BLOCK; i++)
        hit |= (procs[i] <= free) & ((length[i] <= left) | (procs[i] <= extra));
    return hit;
}

static void backfill(World *w, Shadow *shadow, int64_t first)
{
    int32_t left = (int32_t)min64(shadow->time - w->now, BIG - 1);
    for (int64_t block = first >> SHIFT; block * BLOCK < w->arrived; block++) {
        int32_t least = w->least_procs[block];
        if (w->free == 0) return;
        if (least > w->free || (w->least_length[block] > left && least > shadow->extra)) continue;
        if (!any_fits(w, block, (int32_t)w->free, (int32_t)shadow->extra, left)) continue;
        int64_t until = min64(w->arrived, block * BLOCK + BLOCK);
        for (int64_t job = max64(first, block * BLOCK); job < until; job++) {
            if (w->wait_procs[job] > w->free) continue;
            int in_time = w->wait_length[job] <= left;
            if (!in_time && w->wait_procs[job] > shadow->extra) continue;
            if (!in_time) shadow->extra -= w->wait_procs[job];
            begin(w, job, BACKFILLED);
        }
    }
}

static void decide(World *w, Shadow *shadow, int ended)
{
    if (!ended && shadow->head >= 0) {
        backfill(w, shadow, w->fresh);
        return;
    }
    int64_t head = first_waiting(w);
    while (head >= 0 && w->procs[head] <= w->free) {
        begin_first(w, head);
        head = first_waiting(w);
    }
    shadow->head = head;
    if (head < 0) return;
    find_shadow(w, shadow);
    if (w->blocked_at[head] < 0) {
        w->blocked_at[head] = w->now;
        w->promised[head] = shadow->time;
    }
    if (w->n_waiting > 1) backfill(w, shadow, head);
}

/* Returns the number of passes, -1 if memory ran out. */
int64_t easy(int64_t n, int64_t capacity, const int64_t *submit, const int64_t *run,
             const int64_t *estimate, const int64_t *procs, int64_t *start, int8_t *reason,
             int64_t *promised, int64_t *blocked_at)
{
    World w = {.n = n, .submit = submit, .run = run, .estimate = estimate, .procs = procs,
               .start = start, .reason = reason, .promised = promised, .blocked_at = blocked_at};
    Shadow shadow = {.head = -1};
    int64_t passes = -1;
    if (make_world(&w, capacity)) {
        int what;
        passes = 0;
        while ((what = advance(&w)) != 0) {
            passes++;
            decide(&w, &shadow, what == 2);
        }
    }
    free_world(&w);
    return passes;
}
