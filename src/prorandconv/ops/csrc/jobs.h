// How a job of a team of threads gets its memory and its threads. Part of kernel.h.

// Lays out what all threads need, then runs the job's task on them.
template <typename Job>
int run_job(Job &job, const Call &call, int threads) {
    Carver measure;
    job.lay_out(measure);
    char *memory = acquire_workspace(measure.used, *call.workspaces, IMAGES);
    if (!memory) return OUT_OF_MEMORY;
    Carver carver{memory};
    job.lay_out(carver);
    run_parallel(threads, Job::task, &job);
    release_workspace(memory, *call.workspaces, IMAGES);
    return OK;
}
